import { Migration } from '@mikro-orm/migrations';

export class Migration20261120200110 extends Migration {

  override name = 'Migration20261120200110';

  override up(): void | Promise<void> {
    this.addSql(`create table "mcp_connection" ("id" uuid not null, "organization_id" uuid not null, "owner_id" uuid null, "name" text not null, "type" text not null, "visibility" text not null, "command" text null, "args" text[] null, "env_keys" text[] not null, "server_url" text null, "auth_type" text null, "header_keys" text[] not null, "client_id" text null, "oauth_registration" text null, "scope" text null, "status" text not null, "status_reason" text null, "connected_at" timestamptz null, "last_checked_at" timestamptz null, "authorization_expires_at" timestamptz null, "authorization_server" jsonb null, "challenged_scope" text null, "granted_scopes" text[] null, "token_expires_at" timestamptz null, "refresh_after" timestamptz null, "token_version" int not null default 0, "refresh_lease_until" timestamptz null, "refresh_failures" int not null default 0, "refresh_not_before" timestamptz null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"));`);
    this.addSql(`create index "mcp_connection_organization_index" on "mcp_connection" ("organization_id", "name", "id");`);
    this.addSql(`create index "mcp_connection_owner_index" on "mcp_connection" ("owner_id");`);
    this.addSql(`create unique index "mcp_connection_shared_name_unique" on "mcp_connection" ("organization_id", "name") where visibility = 'shared';`);
    this.addSql(`create unique index "mcp_connection_personal_name_unique" on "mcp_connection" ("organization_id", "owner_id", "name") where visibility = 'personal';`);

    this.addSql(`create table "mcp_authorization" ("id" uuid not null, "organization_id" uuid not null, "connection_id" uuid not null, "user_id" uuid not null, "state_hash" bytea not null, "issuer" text not null, "redirect_uri" text not null, "expires_at" timestamptz not null, primary key ("id"));`);
    this.addSql(`create index "mcp_authorization_connection_index" on "mcp_authorization" ("connection_id");`);
    this.addSql(`alter table "mcp_authorization" add constraint "mcp_authorization_state_unique" unique ("state_hash");`);

    this.addSql(`alter table "mcp_connection" add constraint "mcp_connection_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`);
    this.addSql(`alter table "mcp_connection" add constraint "mcp_connection_owner_id_foreign" foreign key ("owner_id") references "user_account" ("id") on delete set null;`);
    this.addSql(`alter table "mcp_connection" add constraint "mcp_connection_type_check" check ("type" in ('remote', 'stdio'));`);
    this.addSql(`alter table "mcp_connection" add constraint "mcp_connection_visibility_check" check ("visibility" in ('shared', 'personal'));`);
    this.addSql(`alter table "mcp_connection" add constraint "mcp_connection_auth_type_check" check ("auth_type" in ('oauth', 'client_credentials', 'static_headers'));`);
    this.addSql(`alter table "mcp_connection" add constraint "mcp_connection_oauth_registration_check" check ("oauth_registration" in ('automatic', 'pre_registered'));`);
    this.addSql(`alter table "mcp_connection" add constraint "mcp_connection_status_check" check ("status" in ('STORED', 'PENDING_AUTHORIZATION', 'CONNECTED', 'AUTHORIZATION_REQUIRED', 'UNREACHABLE', 'MISCONFIGURED'));`);

    this.addSql(`alter table "mcp_authorization" add constraint "mcp_authorization_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`);
    this.addSql(`alter table "mcp_authorization" add constraint "mcp_authorization_connection_id_foreign" foreign key ("connection_id") references "mcp_connection" ("id") on delete cascade;`);
    this.addSql(`alter table "mcp_authorization" add constraint "mcp_authorization_user_id_foreign" foreign key ("user_id") references "user_account" ("id") on delete cascade;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "mcp_authorization" drop constraint "mcp_authorization_connection_id_foreign";`);

    this.addSql(`drop table if exists "mcp_connection" cascade;`);
    this.addSql(`drop table if exists "mcp_authorization" cascade;`);
  }

}
