import { Migration } from '@mikro-orm/migrations';
import { LOCK_TIMEOUT_MS } from './migration-locks.ts';

/**
 * A migration in steps without a transaction around them, for what must not hold locks for long. If a step is refused a lock, or the process
 * is killed, all steps run again, so each of them must be repeatable. CONTRIBUTING.md has an example.
 */
export abstract class StepMigration extends Migration {
  /** The tables that its steps lock, with the strongest mode, for `migrate --dry-run`. */
  abstract readonly locks: Readonly<Record<string, string>>;

  override isTransactional(): boolean {
    return false;
  }

  /**
   * Builds an index beside readers and writers. An index of that name is built anew, because an interrupted attempt leaves one that is not
   * used.
   * @param definition what follows the name in `create index`; its table has no partitions
   */
  protected async createIndex(name: string, definition: string, { isUnique = false } = {}): Promise<void> {
    await this.execute(`drop index concurrently if exists "${name}"`);
    await this.execute(`create ${isUnique ? 'unique ' : ''}index concurrently "${name}" ${definition}`);
  }

  /**
   * Repeats a statement until it returns no row, each time in its own transaction.
   * @param statement changes at most some thousand rows, which it then no longer finds, and returns a value for each
   */
  protected async changeRows(statement: string): Promise<void> {
    const changeSome = () =>
      this.getEntityManager()
        .fork()
        .transactional(async (em) => {
          await em.execute(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
          return em.execute<object[]>(statement);
        });
    while ((await changeSome()).length > 0);
  }
}
