import { Migration } from '@mikro-orm/migrations';

export class Migration20261126163725 extends Migration {
  override name = 'Migration20261126163725';

  override up(): void | Promise<void> {
    this.addSql(`alter table "audit_entry" add "tool_call" jsonb null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "audit_entry" drop column "tool_call";`);
  }
}
