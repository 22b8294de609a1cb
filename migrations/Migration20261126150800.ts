import { Migration } from '@mikro-orm/migrations';

export class Migration20261126150800 extends Migration {
  override name = 'Migration20261126150800';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "browser_sign_in" ("id" uuid not null, "key_id" uuid not null, "created_at" timestamptz not null, "expires_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(`create index "browser_sign_in_key_index" on "browser_sign_in" ("key_id");`);
    this.addSql(`create index "browser_sign_in_expiry_index" on "browser_sign_in" ("expires_at");`);

    this.addSql(
      `alter table "browser_sign_in" add constraint "browser_sign_in_key_id_foreign" foreign key ("key_id") references "api_key" ("id") on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "browser_sign_in" cascade;`);
  }
}
