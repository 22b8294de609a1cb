import { Migration } from '@mikro-orm/migrations';

export class Migration20261122120525 extends Migration {
  override name = 'Migration20261122120525';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "mcp_token_revocation" ("id" uuid not null, "organization_id" uuid not null, "authorization_server" jsonb not null, "attempts" int not null, "created_at" timestamptz not null, primary key ("id"));`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "mcp_token_revocation" cascade;`);
  }
}
