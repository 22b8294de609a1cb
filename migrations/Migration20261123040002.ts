import { Migration } from '@mikro-orm/migrations';

export class Migration20261123040002 extends Migration {
  override name = 'Migration20261123040002';

  override up(): void | Promise<void> {
    this.addSql(
      `create index "idempotency_key_keyless_index" on "idempotency_key" ("digest") where operation = 'acceptOrganizationInvitation';`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "idempotency_key_keyless_index";`);
  }
}
