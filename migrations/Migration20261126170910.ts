import { Migration } from '@mikro-orm/migrations';

export class Migration20261126170910 extends Migration {
  override name = 'Migration20261126170910';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "feed_entry" ("organization_id" uuid not null, "key" uuid not null, "id" bigint null, "recorded_at" timestamptz(6) not null, "position" int not null, "created_at" timestamptz not null, "type" text not null, "subject_type" text not null, "subject_id" uuid null, "reader_id" uuid null, "data" jsonb not null, primary key ("organization_id", "key"));`,
    );
    this.addSql(`create index "feed_entry_created_index" on "feed_entry" ("created_at");`);
    this.addSql(
      `create index "feed_entry_unnumbered_index" on "feed_entry" ("organization_id", "recorded_at") where id is null;`,
    );
    this.addSql(`create index "feed_entry_user_index" on "feed_entry" ("subject_id") where subject_type = 'User';`);
    this.addSql(`create index "feed_entry_reader_index" on "feed_entry" ("reader_id") where reader_id is not null;`);
    this.addSql(`alter table "feed_entry" add constraint "feed_entry_id_unique" unique ("organization_id", "id");`);

    this.addSql(
      `create table "feed_stream" ("organization_id" uuid not null, "last_id" bigint not null, primary key ("organization_id"));`,
    );

    this.addSql(
      `create table "sent_occurrence_count" ("organization_id" uuid not null, "definition_id" uuid not null, "minute" timestamptz not null, "count" bigint not null, primary key ("organization_id", "definition_id", "minute"));`,
    );
    this.addSql(`create index "sent_occurrence_count_minute_index" on "sent_occurrence_count" ("minute");`);

    this.addSql(`alter table "deletion_job" add "left_organizations" jsonb not null default '[]';`);

    this.addSql(
      `alter table "sent_occurrence_count" add constraint "sent_occurrence_count_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "feed_entry" cascade;`);
    this.addSql(`drop table if exists "feed_stream" cascade;`);
    this.addSql(`drop table if exists "sent_occurrence_count" cascade;`);

    this.addSql(`alter table "deletion_job" drop column "left_organizations";`);
  }
}
