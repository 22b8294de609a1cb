import { Migration } from '@mikro-orm/migrations';

export class Migration20261122130352 extends Migration {
  override name = 'Migration20261122130352';

  override up(): void | Promise<void> {
    this.addSql(`alter table "organization" add "creator_id" uuid null;`);
    this.addSql(
      `alter table "organization" add constraint "organization_creator_id_foreign" foreign key ("creator_id") references "user_account" ("id") on delete set null;`,
    );
    this.addSql(`create index "organization_creator_index" on "organization" ("creator_id");`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "organization" drop constraint "organization_creator_id_foreign";`);

    this.addSql(`drop index "organization_creator_index";`);
    this.addSql(`alter table "organization" drop column "creator_id";`);
  }
}
