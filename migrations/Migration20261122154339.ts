import { Migration } from '@mikro-orm/migrations';

export class Migration20261122154339 extends Migration {
  override name = 'Migration20261122154339';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "idempotency_key" add "role" text null, add "operation" text null, add "target_type" text null, add "target_id" uuid null;`,
    );
    this.addSql(
      `alter table "idempotency_key" add constraint "idempotency_key_role_check" check ("role" in ('admin', 'member'));`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "idempotency_key" drop constraint "idempotency_key_role_check";`);
    this.addSql(
      `alter table "idempotency_key" drop column "role", drop column "operation", drop column "target_type", drop column "target_id";`,
    );
  }
}
