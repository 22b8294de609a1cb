import { Migration } from '@mikro-orm/migrations';

export class Migration20261201025309 extends Migration {
  override name = 'Migration20261201025309';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "tool_approval" ("id" uuid not null, "organization_id" uuid not null, "connection_id" uuid not null, "user_id" uuid not null, "key_created_by_id" uuid null, "session_id" uuid null, "tool_name" text not null, "arguments_digest" text not null, "definition_hash" text not null, "preview" text not null, "sealed_arguments" text null, "state" text not null, "decided_by_id" uuid null, "decided_at" timestamptz null, "continuation_hash" text null, "created_at" timestamptz not null, "expires_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(
      `create index "tool_approval_organization_index" on "tool_approval" ("organization_id", "created_at", "id");`,
    );
    this.addSql(
      `create index "tool_approval_call_index" on "tool_approval" ("connection_id", "user_id", "expires_at");`,
    );
    this.addSql(`create index "tool_approval_user_index" on "tool_approval" ("user_id");`);
    this.addSql(`create index "tool_approval_key_created_by_index" on "tool_approval" ("key_created_by_id");`);
    this.addSql(`create index "tool_approval_decided_by_index" on "tool_approval" ("decided_by_id");`);
    this.addSql(`create index "tool_approval_age_index" on "tool_approval" ("created_at");`);
    this.addSql(
      `create index "tool_approval_sealed_index" on "tool_approval" ("expires_at") where sealed_arguments is not null;`,
    );

    this.addSql(
      `create table "mcp_tool_definitions" ("connection_id" uuid not null, "organization_id" uuid not null, "accepted" text not null, primary key ("connection_id"));`,
    );
    this.addSql(
      `create index "mcp_tool_definitions_organization_index" on "mcp_tool_definitions" ("organization_id");`,
    );

    this.addSql(
      `alter table "mcp_connection" add "access" jsonb not null default '{"mode":"ALL","groupIds":[]}', add "tool_rules" jsonb not null default '[]', add "approver_group_ids" text[] not null default '{}', add "on_tool_change" text not null default 'ALLOW', add "changed_tools" jsonb null;`,
    );
    this.addSql(
      `alter table "mcp_connection" add constraint "mcp_connection_on_tool_change_check" check ("on_tool_change" in ('ALLOW', 'HOLD'));`,
    );

    this.addSql(`alter table "api_key" add "created_by_id" uuid null;`);
    this.addSql(
      `alter table "api_key" add constraint "api_key_created_by_id_foreign" foreign key ("created_by_id") references "user_account" ("id") on delete set null;`,
    );
    this.addSql(
      `create index "api_key_created_by_index" on "api_key" ("created_by_id") where created_by_id is not null;`,
    );

    this.addSql(
      `alter table "tool_approval" add constraint "tool_approval_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "tool_approval" add constraint "tool_approval_connection_id_foreign" foreign key ("connection_id") references "mcp_connection" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "tool_approval" add constraint "tool_approval_user_id_foreign" foreign key ("user_id") references "user_account" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "tool_approval" add constraint "tool_approval_key_created_by_id_foreign" foreign key ("key_created_by_id") references "user_account" ("id") on delete set null;`,
    );
    this.addSql(
      `alter table "tool_approval" add constraint "tool_approval_decided_by_id_foreign" foreign key ("decided_by_id") references "user_account" ("id") on delete set null;`,
    );
    this.addSql(
      `alter table "tool_approval" add constraint "tool_approval_state_check" check ("state" in ('PENDING', 'APPROVED', 'DENIED', 'USED'));`,
    );

    this.addSql(
      `alter table "mcp_tool_definitions" add constraint "mcp_tool_definitions_connection_id_foreign" foreign key ("connection_id") references "mcp_connection" ("id") on update cascade on delete cascade;`,
    );
    this.addSql(
      `alter table "mcp_tool_definitions" add constraint "mcp_tool_definitions_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "tool_approval" cascade;`);
    this.addSql(`drop table if exists "mcp_tool_definitions" cascade;`);

    this.addSql(`alter table "api_key" drop constraint "api_key_created_by_id_foreign";`);

    this.addSql(`drop index "api_key_created_by_index";`);
    this.addSql(`alter table "api_key" drop column "created_by_id";`);

    this.addSql(`alter table "mcp_connection" drop constraint "mcp_connection_on_tool_change_check";`);
    this.addSql(
      `alter table "mcp_connection" drop column "access", drop column "tool_rules", drop column "approver_group_ids", drop column "on_tool_change", drop column "changed_tools";`,
    );
  }
}
