import { Migration } from '@mikro-orm/migrations';

export class Migration20261130015159 extends Migration {
  override name = 'Migration20261130015159';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "transcript_line" ("session_id" uuid not null, "file" text not null, "line" bigint not null, "organization_id" uuid not null, "key" uuid not null, "stored_key" uuid null, "event_id" bigint null, "is_repeated" boolean not null, primary key ("session_id", "file", "line", "organization_id"));`,
    );
    this.addSql(`create index "transcript_line_key_index" on "transcript_line" ("session_id", "key");`);
    this.addSql(
      `create index "transcript_line_stored_index" on "transcript_line" ("session_id", "stored_key") where stored_key is not null;`,
    );

    this.addSql(
      `create table "transcript_file" ("session_id" uuid not null, "name" text not null, "organization_id" uuid not null, "lines" int not null, "mark" text not null, primary key ("session_id", "name", "organization_id"));`,
    );

    this.addSql(`alter table "session_stream" add "lines_until" bigint not null default '0';`);

    this.addSql(
      `alter table "transcript_file" add constraint "transcript_file_session_id_foreign" foreign key ("session_id") references "session" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "transcript_file" add constraint "transcript_file_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "transcript_line" cascade;`);
    this.addSql(`drop table if exists "transcript_file" cascade;`);

    this.addSql(`alter table "session_stream" drop column "lines_until";`);
  }
}
