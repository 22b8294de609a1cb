import { StepMigration } from '../src/core/postgres/step-migration.ts';

const COLUMNS = { idempotency_key: 'role', invitation: 'role', membership: 'role', user_account: 'service_role' };
const LOCK = 'SHARE UPDATE EXCLUSIVE';

export class Migration20261130203002 extends StepMigration {
  override name = 'Migration20261130203002';
  override readonly locks = { idempotency_key: LOCK, invitation: LOCK, membership: LOCK, user_account: LOCK };

  override async up(): Promise<void> {
    for (const [table, column] of Object.entries(COLUMNS))
      await this.execute(`alter table "${table}" validate constraint "${table}_${column}_check"`);
  }

  override down(): void | Promise<void> {
    for (const [table, column] of Object.entries(COLUMNS)) {
      const name = `"${table}_${column}_check"`;
      this.addSql(
        `alter table "${table}" drop constraint ${name}, add constraint ${name} check ("${column}" in ('admin', 'member', 'viewer')) not valid;`,
      );
    }
  }
}
