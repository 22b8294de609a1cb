import type { EntityManager } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';
import type { Database } from './database.ts';

/**
 * The read path of lists and pages: prepared statements that go from rows to the wire without entities. Entities are for changing things.
 * Timestamps come as PostgreSQL writes them; `toIsoString` gives their wire form.
 */
export interface Sql {
  /** `text` must be one of a bounded number of texts, because each is prepared once per connection. Values go apart from the text. */
  query<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]>;
  /** The same on the primary: for what changes something, and for what follows changes as they are told of. Often it is the primary already. */
  readonly primary: Sql;
}

/** A moment: a Date of an entity, or a `timestamptz` as text of a row (the session's time zone is UTC). */
export type Timestamp = Date | string;

export async function createSql(database: Database, onQuery?: (text: string) => void): Promise<Sql> {
  const query = queryOn(await database.driver.getConnection().getNativeClient(), onQuery);
  return onPrimary(query);
}

function onPrimary(query: Sql['query']): Sql {
  const sql: Sql = {
    query,
    get primary() {
      return sql;
    },
  };
  return sql;
}

/** Prepared statements over a pool's connections. */
export function queryOn(pool: Pool, onQuery?: (text: string) => void): Sql['query'] {
  const names = new Map<string, string>();
  return async <Row extends object>(text: string, values: readonly unknown[]) => {
    onQuery?.(text);
    let name = names.get(text);
    if (name === undefined) names.set(text, (name = `r${names.size}`));
    const { rows } = await pool.query<Row>({ name, text, values: [...values] });
    return rows;
  };
}

/** What a transaction of the entity manager's SQL layer takes beside its own queries. */
interface TransactionConnection {
  executeQuery(query: {
    sql: string;
    parameters: readonly unknown[];
    query: { kind: 'RawNode' };
    queryId: { queryId: string };
  }): Promise<{ rows: unknown[] }>;
}

/**
 * The same on the connection of the manager's transaction, one statement after the other. Each has a savepoint of its own: as on the pool, a
 * statement that fails leaves nothing behind and hinders no later one.
 */
export function sqlWithin(em: EntityManager): Sql {
  const transaction = em.getTransactionContext<TransactionConnection>();
  if (!transaction) throw new Error('the entity manager has no transaction');
  const execute = async (sql: string, parameters: readonly unknown[] = []) =>
    (await transaction.executeQuery({ sql, parameters, query: { kind: 'RawNode' }, queryId: { queryId: 'sql' } })).rows;
  const executeApart = async (text: string, values: readonly unknown[]) => {
    await execute('savepoint statement');
    try {
      return await execute(text, values);
    } catch (error) {
      await execute('rollback to savepoint statement');
      throw error;
    } finally {
      await execute('release savepoint statement');
    }
  };
  let last: Promise<unknown> = Promise.resolve();
  return onPrimary(async <Row extends object>(text: string, values: readonly unknown[]) => {
    const turn = last.then(() => executeApart(text, values));
    last = turn.catch(() => undefined);
    // The rows are what the statement says, as they are on the pool.
    return (await turn) as Row[];
  });
}

/** ISO 8601 in UTC with milliseconds. */
export function toIsoString(moment: Timestamp): string {
  if (typeof moment !== 'string') return moment.toISOString();
  // `2026-03-01 10:20:30.5+00`: the date and time as they stand, the fraction padded or cut to three digits.
  return `${moment.slice(0, 10)}T${moment.slice(11, 19)}.${/\.(\d{1,3})/.exec(moment)?.[1]?.padEnd(3, '0') ?? '000'}Z`;
}
