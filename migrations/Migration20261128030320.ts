import { Migration } from '@mikro-orm/migrations';

export class Migration20261128030320 extends Migration {
  override name = 'Migration20261128030320';

  override up(): void | Promise<void> {
    this.addSql(`alter table "idempotency_key" add "has_sessions" boolean not null default false;`);
    this.addSql(
      `create index "idempotency_key_sessions_index" on "idempotency_key" ("organization_id") where has_sessions;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "idempotency_key_sessions_index";`);
    this.addSql(`alter table "idempotency_key" drop column "has_sessions";`);
  }
}
