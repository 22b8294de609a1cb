import { Migration } from '@mikro-orm/migrations';

export class Migration20261120192015 extends Migration {

  override name = 'Migration20261120192015';

  override up(): void | Promise<void> {
    this.addSql(`create table "organization" ("id" uuid not null, "number" int generated always as identity not null, "name" text not null, "slug" text null, "logo_url" text null, "subscriptions" jsonb not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"));`);
    this.addSql(`alter table "organization" add constraint "organization_slug_unique" unique ("slug");`);
    this.addSql(`alter table "organization" add constraint "organization_number_unique" unique ("number");`);

    this.addSql(`create table "event_definition" ("id" uuid not null, "organization_id" uuid not null, "number" int generated always as identity not null, "name" text not null, "label" text not null, "description" text null, "primary_object" text not null, "custom_matching_id" jsonb null, "include_default_properties" boolean not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, "deleted_at" timestamptz null, primary key ("id"));`);
    this.addSql(`create index "event_definition_created_index" on "event_definition" ("organization_id", "created_at", "id");`);
    this.addSql(`create index "event_definition_updated_index" on "event_definition" ("organization_id", "updated_at", "id");`);
    this.addSql(`alter table "event_definition" add constraint "event_definition_name_unique" unique ("organization_id", "name");`);
    this.addSql(`alter table "event_definition" add constraint "event_definition_number_unique" unique ("number");`);

    this.addSql(`create table "event_property" ("id" uuid not null, "organization_id" uuid not null, "definition_id" uuid not null, "name" text not null, "label" text not null, "type" text not null, "description" text null, "options" jsonb not null, "position" int not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"));`);
    this.addSql(`alter table "event_property" add constraint "event_property_name_unique" unique ("definition_id", "name");`);

    this.addSql(`create table "secret" ("owner_table" text not null, "owner_id" uuid not null, "field" text not null, "organization_id" uuid not null, "sealed" text not null, primary key ("owner_table", "owner_id", "field"));`);
    this.addSql(`create index "secret_organization_index" on "secret" ("organization_id");`);

    this.addSql(`create table "user_account" ("id" uuid not null, "email" text null, "name" text null, "created_at" timestamptz not null, primary key ("id"));`);
    this.addSql(`alter table "user_account" add constraint "user_account_email_unique" unique ("email");`);

    this.addSql(`create table "membership" ("organization_id" uuid not null, "user_id" uuid not null, "role" text not null, "created_at" timestamptz not null, primary key ("organization_id", "user_id"));`);
    this.addSql(`create index "membership_user_index" on "membership" ("user_id");`);

    this.addSql(`create table "api_key" ("id" uuid not null, "user_id" uuid not null, "organization_id" uuid null, "name" text not null, "hash" bytea not null, "preview" text not null, "scopes" text[] not null, "expires_at" timestamptz null, "last_used_at" timestamptz null, "revoked_at" timestamptz null, "created_at" timestamptz not null, primary key ("id"));`);
    this.addSql(`create index "api_key_organization_index" on "api_key" ("organization_id", "created_at", "id");`);
    this.addSql(`create index "api_key_user_index" on "api_key" ("user_id");`);
    this.addSql(`alter table "api_key" add constraint "api_key_hash_unique" unique ("hash");`);

    this.addSql(`alter table "event_definition" add constraint "event_definition_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`);

    this.addSql(`alter table "event_property" add constraint "event_property_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`);
    this.addSql(`alter table "event_property" add constraint "event_property_definition_id_foreign" foreign key ("definition_id") references "event_definition" ("id") on delete cascade;`);
    this.addSql(`alter table "event_property" add constraint "event_property_type_check" check ("type" in ('bool', 'date', 'datetime', 'enumeration', 'number', 'string'));`);

    this.addSql(`alter table "membership" add constraint "membership_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on update cascade on delete cascade;`);
    this.addSql(`alter table "membership" add constraint "membership_user_id_foreign" foreign key ("user_id") references "user_account" ("id") on update cascade on delete cascade;`);
    this.addSql(`alter table "membership" add constraint "membership_role_check" check ("role" in ('admin', 'member'));`);

    this.addSql(`alter table "api_key" add constraint "api_key_user_id_foreign" foreign key ("user_id") references "user_account" ("id") on delete cascade;`);
    this.addSql(`alter table "api_key" add constraint "api_key_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "event_definition" drop constraint "event_definition_organization_id_foreign";`);
    this.addSql(`alter table "event_property" drop constraint "event_property_organization_id_foreign";`);
    this.addSql(`alter table "membership" drop constraint "membership_organization_id_foreign";`);
    this.addSql(`alter table "api_key" drop constraint "api_key_organization_id_foreign";`);
    this.addSql(`alter table "event_property" drop constraint "event_property_definition_id_foreign";`);
    this.addSql(`alter table "membership" drop constraint "membership_user_id_foreign";`);
    this.addSql(`alter table "api_key" drop constraint "api_key_user_id_foreign";`);

    this.addSql(`drop table if exists "organization" cascade;`);
    this.addSql(`drop table if exists "event_definition" cascade;`);
    this.addSql(`drop table if exists "event_property" cascade;`);
    this.addSql(`drop table if exists "secret" cascade;`);
    this.addSql(`drop table if exists "user_account" cascade;`);
    this.addSql(`drop table if exists "membership" cascade;`);
    this.addSql(`drop table if exists "api_key" cascade;`);
  }

}
