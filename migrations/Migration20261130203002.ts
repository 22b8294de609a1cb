import { StepMigration } from '../src/core/postgres/step-migration.ts';

const CHECKS = {
  idempotency_key: 'idempotency_key_role_check',
  invitation: 'invitation_role_check',
  membership: 'membership_role_check',
  user_account: 'user_account_service_role_check',
};
const LOCK = 'SHARE UPDATE EXCLUSIVE';

export class Migration20261130203002 extends StepMigration {
  override name = 'Migration20261130203002';
  override readonly locks = { idempotency_key: LOCK, invitation: LOCK, membership: LOCK, user_account: LOCK };

  override async up(): Promise<void> {
    for (const [table, name] of Object.entries(CHECKS))
      await this.execute(`alter table "${table}" validate constraint "${name}"`);
  }

  override down(): void | Promise<void> {}
}
