import { Migration } from '@mikro-orm/migrations';

const COLUMNS = [
  ['idempotency_key', 'role'],
  ['invitation', 'role'],
  ['membership', 'role'],
  ['user_account', 'service_role'],
] as const;

export class Migration20261130203001 extends Migration {
  override name = 'Migration20261130203001';

  override up(): void | Promise<void> {
    this.replaceChecks(`in ('admin', 'member', 'viewer')`, ' not valid');
  }

  /** Refused while a member or a service account is a viewer: an earlier version would let them change everything that members do. */
  override down(): void | Promise<void> {
    for (const table of ['idempotency_key', 'invitation'])
      this.addSql(`delete from "${table}" where "role" = 'viewer';`);
    this.replaceChecks(`in ('admin', 'member')`, '');
  }

  /** The next migration validates the new ones, because that reads all rows. */
  private replaceChecks(condition: string, validity: string): void {
    for (const [table, column] of COLUMNS) {
      const name = `"${table}_${column}_check"`;
      this.addSql(
        `alter table "${table}" drop constraint ${name}, add constraint ${name} check ("${column}" ${condition})${validity};`,
      );
    }
  }
}
