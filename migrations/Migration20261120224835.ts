import { Migration } from '@mikro-orm/migrations';

export class Migration20261120224835 extends Migration {
  override name = 'Migration20261120224835';

  override up(): void | Promise<void> {
    this.addSql(`create index "mcp_connection_refresh_index" on "mcp_connection" ("refresh_after");`);

    this.addSql(`create index "mcp_authorization_expiry_index" on "mcp_authorization" ("expires_at");`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "mcp_authorization_expiry_index";`);

    this.addSql(`drop index "mcp_connection_refresh_index";`);
  }
}
