import type { EntityManager } from '@mikro-orm/postgresql';
import { type Compilable, CompiledQuery, type QueryExecutorProvider } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { Pool } from 'pg';
import { DatabaseClient } from '../driver/client.ts';
import { type Statement, statementOf } from './queries.ts';
import { Postponed, type RequestBudget, TooLong } from './request-budget.ts';
import { StatementQuery } from '../driver/statement-query.ts';

/** Runs typed queries as prepared statements, without entities. Changes use entities. */
export interface Sql {
  all<Row>(query: Compilable<Row> | Statement<Row>): Promise<Row[]>;
  first<Row>(query: Compilable<Row> | Statement<Row>): Promise<Row | undefined>;
  /**
   * Runs a statement that typed queries cannot express. `text` must be one of a bounded number of texts, because each is prepared once per
   * connection; pass values separately.
   */
  query<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]>;
  /**
   * Like `all`, but undefined when the rows have more bytes than `maxBytes`: the rest is not read. Undefined, too, where a statement cannot
   * be stopped: within a transaction, and in work that has no budget. Columns of the type `json` are returned as the text that is stored.
   */
  allUpTo<Row>(maxBytes: number, query: Compilable<Row> | Statement<Row>): Promise<Row[] | undefined>;
  /** Runs a statement whose failure the caller handles: within a transaction it has a savepoint. */
  attempt<Row>(query: Compilable<Row> | Statement<Row>): Promise<Row[]>;
  /** The same on the primary, for changes and after notifications. Often this already is the primary. */
  readonly primary: Sql;
}

/** Sends a statement, within a budget if there is one. */
export type Run = (statement: Statement<unknown>, budget?: RequestBudget) => Promise<object[]>;

export interface RunOptions {
  readonly run: Run;
  /** Runs on the primary, if `run` does not. */
  readonly onPrimary?: Run;
  /** Runs with a savepoint, if `run` is within a transaction. */
  readonly attempt?: Run;
  readonly budget?: RequestBudget | undefined;
  /** Whether reading can stop before the end of the rows, by closing the connection. */
  readonly canStop?: boolean;
}

export function createSql(options: RunOptions): Sql {
  const { run, onPrimary = run, attempt = run, budget, canStop = budget !== undefined } = options;
  const within = <Row>(how: Run, query: Compilable<Row> | Statement<Row>) => {
    const statement = statementOf(query);
    const rows = budget ? budget.run(() => how(statement, budget)) : how(statement);
    // The rows have the type of the query.
    return rows as Promise<Row[]>;
  };
  const all = <Row>(query: Compilable<Row> | Statement<Row>) => within(run, query);
  const sql: Sql = {
    all,
    first: async (query) => (await all(query))[0],
    allUpTo: async (maxBytes, query) => {
      if (!canStop) return undefined;
      try {
        return await within(run, { ...statementOf(query), maxBytes, jsonAsText: true });
      } catch (error) {
        if (error instanceof TooLong) return undefined;
        throw error;
      }
    },
    attempt: (query) => within(attempt, query),
    query: (text, values) => within(run, { text, values }),
    primary: undefined as never,
  };
  return Object.assign(sql, {
    primary: onPrimary === run ? sql : createSql({ ...options, run: onPrimary, onPrimary }),
  });
}

/**
 * Number of texts whose uses are counted before they are prepared. Selections of callers create many texts, and each prepared one costs memory
 * of the database.
 */
const MAX_TEXTS = 500;
const USES_BEFORE_PREPARING = 2;

interface KnownText {
  uses: number;
  /** The name under which connections prepare it. */
  readonly name: string;
  /** Whether it may be sent twice. */
  readonly isRead: boolean;
}

export interface RunOnOptions {
  /** Whether statements may be prepared on a connection for later requests. */
  readonly canPrepare?: boolean;
}

/** Runs statements on the connections of a pool. A statement that is repeated is prepared on each connection. */
export function runOn(pool: Pool, { canPrepare = true }: RunOnOptions = {}): Run {
  const known = new LRUCache<string, KnownText>({ max: MAX_TEXTS });
  let made = 0;
  const knownOf = (text: string) => {
    let entry = known.get(text);
    if (!entry) known.set(text, (entry = { uses: 0, name: `r${(made += 1)}`, isRead: READS.test(text) }));
    entry.uses += 1;
    return entry;
  };
  async function send(statement: Statement<unknown>, budget?: RequestBudget): Promise<object[]> {
    const { text, values, maxBytes, jsonAsText } = statement;
    const { uses, name: ownName, isRead } = knownOf(text);
    const name = canPrepare && uses > USES_BEFORE_PREPARING ? ownName : undefined;
    const client = await pool.connect();
    let isReleased = false;
    // Close a connection whose answer is not read to the end, so that the rest is not even received.
    const release = (error?: boolean) => {
      if (!isReleased) client.release(error);
      isReleased = true;
    };
    try {
      const onBytes = budget?.counting(() => release(true), { isRepeatable: isRead, maxBytes });
      const query = new StatementQuery({ name, text, values, onBytes, jsonAsText });
      await DatabaseClient.of(client).run(query);
      release();
      return query.rows;
    } catch (error) {
      release();
      // Errors of the closed connection are only a consequence.
      budget?.take(0);
      if (!budget || !(error instanceof Postponed)) throw error;
    }
    // A separate function, because a waiting statement must keep neither its rows nor its connection.
    return sendWhenLarge(statement, budget);
  }

  async function sendWhenLarge(statement: Statement<unknown>, budget: RequestBudget): Promise<object[]> {
    await budget.becomeLarge();
    return send(statement, budget);
  }

  return send;
}

const READS = /^\s*(?:select|with)\b(?![^]*\b(?:insert|update|delete)\b)/i;

/**
 * Runs statements on the connection of the manager's transaction. A failed statement aborts the transaction, unless it was run with `attempt`.
 * Bytes count after they have arrived, because the connection is needed for the rollback.
 */
export function sqlWithin(em: EntityManager, budget?: RequestBudget): Sql {
  const transaction = em.getTransactionContext<QueryExecutorProvider>()?.getExecutor();
  if (!transaction) throw new Error('the entity manager has no transaction');
  const execute = async ({ text, values }: Statement<unknown>): Promise<object[]> => {
    const { rows } = await transaction.executeQuery<object>(CompiledQuery.raw(text, [...values]));
    budget?.take(lengthOf(rows));
    return rows;
  };
  const executeApart = async (statement: Statement<unknown>) => {
    await execute({ text: 'savepoint statement', values: [] });
    try {
      return await execute(statement);
    } catch (error) {
      await execute({ text: 'rollback to savepoint statement', values: [] });
      throw error;
    } finally {
      await execute({ text: 'release savepoint statement', values: [] });
    }
  };
  // Sequentially, because a statement between a savepoint and its rollback would be undone, too.
  let last: Promise<unknown> = Promise.resolve();
  const inOrder =
    (how: typeof execute): Run =>
    (statement) => {
      const done = last.then(() => how(statement));
      last = done.catch(() => undefined);
      return done;
    };
  return createSql({ run: inOrder(execute), attempt: inOrder(executeApart), budget, canStop: false });
}

/** The size of the texts in rows, which are most of the bytes. */
function lengthOf(rows: readonly object[]): number {
  let length = 0;
  for (const row of rows) for (const value of Object.values(row)) if (typeof value === 'string') length += value.length;
  return length;
}
