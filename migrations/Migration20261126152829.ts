import { Migration } from '@mikro-orm/migrations';

export class Migration20261126152829 extends Migration {
  override name = 'Migration20261126152829';

  override up(): void | Promise<void> {
    this.addSql(`alter table "audit_entry" add "changed_fields" text[] null;`);

    this.addSql(
      `alter table "mcp_connection" add "handle" text not null default ('server-' || gen_random_uuid()), add "tool_policy" jsonb not null default '{"mode":"ALL","names":[]}', add "record_tool_calls" text not null default 'ALL', add "audience" text null, add "resource" text null, add "allow_missing_pkce_metadata" boolean not null default false;`,
    );
    this.addSql(
      `alter table "mcp_connection" add constraint "mcp_connection_handle_unique" unique ("organization_id", "handle");`,
    );
    // Handles of existing connections are made from their names, as for new ones, but without letters that only code folds.
    this.addSql(`do $$
      declare
        connection record;
        candidate text;
        number int;
      begin
        for connection in
          select id, organization_id, coalesce(nullif(btrim(left(btrim(regexp_replace(
            lower(regexp_replace(normalize(name, NFKD), '[\u0300-\u036F]', '', 'g')),
            '[^a-z0-9]+', '-', 'g'), '-'), 42), '-'), ''), 'server') as base
          from mcp_connection order by organization_id, created_at, id
        loop
          candidate := connection.base;
          number := 1;
          while exists (
            select from mcp_connection where organization_id = connection.organization_id and handle = candidate
          ) loop
            number := number + 1;
            candidate := connection.base || '-' || number;
          end loop;
          update mcp_connection set handle = candidate
          where organization_id = connection.organization_id and id = connection.id;
        end loop;
      end $$;`);
    this.addSql(
      `alter table "mcp_connection" add constraint "mcp_connection_record_tool_calls_check" check ("record_tool_calls" in ('ALL', 'NONE'));`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "audit_entry" drop column "changed_fields";`);

    this.addSql(`alter table "mcp_connection" drop constraint "mcp_connection_handle_unique";`);
    this.addSql(`alter table "mcp_connection" drop constraint "mcp_connection_record_tool_calls_check";`);
    this.addSql(
      `alter table "mcp_connection" drop column "handle", drop column "tool_policy", drop column "record_tool_calls", drop column "audience", drop column "resource", drop column "allow_missing_pkce_metadata";`,
    );
  }
}
