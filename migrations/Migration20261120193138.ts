import { Migration } from '@mikro-orm/migrations';

export class Migration20261120193138 extends Migration {

  override name = 'Migration20261120193138';

  override up(): void | Promise<void> {
    this.addSql(`create table "project" ("organization_id" uuid not null, "id" uuid not null, "name" text not null, "icon" text not null, "color" text not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("organization_id", "id"));`);

    this.addSql(`create table "session_event" ("session_id" uuid not null, "id" bigint not null, "organization_id" uuid not null, "created_at" timestamptz not null, "event_type" text not null, "message_id" uuid null, "provider" text not null, "event_data" json not null, primary key ("session_id", "id")) partition by hash ("session_id");`);
    this.addSql(`create table "session_event_0" partition of "session_event" for values with (modulus 16, remainder 0);`);
    this.addSql(`create table "session_event_1" partition of "session_event" for values with (modulus 16, remainder 1);`);
    this.addSql(`create table "session_event_2" partition of "session_event" for values with (modulus 16, remainder 2);`);
    this.addSql(`create table "session_event_3" partition of "session_event" for values with (modulus 16, remainder 3);`);
    this.addSql(`create table "session_event_4" partition of "session_event" for values with (modulus 16, remainder 4);`);
    this.addSql(`create table "session_event_5" partition of "session_event" for values with (modulus 16, remainder 5);`);
    this.addSql(`create table "session_event_6" partition of "session_event" for values with (modulus 16, remainder 6);`);
    this.addSql(`create table "session_event_7" partition of "session_event" for values with (modulus 16, remainder 7);`);
    this.addSql(`create table "session_event_8" partition of "session_event" for values with (modulus 16, remainder 8);`);
    this.addSql(`create table "session_event_9" partition of "session_event" for values with (modulus 16, remainder 9);`);
    this.addSql(`create table "session_event_10" partition of "session_event" for values with (modulus 16, remainder 10);`);
    this.addSql(`create table "session_event_11" partition of "session_event" for values with (modulus 16, remainder 11);`);
    this.addSql(`create table "session_event_12" partition of "session_event" for values with (modulus 16, remainder 12);`);
    this.addSql(`create table "session_event_13" partition of "session_event" for values with (modulus 16, remainder 13);`);
    this.addSql(`create table "session_event_14" partition of "session_event" for values with (modulus 16, remainder 14);`);
    this.addSql(`create table "session_event_15" partition of "session_event" for values with (modulus 16, remainder 15);`);

    this.addSql(`create table "session" ("id" uuid not null, "organization_id" uuid not null, "creator_id" uuid null, "title" text not null, "description" text null, "rich_content" jsonb null, "kind" text not null, "session_type" text not null, "mode" text not null, "visibility" text not null, "level" int not null, "state" text not null, "agent" text null, "agent_id" uuid null, "agent_options" jsonb null, "artifact_type" text null, "base_branch" text null, "branch_name" text null, "target_branch" text null, "project_id" text null, "sandbox_size" text null, "mcp_servers" text[] not null, "external_id" text null, "external_url" text null, "html_url" text null, "is_pinned" boolean not null, "diff_summary" jsonb null, "source" jsonb not null, "source_pull_request" jsonb null, "created_at" timestamptz not null, "updated_at" timestamptz not null, "last_queued_at" timestamptz null, "last_seen_at" timestamptz not null, primary key ("id"));`);
    this.addSql(`create index "session_created_index" on "session" ("organization_id", "created_at", "id");`);
    this.addSql(`create index "session_updated_index" on "session" ("organization_id", "updated_at", "id");`);
    this.addSql(`create index "session_seen_index" on "session" ("organization_id", "last_seen_at", "id");`);
    this.addSql(`create index "session_creator_index" on "session" ("creator_id");`);

    this.addSql(`create table "session_stream" ("session_id" uuid not null, "organization_id" uuid not null, "last_id" bigint not null, "is_closed" boolean not null, primary key ("session_id"));`);

    this.addSql(`create table "session_event_batch" ("session_id" uuid not null, "batch_id" text not null, "first_id" bigint not null, "last_id" bigint not null, "created_at" timestamptz not null, primary key ("session_id", "batch_id"));`);

    this.addSql(`create table "artifact" ("id" uuid not null, "organization_id" uuid not null, "session_id" uuid not null, "type" text not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"));`);
    this.addSql(`create index "artifact_session_index" on "artifact" ("session_id", "created_at", "id");`);

    this.addSql(`create table "pull_request" ("id" uuid not null, "organization_id" uuid not null, "artifact_id" uuid not null, "url" text not null, "title" text not null, "status" text not null, "is_draft" boolean not null, "source_branch" text not null, "base_branch" text not null, "head_sha" text not null, "agent" text not null, "diff" jsonb not null, "author" jsonb not null, "code_repository" jsonb not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"));`);
    this.addSql(`alter table "pull_request" add constraint "pull_request_url_unique" unique ("artifact_id", "url");`);

    this.addSql(`alter table "project" add constraint "project_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`);
    this.addSql(`alter table "project" add constraint "project_icon_check" check ("icon" in ('folder', 'code', 'terminal', 'book', 'brain', 'bug', 'building', 'cloud', 'globe', 'idea', 'tools', 'magic', 'processor', 'sandbox', 'server', 'tasks', 'tactics', 'images', 'database', 'api', 'mobile', 'package'));`);
    this.addSql(`alter table "project" add constraint "project_color_check" check ("color" in ('neutral', 'red', 'orange', 'yellow', 'green', 'teal', 'blue', 'purple', 'pink'));`);

    this.addSql(`alter table "session" add constraint "session_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`);
    this.addSql(`alter table "session" add constraint "session_creator_id_foreign" foreign key ("creator_id") references "user_account" ("id") on delete set null;`);
    this.addSql(`alter table "session" add constraint "session_session_type_check" check ("session_type" in ('Chat', 'Terminal'));`);
    this.addSql(`alter table "session" add constraint "session_mode_check" check ("mode" in ('normal', 'planning'));`);
    this.addSql(`alter table "session" add constraint "session_visibility_check" check ("visibility" in ('public', 'private'));`);
    this.addSql(`alter table "session" add constraint "session_state_check" check ("state" in ('queued', 'inProgress', 'completed', 'failed', 'cancelled'));`);
    this.addSql(`alter table "session" add constraint "session_artifact_type_check" check ("artifact_type" in ('PullRequest', 'ToolCall', 'Plan', 'Response', 'File', 'Service', 'Source'));`);
    this.addSql(`alter table "session" add constraint "session_sandbox_size_check" check ("sandbox_size" in ('nano', 'micro', 'small', 'medium', 'large', 'xl', 'xxl', 'ultra'));`);

    this.addSql(`alter table "session_stream" add constraint "session_stream_session_id_foreign" foreign key ("session_id") references "session" ("id") on update cascade on delete cascade;`);
    this.addSql(`alter table "session_stream" add constraint "session_stream_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`);

    this.addSql(`alter table "session_event_batch" add constraint "session_event_batch_session_id_foreign" foreign key ("session_id") references "session" ("id") on delete cascade;`);

    this.addSql(`alter table "artifact" add constraint "artifact_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`);
    this.addSql(`alter table "artifact" add constraint "artifact_session_id_foreign" foreign key ("session_id") references "session" ("id") on delete cascade;`);
    this.addSql(`alter table "artifact" add constraint "artifact_type_check" check ("type" in ('PullRequest', 'ToolCall', 'Plan', 'Response', 'File', 'Service', 'Source'));`);

    this.addSql(`alter table "pull_request" add constraint "pull_request_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`);
    this.addSql(`alter table "pull_request" add constraint "pull_request_artifact_id_foreign" foreign key ("artifact_id") references "artifact" ("id") on delete cascade;`);
    this.addSql(`alter table "pull_request" add constraint "pull_request_status_check" check ("status" in ('open', 'merged', 'closed'));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "session_stream" drop constraint "session_stream_session_id_foreign";`);
    this.addSql(`alter table "session_event_batch" drop constraint "session_event_batch_session_id_foreign";`);
    this.addSql(`alter table "artifact" drop constraint "artifact_session_id_foreign";`);
    this.addSql(`alter table "pull_request" drop constraint "pull_request_artifact_id_foreign";`);

    this.addSql(`drop table if exists "project" cascade;`);
    this.addSql(`drop table if exists "session_event" cascade;`);
    this.addSql(`drop table if exists "session" cascade;`);
    this.addSql(`drop table if exists "session_stream" cascade;`);
    this.addSql(`drop table if exists "session_event_batch" cascade;`);
    this.addSql(`drop table if exists "artifact" cascade;`);
    this.addSql(`drop table if exists "pull_request" cascade;`);
  }

}
