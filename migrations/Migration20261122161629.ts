import { Migration } from '@mikro-orm/migrations';

export class Migration20261122161629 extends Migration {
  override name = 'Migration20261122161629';

  override up(): void | Promise<void> {
    this.addSql(`alter table "user_account" add "updated_at" timestamptz not null default current_timestamp;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "user_account" drop column "updated_at";`);
  }
}
