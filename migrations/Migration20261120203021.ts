import { Migration } from '@mikro-orm/migrations';

export class Migration20261120203021 extends Migration {

  override name = 'Migration20261120203021';

  override up(): void | Promise<void> {
    this.addSql(`create table "event_occurrence" ("definition_id" uuid not null, "occurred_at" timestamptz not null, "id" uuid not null, "organization_id" uuid not null, "received_at" timestamptz not null, "email" text null, "utk" text null, "object_id" text null, "uuid" uuid null, "properties" json not null, primary key ("definition_id", "occurred_at", "id")) partition by hash ("definition_id");`);
    this.addSql(`create index "event_occurrence_object_index" on "event_occurrence" ("definition_id", "object_id", "occurred_at", "id");`);
    this.addSql(`create table "event_occurrence_0" partition of "event_occurrence" for values with (modulus 16, remainder 0);`);
    this.addSql(`create table "event_occurrence_1" partition of "event_occurrence" for values with (modulus 16, remainder 1);`);
    this.addSql(`create table "event_occurrence_2" partition of "event_occurrence" for values with (modulus 16, remainder 2);`);
    this.addSql(`create table "event_occurrence_3" partition of "event_occurrence" for values with (modulus 16, remainder 3);`);
    this.addSql(`create table "event_occurrence_4" partition of "event_occurrence" for values with (modulus 16, remainder 4);`);
    this.addSql(`create table "event_occurrence_5" partition of "event_occurrence" for values with (modulus 16, remainder 5);`);
    this.addSql(`create table "event_occurrence_6" partition of "event_occurrence" for values with (modulus 16, remainder 6);`);
    this.addSql(`create table "event_occurrence_7" partition of "event_occurrence" for values with (modulus 16, remainder 7);`);
    this.addSql(`create table "event_occurrence_8" partition of "event_occurrence" for values with (modulus 16, remainder 8);`);
    this.addSql(`create table "event_occurrence_9" partition of "event_occurrence" for values with (modulus 16, remainder 9);`);
    this.addSql(`create table "event_occurrence_10" partition of "event_occurrence" for values with (modulus 16, remainder 10);`);
    this.addSql(`create table "event_occurrence_11" partition of "event_occurrence" for values with (modulus 16, remainder 11);`);
    this.addSql(`create table "event_occurrence_12" partition of "event_occurrence" for values with (modulus 16, remainder 12);`);
    this.addSql(`create table "event_occurrence_13" partition of "event_occurrence" for values with (modulus 16, remainder 13);`);
    this.addSql(`create table "event_occurrence_14" partition of "event_occurrence" for values with (modulus 16, remainder 14);`);
    this.addSql(`create table "event_occurrence_15" partition of "event_occurrence" for values with (modulus 16, remainder 15);`);

    this.addSql(`create table "event_occurrence_uuid" ("definition_id" uuid not null, "uuid" uuid not null, "organization_id" uuid not null, "expires_at" timestamptz not null, primary key ("definition_id", "uuid"));`);
    this.addSql(`create index "event_occurrence_uuid_expiry_index" on "event_occurrence_uuid" ("expires_at");`);

    this.addSql(`create table "object_identifier" ("organization_id" uuid not null, "object_type" text not null, "property_name" text not null, "value" text not null, "object_id" text not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("organization_id", "object_type", "property_name", "value"));`);

    this.addSql(`create table "monthly_occurrence_count" ("organization_id" uuid not null, "month" text not null, "count" bigint not null, primary key ("organization_id", "month"));`);

    this.addSql(`create table "broadcast_channel" ("id" uuid not null, "organization_id" uuid not null, "channel_key" text not null, "type" text not null, "name" text not null, "active" boolean not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"));`);
    this.addSql(`alter table "broadcast_channel" add constraint "broadcast_channel_key_unique" unique ("organization_id", "channel_key");`);

    this.addSql(`create table "broadcast" ("id" uuid not null, "organization_id" uuid not null, "channel_id" uuid not null, "content" json not null, "status" text not null, "trigger_at" timestamptz not null, "created_at" timestamptz not null, "user_updated_at" timestamptz not null, "message" text null, primary key ("id"));`);
    this.addSql(`create index "broadcast_created_index" on "broadcast" ("organization_id", "created_at", "id");`);

    this.addSql(`alter table "object_identifier" add constraint "object_identifier_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`);

    this.addSql(`alter table "monthly_occurrence_count" add constraint "monthly_occurrence_count_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`);

    this.addSql(`alter table "broadcast_channel" add constraint "broadcast_channel_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`);

    this.addSql(`alter table "broadcast" add constraint "broadcast_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`);
    this.addSql(`alter table "broadcast" add constraint "broadcast_channel_id_foreign" foreign key ("channel_id") references "broadcast_channel" ("id") on delete cascade;`);
    this.addSql(`alter table "broadcast" add constraint "broadcast_status_check" check ("status" in ('waiting', 'canceled', 'succeeded', 'failed'));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "broadcast" drop constraint "broadcast_channel_id_foreign";`);

    this.addSql(`drop table if exists "event_occurrence" cascade;`);
    this.addSql(`drop table if exists "event_occurrence_uuid" cascade;`);
    this.addSql(`drop table if exists "object_identifier" cascade;`);
    this.addSql(`drop table if exists "monthly_occurrence_count" cascade;`);
    this.addSql(`drop table if exists "broadcast_channel" cascade;`);
    this.addSql(`drop table if exists "broadcast" cascade;`);
  }

}
