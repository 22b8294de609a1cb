import { Migration } from '@mikro-orm/migrations';

export class Migration20261130150613 extends Migration {
  override name = 'Migration20261130150613';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "person_group" ("id" uuid not null, "organization_id" uuid not null, "name" text not null, "external_name" text null, "scim_name" text null, "scim_external_id" text null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(
      `create index "person_group_organization_index" on "person_group" ("organization_id", "created_at", "id");`,
    );
    this.addSql(
      `alter table "person_group" add constraint "person_group_external_name_unique" unique ("organization_id", "external_name");`,
    );

    this.addSql(
      `create table "person_group_member" ("organization_id" uuid not null, "group_id" uuid not null, "user_id" uuid not null, primary key ("organization_id", "group_id", "user_id"));`,
    );
    this.addSql(`create index "person_group_member_group_index" on "person_group_member" ("group_id");`);
    this.addSql(`create index "person_group_member_user_index" on "person_group_member" ("user_id");`);

    this.addSql(
      `alter table "person_group" add constraint "person_group_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "person_group_member" add constraint "person_group_member_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on update cascade on delete cascade;`,
    );
    this.addSql(
      `alter table "person_group_member" add constraint "person_group_member_group_id_foreign" foreign key ("group_id") references "person_group" ("id") on update cascade on delete cascade;`,
    );
    this.addSql(
      `alter table "person_group_member" add constraint "person_group_member_user_id_foreign" foreign key ("user_id") references "user_account" ("id") on update cascade on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "person_group_member" drop constraint "person_group_member_group_id_foreign";`);

    this.addSql(`drop table if exists "person_group" cascade;`);
    this.addSql(`drop table if exists "person_group_member" cascade;`);
  }
}
