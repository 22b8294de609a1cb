import { Migration } from '@mikro-orm/migrations';

export class Migration20261129210700 extends Migration {
  override name = 'Migration20261129210700';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "mcp_used_handle" ("id" uuid not null, "organization_id" uuid not null, "owner_id" uuid null, "handle" text not null, "server_hash" bytea null, "released_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(`create index "mcp_used_handle_owner_index" on "mcp_used_handle" ("owner_id");`);
    this.addSql(`create index "mcp_used_handle_age_index" on "mcp_used_handle" ("released_at");`);
    this.addSql(
      `alter table "mcp_used_handle" add constraint "mcp_used_handle_unique" unique ("organization_id", "handle");`,
    );

    this.addSql(`alter table "mcp_connection" add "list_version" int not null default 0;`);

    this.addSql(
      `alter table "mcp_used_handle" add constraint "mcp_used_handle_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "mcp_used_handle" add constraint "mcp_used_handle_owner_id_foreign" foreign key ("owner_id") references "user_account" ("id") on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "mcp_used_handle" cascade;`);

    this.addSql(`alter table "mcp_connection" drop column "list_version";`);
  }
}
