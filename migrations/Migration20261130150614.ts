import { Migration } from '@mikro-orm/migrations';

export class Migration20261130150614 extends Migration {
  override name = 'Migration20261130150614';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "suspended_membership" ("organization_id" uuid not null, "user_id" uuid not null, "role" text not null, "created_at" timestamptz not null, "suspended_at" timestamptz not null, primary key ("organization_id", "user_id"));`,
    );
    this.addSql(`create index "suspended_membership_user_index" on "suspended_membership" ("user_id");`);

    this.addSql(
      `create table "scim_user" ("organization_id" uuid not null, "user_id" uuid not null, "user_name" text not null, "user_name_key" text not null, "external_id" text null, "display_name" text null, "name" jsonb not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("organization_id", "user_id"));`,
    );
    this.addSql(`create index "scim_user_user_index" on "scim_user" ("user_id");`);
    this.addSql(
      `alter table "scim_user" add constraint "scim_user_name_unique" unique ("organization_id", "user_name_key");`,
    );

    this.addSql(
      `alter table "suspended_membership" add constraint "suspended_membership_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on update cascade on delete cascade;`,
    );
    this.addSql(
      `alter table "suspended_membership" add constraint "suspended_membership_user_id_foreign" foreign key ("user_id") references "user_account" ("id") on update cascade on delete cascade;`,
    );

    this.addSql(
      `alter table "scim_user" add constraint "scim_user_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on update cascade on delete cascade;`,
    );
    this.addSql(
      `alter table "scim_user" add constraint "scim_user_user_id_foreign" foreign key ("user_id") references "user_account" ("id") on update cascade on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "suspended_membership" cascade;`);
    this.addSql(`drop table if exists "scim_user" cascade;`);
  }
}
