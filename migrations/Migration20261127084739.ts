import { Migration } from '@mikro-orm/migrations';

export class Migration20261127084739 extends Migration {
  override name = 'Migration20261127084739';

  override up(): void | Promise<void> {
    this.addSql(`alter table "audit_entry" add "detail" text null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "audit_entry" drop column "detail";`);
  }
}
