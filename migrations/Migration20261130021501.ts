import { Migration } from '@mikro-orm/migrations';

export class Migration20261130021501 extends Migration {
  override name = 'Migration20261130021501';

  override up(): void | Promise<void> {
    this.addSql(`alter table "identity" add "relinked_until" text null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "identity" drop column "relinked_until";`);
  }
}
