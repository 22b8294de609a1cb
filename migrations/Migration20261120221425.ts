import { Migration } from '@mikro-orm/migrations';

export class Migration20261120221425 extends Migration {
  override name = 'Migration20261120221425';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "audit_entry" ("occurred_at" timestamptz not null, "id" uuid not null, "organization_id" uuid null, "source" text not null, "key_id" uuid null, "operation" text not null, "target_type" text not null, "target_id" uuid null, "request_id" text not null, primary key ("occurred_at", "id"));`,
    );
    this.addSql(
      `create index "audit_entry_organization_index" on "audit_entry" ("organization_id", "occurred_at", "id");`,
    );
    this.addSql(`create index "audit_entry_target_index" on "audit_entry" ("target_id", "occurred_at");`);

    this.addSql(`alter table "mcp_authorization" add "key_id" uuid null;`);

    this.addSql(
      `alter table "audit_entry" add constraint "audit_entry_source_check" check ("source" in ('request', 'command_line', 'job'));`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "audit_entry" cascade;`);

    this.addSql(`alter table "mcp_authorization" drop column "key_id";`);
  }
}
