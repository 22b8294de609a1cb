import { Migration } from '@mikro-orm/migrations';

export class Migration20261120000000 extends Migration {
  override name = 'Migration20261120000000';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "deletion_job" ("id" uuid not null, "user_id" uuid not null, "state" text not null, "questionnaire" jsonb null, "emptied_organizations" jsonb not null, "run_after" timestamptz not null, "created_at" timestamptz not null, "started_at" timestamptz null, "finished_at" timestamptz null, "error" text null, primary key ("id"));`,
    );
    this.addSql(`create index "deletion_job_user_index" on "deletion_job" ("user_id");`);
    this.addSql(
      `create unique index "deletion_job_active_unique" on "deletion_job" ("user_id") where state in ('queued', 'running');`,
    );

    this.addSql(
      `create table "deleted_session" ("session_id" uuid not null, "organization_id" uuid not null, "deletion_job_id" uuid not null, primary key ("session_id"));`,
    );
    this.addSql(`create index "deleted_session_job_index" on "deleted_session" ("deletion_job_id");`);

    this.addSql(
      `create table "event_occurrence" ("definition_id" uuid not null, "occurred_at" timestamptz not null, "id" uuid not null, "organization_id" uuid not null, "received_at" timestamptz not null, "email" text null, "utk" text null, "object_id" text null, "uuid" uuid null, "properties" json not null, primary key ("definition_id", "occurred_at", "id")) partition by hash ("definition_id");`,
    );
    this.addSql(
      `create index "event_occurrence_object_index" on "event_occurrence" ("definition_id", "object_id", "occurred_at", "id");`,
    );
    this.addSql(
      `create table "event_occurrence_0" partition of "event_occurrence" for values with (modulus 16, remainder 0);`,
    );
    this.addSql(
      `create table "event_occurrence_1" partition of "event_occurrence" for values with (modulus 16, remainder 1);`,
    );
    this.addSql(
      `create table "event_occurrence_2" partition of "event_occurrence" for values with (modulus 16, remainder 2);`,
    );
    this.addSql(
      `create table "event_occurrence_3" partition of "event_occurrence" for values with (modulus 16, remainder 3);`,
    );
    this.addSql(
      `create table "event_occurrence_4" partition of "event_occurrence" for values with (modulus 16, remainder 4);`,
    );
    this.addSql(
      `create table "event_occurrence_5" partition of "event_occurrence" for values with (modulus 16, remainder 5);`,
    );
    this.addSql(
      `create table "event_occurrence_6" partition of "event_occurrence" for values with (modulus 16, remainder 6);`,
    );
    this.addSql(
      `create table "event_occurrence_7" partition of "event_occurrence" for values with (modulus 16, remainder 7);`,
    );
    this.addSql(
      `create table "event_occurrence_8" partition of "event_occurrence" for values with (modulus 16, remainder 8);`,
    );
    this.addSql(
      `create table "event_occurrence_9" partition of "event_occurrence" for values with (modulus 16, remainder 9);`,
    );
    this.addSql(
      `create table "event_occurrence_10" partition of "event_occurrence" for values with (modulus 16, remainder 10);`,
    );
    this.addSql(
      `create table "event_occurrence_11" partition of "event_occurrence" for values with (modulus 16, remainder 11);`,
    );
    this.addSql(
      `create table "event_occurrence_12" partition of "event_occurrence" for values with (modulus 16, remainder 12);`,
    );
    this.addSql(
      `create table "event_occurrence_13" partition of "event_occurrence" for values with (modulus 16, remainder 13);`,
    );
    this.addSql(
      `create table "event_occurrence_14" partition of "event_occurrence" for values with (modulus 16, remainder 14);`,
    );
    this.addSql(
      `create table "event_occurrence_15" partition of "event_occurrence" for values with (modulus 16, remainder 15);`,
    );

    this.addSql(
      `create table "event_occurrence_uuid" ("definition_id" uuid not null, "uuid" uuid not null, "organization_id" uuid not null, "expires_at" timestamptz not null, primary key ("definition_id", "uuid"));`,
    );
    this.addSql(`create index "event_occurrence_uuid_expiry_index" on "event_occurrence_uuid" ("expires_at");`);

    this.addSql(
      `create table "organization" ("id" uuid not null, "number" int generated always as identity not null, "name" text not null, "slug" text null, "logo_url" text null, "subscriptions" jsonb not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(`alter table "organization" add constraint "organization_slug_unique" unique ("slug");`);
    this.addSql(`alter table "organization" add constraint "organization_number_unique" unique ("number");`);

    this.addSql(
      `create table "object_identifier" ("organization_id" uuid not null, "object_type" text not null, "property_name" text not null, "value" text not null, "object_id" text not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("organization_id", "object_type", "property_name", "value"));`,
    );

    this.addSql(
      `create table "monthly_occurrence_count" ("organization_id" uuid not null, "month" text not null, "count" bigint not null, primary key ("organization_id", "month"));`,
    );

    this.addSql(
      `create table "event_definition" ("id" uuid not null, "organization_id" uuid not null, "number" int generated always as identity not null, "name" text not null, "label" text not null, "description" text null, "primary_object" text not null, "custom_matching_id" jsonb null, "include_default_properties" boolean not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, "deleted_at" timestamptz null, primary key ("id"));`,
    );
    this.addSql(
      `create index "event_definition_created_index" on "event_definition" ("organization_id", "created_at", "id");`,
    );
    this.addSql(
      `create index "event_definition_updated_index" on "event_definition" ("organization_id", "updated_at", "id");`,
    );
    this.addSql(
      `alter table "event_definition" add constraint "event_definition_name_unique" unique ("organization_id", "name");`,
    );
    this.addSql(`alter table "event_definition" add constraint "event_definition_number_unique" unique ("number");`);

    this.addSql(
      `create table "event_property" ("id" uuid not null, "organization_id" uuid not null, "definition_id" uuid not null, "name" text not null, "label" text not null, "type" text not null, "description" text null, "options" jsonb not null, "position" int not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(
      `alter table "event_property" add constraint "event_property_name_unique" unique ("definition_id", "name");`,
    );

    this.addSql(
      `create table "broadcast_channel" ("id" uuid not null, "organization_id" uuid not null, "channel_key" text not null, "type" text not null, "name" text not null, "active" boolean not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(
      `alter table "broadcast_channel" add constraint "broadcast_channel_key_unique" unique ("organization_id", "channel_key");`,
    );

    this.addSql(
      `create table "broadcast" ("id" uuid not null, "organization_id" uuid not null, "channel_id" uuid not null, "content" json not null, "status" text not null, "trigger_at" timestamptz not null, "created_at" timestamptz not null, "user_updated_at" timestamptz not null, "message" text null, primary key ("id"));`,
    );
    this.addSql(`create index "broadcast_created_index" on "broadcast" ("organization_id", "created_at", "id");`);

    this.addSql(
      `create table "project" ("organization_id" uuid not null, "id" uuid not null, "name" text not null, "icon" text not null, "color" text not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("organization_id", "id"));`,
    );

    this.addSql(
      `create unlogged table "rate_limit" ("window_start" timestamptz not null, "key_id" uuid not null, "requests" int not null, "cost" int not null, primary key ("window_start", "key_id"));`,
    );

    this.addSql(
      `create table "session_event" ("session_id" uuid not null, "id" bigint not null, "organization_id" uuid not null, "created_at" timestamptz not null, "event_type" text not null, "message_id" uuid null, "provider" text not null, "event_data" json not null, primary key ("session_id", "id")) partition by hash ("session_id");`,
    );
    this.addSql(
      `create table "session_event_0" partition of "session_event" for values with (modulus 16, remainder 0);`,
    );
    this.addSql(
      `create table "session_event_1" partition of "session_event" for values with (modulus 16, remainder 1);`,
    );
    this.addSql(
      `create table "session_event_2" partition of "session_event" for values with (modulus 16, remainder 2);`,
    );
    this.addSql(
      `create table "session_event_3" partition of "session_event" for values with (modulus 16, remainder 3);`,
    );
    this.addSql(
      `create table "session_event_4" partition of "session_event" for values with (modulus 16, remainder 4);`,
    );
    this.addSql(
      `create table "session_event_5" partition of "session_event" for values with (modulus 16, remainder 5);`,
    );
    this.addSql(
      `create table "session_event_6" partition of "session_event" for values with (modulus 16, remainder 6);`,
    );
    this.addSql(
      `create table "session_event_7" partition of "session_event" for values with (modulus 16, remainder 7);`,
    );
    this.addSql(
      `create table "session_event_8" partition of "session_event" for values with (modulus 16, remainder 8);`,
    );
    this.addSql(
      `create table "session_event_9" partition of "session_event" for values with (modulus 16, remainder 9);`,
    );
    this.addSql(
      `create table "session_event_10" partition of "session_event" for values with (modulus 16, remainder 10);`,
    );
    this.addSql(
      `create table "session_event_11" partition of "session_event" for values with (modulus 16, remainder 11);`,
    );
    this.addSql(
      `create table "session_event_12" partition of "session_event" for values with (modulus 16, remainder 12);`,
    );
    this.addSql(
      `create table "session_event_13" partition of "session_event" for values with (modulus 16, remainder 13);`,
    );
    this.addSql(
      `create table "session_event_14" partition of "session_event" for values with (modulus 16, remainder 14);`,
    );
    this.addSql(
      `create table "session_event_15" partition of "session_event" for values with (modulus 16, remainder 15);`,
    );

    this.addSql(
      `create table "secret" ("owner_table" text not null, "owner_id" uuid not null, "field" text not null, "organization_id" uuid not null, "sealed" text not null, primary key ("owner_table", "owner_id", "field"));`,
    );
    this.addSql(`create index "secret_organization_index" on "secret" ("organization_id");`);

    this.addSql(
      `create table "user_account" ("id" uuid not null, "email" text null, "name" text null, "created_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(`alter table "user_account" add constraint "user_account_email_unique" unique ("email");`);

    this.addSql(
      `create table "session" ("id" uuid not null, "organization_id" uuid not null, "creator_id" uuid null, "title" text not null, "description" text null, "rich_content" jsonb null, "kind" text not null, "session_type" text not null, "mode" text not null, "visibility" text not null, "level" int not null, "state" text not null, "agent" text null, "agent_id" uuid null, "agent_options" jsonb null, "artifact_type" text null, "base_branch" text null, "branch_name" text null, "target_branch" text null, "project_id" text null, "sandbox_size" text null, "mcp_servers" text[] not null, "external_id" text null, "external_url" text null, "html_url" text null, "is_pinned" boolean not null, "diff_summary" jsonb null, "source" jsonb not null, "source_pull_request" jsonb null, "created_at" timestamptz not null, "updated_at" timestamptz not null, "last_queued_at" timestamptz null, "last_seen_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(`create index "session_created_index" on "session" ("organization_id", "created_at", "id");`);
    this.addSql(`create index "session_updated_index" on "session" ("organization_id", "updated_at", "id");`);
    this.addSql(`create index "session_seen_index" on "session" ("organization_id", "last_seen_at", "id");`);
    this.addSql(`create index "session_creator_index" on "session" ("creator_id");`);

    this.addSql(
      `create table "session_stream" ("session_id" uuid not null, "organization_id" uuid not null, "last_id" bigint not null, "is_closed" boolean not null, primary key ("session_id"));`,
    );

    this.addSql(
      `create table "session_event_batch" ("session_id" uuid not null, "batch_id" text not null, "organization_id" uuid not null, "first_id" bigint not null, "last_id" bigint not null, "created_at" timestamptz not null, primary key ("session_id", "batch_id"));`,
    );

    this.addSql(
      `create table "artifact" ("id" uuid not null, "organization_id" uuid not null, "session_id" uuid not null, "type" text not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(`create index "artifact_session_index" on "artifact" ("session_id", "created_at", "id");`);

    this.addSql(
      `create table "pull_request" ("id" uuid not null, "organization_id" uuid not null, "artifact_id" uuid not null, "url" text not null, "title" text not null, "status" text not null, "is_draft" boolean not null, "source_branch" text not null, "base_branch" text not null, "head_sha" text not null, "agent" text not null, "diff" jsonb not null, "author" jsonb not null, "code_repository" jsonb not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(`alter table "pull_request" add constraint "pull_request_url_unique" unique ("artifact_id", "url");`);

    this.addSql(
      `create table "membership" ("organization_id" uuid not null, "user_id" uuid not null, "role" text not null, "created_at" timestamptz not null, primary key ("organization_id", "user_id"));`,
    );
    this.addSql(`create index "membership_user_index" on "membership" ("user_id");`);

    this.addSql(
      `create table "mcp_connection" ("id" uuid not null, "organization_id" uuid not null, "owner_id" uuid null, "name" text not null, "type" text not null, "visibility" text not null, "command" text null, "args" text[] null, "env_keys" text[] not null, "server_url" text null, "auth_type" text null, "header_keys" text[] not null, "client_id" text null, "oauth_registration" text null, "scope" text null, "status" text not null, "status_reason" text null, "connected_at" timestamptz null, "last_checked_at" timestamptz null, "authorization_expires_at" timestamptz null, "authorization_server" jsonb null, "challenged_scope" text null, "granted_scopes" text[] null, "token_expires_at" timestamptz null, "refresh_after" timestamptz null, "token_version" int not null default 0, "refresh_lease_until" timestamptz null, "refresh_failures" int not null default 0, "refresh_not_before" timestamptz null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(
      `create index "mcp_connection_organization_index" on "mcp_connection" ("organization_id", "name", "id");`,
    );
    this.addSql(`create index "mcp_connection_owner_index" on "mcp_connection" ("owner_id");`);
    this.addSql(
      `create unique index "mcp_connection_shared_name_unique" on "mcp_connection" ("organization_id", "name") where visibility = 'shared';`,
    );
    this.addSql(
      `create unique index "mcp_connection_personal_name_unique" on "mcp_connection" ("organization_id", "owner_id", "name") where visibility = 'personal';`,
    );

    this.addSql(
      `create table "mcp_authorization" ("id" uuid not null, "organization_id" uuid not null, "connection_id" uuid not null, "user_id" uuid not null, "state_hash" bytea not null, "issuer" text not null, "redirect_uri" text not null, "expires_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(`create index "mcp_authorization_connection_index" on "mcp_authorization" ("connection_id");`);
    this.addSql(
      `alter table "mcp_authorization" add constraint "mcp_authorization_state_unique" unique ("state_hash");`,
    );

    this.addSql(
      `create table "idempotency_key" ("user_id" uuid not null, "digest" text not null, "organization_id" uuid null, "fingerprint" text not null, "scopes" text[] not null, "claim" uuid not null, "answer" text null, "created_at" timestamptz not null, "expires_at" timestamptz not null, primary key ("user_id", "digest"));`,
    );
    this.addSql(`create index "idempotency_key_expiry_index" on "idempotency_key" ("expires_at");`);

    this.addSql(
      `create table "api_key" ("id" uuid not null, "user_id" uuid not null, "organization_id" uuid null, "name" text not null, "hash" bytea not null, "preview" text not null, "scopes" text[] not null, "expires_at" timestamptz null, "last_used_at" timestamptz null, "revoked_at" timestamptz null, "created_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(`create index "api_key_organization_index" on "api_key" ("organization_id", "created_at", "id");`);
    this.addSql(`create index "api_key_user_index" on "api_key" ("user_id");`);
    this.addSql(`alter table "api_key" add constraint "api_key_hash_unique" unique ("hash");`);

    this.addSql(
      `alter table "deletion_job" add constraint "deletion_job_state_check" check ("state" in ('queued', 'running', 'done', 'failed', 'cancelled'));`,
    );

    this.addSql(
      `alter table "deleted_session" add constraint "deleted_session_deletion_job_id_foreign" foreign key ("deletion_job_id") references "deletion_job" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "object_identifier" add constraint "object_identifier_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "monthly_occurrence_count" add constraint "monthly_occurrence_count_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "event_definition" add constraint "event_definition_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "event_property" add constraint "event_property_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "event_property" add constraint "event_property_definition_id_foreign" foreign key ("definition_id") references "event_definition" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "event_property" add constraint "event_property_type_check" check ("type" in ('bool', 'date', 'datetime', 'enumeration', 'number', 'string'));`,
    );

    this.addSql(
      `alter table "broadcast_channel" add constraint "broadcast_channel_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "broadcast" add constraint "broadcast_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "broadcast" add constraint "broadcast_channel_id_foreign" foreign key ("channel_id") references "broadcast_channel" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "broadcast" add constraint "broadcast_status_check" check ("status" in ('waiting', 'canceled', 'succeeded', 'failed'));`,
    );

    this.addSql(
      `alter table "project" add constraint "project_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "project" add constraint "project_icon_check" check ("icon" in ('folder', 'code', 'terminal', 'book', 'brain', 'bug', 'building', 'cloud', 'globe', 'idea', 'tools', 'magic', 'processor', 'sandbox', 'server', 'tasks', 'tactics', 'images', 'database', 'api', 'mobile', 'package'));`,
    );
    this.addSql(
      `alter table "project" add constraint "project_color_check" check ("color" in ('neutral', 'red', 'orange', 'yellow', 'green', 'teal', 'blue', 'purple', 'pink'));`,
    );

    this.addSql(
      `alter table "session" add constraint "session_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "session" add constraint "session_creator_id_foreign" foreign key ("creator_id") references "user_account" ("id") on delete set null;`,
    );
    this.addSql(
      `alter table "session" add constraint "session_session_type_check" check ("session_type" in ('Chat', 'Terminal'));`,
    );
    this.addSql(`alter table "session" add constraint "session_mode_check" check ("mode" in ('normal', 'planning'));`);
    this.addSql(
      `alter table "session" add constraint "session_visibility_check" check ("visibility" in ('public', 'private'));`,
    );
    this.addSql(
      `alter table "session" add constraint "session_state_check" check ("state" in ('queued', 'inProgress', 'completed', 'failed', 'cancelled'));`,
    );
    this.addSql(
      `alter table "session" add constraint "session_artifact_type_check" check ("artifact_type" in ('PullRequest', 'ToolCall', 'Plan', 'Response', 'File', 'Service', 'Source'));`,
    );
    this.addSql(
      `alter table "session" add constraint "session_sandbox_size_check" check ("sandbox_size" in ('nano', 'micro', 'small', 'medium', 'large', 'xl', 'xxl', 'ultra'));`,
    );

    this.addSql(
      `alter table "session_stream" add constraint "session_stream_session_id_foreign" foreign key ("session_id") references "session" ("id") on update cascade on delete cascade;`,
    );
    this.addSql(
      `alter table "session_stream" add constraint "session_stream_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "session_event_batch" add constraint "session_event_batch_session_id_foreign" foreign key ("session_id") references "session" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "artifact" add constraint "artifact_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "artifact" add constraint "artifact_session_id_foreign" foreign key ("session_id") references "session" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "artifact" add constraint "artifact_type_check" check ("type" in ('PullRequest', 'ToolCall', 'Plan', 'Response', 'File', 'Service', 'Source'));`,
    );

    this.addSql(
      `alter table "pull_request" add constraint "pull_request_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "pull_request" add constraint "pull_request_artifact_id_foreign" foreign key ("artifact_id") references "artifact" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "pull_request" add constraint "pull_request_status_check" check ("status" in ('open', 'merged', 'closed'));`,
    );

    this.addSql(
      `alter table "membership" add constraint "membership_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on update cascade on delete cascade;`,
    );
    this.addSql(
      `alter table "membership" add constraint "membership_user_id_foreign" foreign key ("user_id") references "user_account" ("id") on update cascade on delete cascade;`,
    );
    this.addSql(
      `alter table "membership" add constraint "membership_role_check" check ("role" in ('admin', 'member'));`,
    );

    this.addSql(
      `alter table "mcp_connection" add constraint "mcp_connection_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "mcp_connection" add constraint "mcp_connection_owner_id_foreign" foreign key ("owner_id") references "user_account" ("id") on delete set null;`,
    );
    this.addSql(
      `alter table "mcp_connection" add constraint "mcp_connection_type_check" check ("type" in ('remote', 'stdio'));`,
    );
    this.addSql(
      `alter table "mcp_connection" add constraint "mcp_connection_visibility_check" check ("visibility" in ('shared', 'personal'));`,
    );
    this.addSql(
      `alter table "mcp_connection" add constraint "mcp_connection_auth_type_check" check ("auth_type" in ('oauth', 'client_credentials', 'static_headers'));`,
    );
    this.addSql(
      `alter table "mcp_connection" add constraint "mcp_connection_oauth_registration_check" check ("oauth_registration" in ('automatic', 'pre_registered'));`,
    );
    this.addSql(
      `alter table "mcp_connection" add constraint "mcp_connection_status_check" check ("status" in ('STORED', 'PENDING_AUTHORIZATION', 'CONNECTED', 'AUTHORIZATION_REQUIRED', 'UNREACHABLE', 'MISCONFIGURED'));`,
    );

    this.addSql(
      `alter table "mcp_authorization" add constraint "mcp_authorization_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "mcp_authorization" add constraint "mcp_authorization_connection_id_foreign" foreign key ("connection_id") references "mcp_connection" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "mcp_authorization" add constraint "mcp_authorization_user_id_foreign" foreign key ("user_id") references "user_account" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "idempotency_key" add constraint "idempotency_key_user_id_foreign" foreign key ("user_id") references "user_account" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "api_key" add constraint "api_key_user_id_foreign" foreign key ("user_id") references "user_account" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "api_key" add constraint "api_key_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "deleted_session" drop constraint "deleted_session_deletion_job_id_foreign";`);
    this.addSql(`alter table "object_identifier" drop constraint "object_identifier_organization_id_foreign";`);
    this.addSql(
      `alter table "monthly_occurrence_count" drop constraint "monthly_occurrence_count_organization_id_foreign";`,
    );
    this.addSql(`alter table "event_definition" drop constraint "event_definition_organization_id_foreign";`);
    this.addSql(`alter table "event_property" drop constraint "event_property_organization_id_foreign";`);
    this.addSql(`alter table "broadcast_channel" drop constraint "broadcast_channel_organization_id_foreign";`);
    this.addSql(`alter table "broadcast" drop constraint "broadcast_organization_id_foreign";`);
    this.addSql(`alter table "project" drop constraint "project_organization_id_foreign";`);
    this.addSql(`alter table "session" drop constraint "session_organization_id_foreign";`);
    this.addSql(`alter table "session_stream" drop constraint "session_stream_organization_id_foreign";`);
    this.addSql(`alter table "artifact" drop constraint "artifact_organization_id_foreign";`);
    this.addSql(`alter table "pull_request" drop constraint "pull_request_organization_id_foreign";`);
    this.addSql(`alter table "membership" drop constraint "membership_organization_id_foreign";`);
    this.addSql(`alter table "mcp_connection" drop constraint "mcp_connection_organization_id_foreign";`);
    this.addSql(`alter table "mcp_authorization" drop constraint "mcp_authorization_organization_id_foreign";`);
    this.addSql(`alter table "api_key" drop constraint "api_key_organization_id_foreign";`);
    this.addSql(`alter table "event_property" drop constraint "event_property_definition_id_foreign";`);
    this.addSql(`alter table "broadcast" drop constraint "broadcast_channel_id_foreign";`);
    this.addSql(`alter table "session" drop constraint "session_creator_id_foreign";`);
    this.addSql(`alter table "membership" drop constraint "membership_user_id_foreign";`);
    this.addSql(`alter table "mcp_connection" drop constraint "mcp_connection_owner_id_foreign";`);
    this.addSql(`alter table "mcp_authorization" drop constraint "mcp_authorization_user_id_foreign";`);
    this.addSql(`alter table "idempotency_key" drop constraint "idempotency_key_user_id_foreign";`);
    this.addSql(`alter table "api_key" drop constraint "api_key_user_id_foreign";`);
    this.addSql(`alter table "session_stream" drop constraint "session_stream_session_id_foreign";`);
    this.addSql(`alter table "session_event_batch" drop constraint "session_event_batch_session_id_foreign";`);
    this.addSql(`alter table "artifact" drop constraint "artifact_session_id_foreign";`);
    this.addSql(`alter table "pull_request" drop constraint "pull_request_artifact_id_foreign";`);
    this.addSql(`alter table "mcp_authorization" drop constraint "mcp_authorization_connection_id_foreign";`);

    this.addSql(`drop table if exists "deletion_job" cascade;`);
    this.addSql(`drop table if exists "deleted_session" cascade;`);
    this.addSql(`drop table if exists "event_occurrence" cascade;`);
    this.addSql(`drop table if exists "event_occurrence_uuid" cascade;`);
    this.addSql(`drop table if exists "organization" cascade;`);
    this.addSql(`drop table if exists "object_identifier" cascade;`);
    this.addSql(`drop table if exists "monthly_occurrence_count" cascade;`);
    this.addSql(`drop table if exists "event_definition" cascade;`);
    this.addSql(`drop table if exists "event_property" cascade;`);
    this.addSql(`drop table if exists "broadcast_channel" cascade;`);
    this.addSql(`drop table if exists "broadcast" cascade;`);
    this.addSql(`drop table if exists "project" cascade;`);
    this.addSql(`drop table if exists "rate_limit" cascade;`);
    this.addSql(`drop table if exists "session_event" cascade;`);
    this.addSql(`drop table if exists "secret" cascade;`);
    this.addSql(`drop table if exists "user_account" cascade;`);
    this.addSql(`drop table if exists "session" cascade;`);
    this.addSql(`drop table if exists "session_stream" cascade;`);
    this.addSql(`drop table if exists "session_event_batch" cascade;`);
    this.addSql(`drop table if exists "artifact" cascade;`);
    this.addSql(`drop table if exists "pull_request" cascade;`);
    this.addSql(`drop table if exists "membership" cascade;`);
    this.addSql(`drop table if exists "mcp_connection" cascade;`);
    this.addSql(`drop table if exists "mcp_authorization" cascade;`);
    this.addSql(`drop table if exists "idempotency_key" cascade;`);
    this.addSql(`drop table if exists "api_key" cascade;`);
  }
}
