import { Migration } from '@mikro-orm/migrations';

export class Migration20261130155800 extends Migration {
  override name = 'Migration20261130155800';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "session_entry" ("session_id" uuid not null, "id" bigint not null, "organization_id" uuid not null, "kind" text not null, "turn" int not null, "started_at" timestamptz not null, "ended_at" timestamptz null, "last_event_id" bigint not null, "is_failed" boolean not null, "is_final" boolean not null, "starts_subagent" boolean not null, "subagent_id" text null, "call_id" text null, "tool_name" text null, "model" text null, "events" int8multirange not null, "parts" int8multirange not null, "output_id" bigint null, "closed_with" bigint null, primary key ("session_id", "id", "organization_id"));`,
    );
    this.addSql(`create index "session_entry_changed_index" on "session_entry" ("session_id", "last_event_id");`);
    this.addSql(
      `create index "session_entry_subagent_index" on "session_entry" ("session_id", "subagent_id", "id") where subagent_id is not null;`,
    );
    this.addSql(
      `create index "session_entry_call_index" on "session_entry" ("session_id", "call_id") where call_id is not null;`,
    );

    this.addSql(
      `create table "session_fold" ("session_id" uuid not null, "organization_id" uuid not null, "folded_id" bigint not null, "closed_id" bigint not null, "version" bigint not null, "memory" text not null, primary key ("session_id", "organization_id"));`,
    );

    this.addSql(`alter table "session_stream" add "ended_id" bigint null, add "ended_at" timestamptz null;`);

    this.addSql(
      `alter table "session_fold" add constraint "session_fold_session_id_foreign" foreign key ("session_id") references "session" ("id") on update cascade on delete cascade;`,
    );
    this.addSql(
      `alter table "session_fold" add constraint "session_fold_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on update cascade on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "session_entry" cascade;`);
    this.addSql(`drop table if exists "session_fold" cascade;`);

    this.addSql(`alter table "session_stream" drop column "ended_id", drop column "ended_at";`);
  }
}
