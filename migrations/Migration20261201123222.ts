import { Migration } from '@mikro-orm/migrations';

export class Migration20261201123222 extends Migration {
  override name = 'Migration20261201123222';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "former_membership" ("organization_id" uuid not null, "user_id" uuid not null, "label" text null, "left_at" timestamptz null, primary key ("organization_id", "user_id"));`,
    );
    this.addSql(`create index "former_membership_user_index" on "former_membership" ("user_id");`);
    this.addSql(
      `create index "former_membership_left_index" on "former_membership" ("organization_id", "left_at", "user_id");`,
    );

    this.addSql(
      `alter table "former_membership" add constraint "former_membership_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on update cascade on delete cascade;`,
    );
    this.addSql(
      `alter table "former_membership" add constraint "former_membership_user_id_foreign" foreign key ("user_id") references "user_account" ("id") on update cascade on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "former_membership" cascade;`);
  }
}
