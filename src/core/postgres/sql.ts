import type { EntityManager } from '@mikro-orm/postgresql';
import { type Compilable, CompiledQuery, type QueryExecutorProvider } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { Pool } from 'pg';
import { type Statement, statementOf } from './queries.ts';
import { Postponed, type RequestBudget } from './request-budget.ts';
import { WIRE_TYPES } from './wire-types.ts';

/**
 * Runs typed queries as prepared statements, from rows to the wire without entities. Entities are for changing things.
 */
export interface Sql {
  all<Row>(query: Compilable<Row> | Statement<Row>): Promise<Row[]>;
  first<Row>(query: Compilable<Row> | Statement<Row>): Promise<Row | undefined>;
  /**
   * The same for what typed queries cannot say. `text` must be one of a bounded number of texts, because each is prepared once per connection;
   * values go apart from the text.
   */
  query<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]>;
  /** Runs a statement whose failure the caller expects and goes on after: within a transaction it has a savepoint. */
  attempt<Row>(query: Compilable<Row> | Statement<Row>): Promise<Row[]>;
  /** The same on the primary: for what changes something, and for what follows notifications. Often it is the primary already. */
  readonly primary: Sql;
}

/** Sends a statement; with a budget, within it. */
export type Run = (statement: Statement<unknown>, budget?: RequestBudget) => Promise<object[]>;

export interface RunOptions {
  readonly run: Run;
  /** Runs on the primary, if `run` does not. */
  readonly onPrimary?: Run;
  /** Runs with a savepoint, where `run` is within a transaction. */
  readonly attempt?: Run;
  readonly budget?: RequestBudget | undefined;
}

export function createSql({ run, onPrimary = run, attempt = run, budget }: RunOptions): Sql {
  const within = (how: Run, statement: Statement<unknown>) =>
    budget ? budget.run(() => how(statement, budget)) : how(statement);
  // The rows have the type that the query says.
  const all = async <Row>(query: Compilable<Row> | Statement<Row>) => (await within(run, statementOf(query))) as Row[];
  const sql: Sql = {
    all,
    first: async (query) => (await all(query))[0],
    attempt: async <Row>(query: Compilable<Row> | Statement<Row>) =>
      (await within(attempt, statementOf(query))) as Row[],
    query: async <Row extends object>(text: string, values: readonly unknown[]) =>
      (await within(run, { text, values })) as Row[],
    primary: undefined as never,
  };
  return Object.assign(sql, {
    primary: onPrimary === run ? sql : createSql({ run: onPrimary, attempt, budget }),
  });
}

/** Texts that are remembered, and how often one comes before it is prepared: what callers select makes texts, and each costs the database memory. */
const MAX_TEXTS = 500;
const USES_BEFORE_PREPARING = 2;

export interface RunOnOptions {
  /** Whether statements may be prepared on a connection, for the next one that uses it. */
  readonly canPrepare?: boolean;
}

/** Statements over a pool's connections, prepared on each connection when they come again. */
export function runOn(pool: Pool, { canPrepare = true }: RunOnOptions = {}): Run {
  const known = new LRUCache<string, { uses: number; readonly name: string }>({ max: MAX_TEXTS });
  let made = 0;
  const nameOf = (text: string) => {
    if (!canPrepare) return undefined;
    let entry = known.get(text);
    if (!entry) known.set(text, (entry = { uses: 0, name: `r${(made += 1)}` }));
    entry.uses += 1;
    return entry.uses > USES_BEFORE_PREPARING ? entry.name : undefined;
  };
  async function send({ text, values }: Statement<unknown>, budget?: RequestBudget): Promise<object[]> {
    const name = nameOf(text);
    const client = await pool.connect();
    let isReleased = false;
    // A connection whose answer is not read to its end is closed: the rest of the answer is not even received.
    const release = (error?: boolean) => {
      if (!isReleased) client.release(error);
      isReleased = true;
    };
    try {
      const types = budget ? budget.typesCounting(() => release(true), READS.test(text)) : WIRE_TYPES;
      const { rows } = await client.query<object>({ name, text, values: [...values], types });
      release();
      return rows;
    } catch (error) {
      release();
      // What the closed connection says is only a consequence.
      budget?.take(0);
      throw error;
    }
  }

  return async (statement, budget) => {
    for (;;) {
      try {
        return await send(statement, budget);
      } catch (error) {
        if (!budget || !(error instanceof Postponed)) throw error;
      }
      await budget.becomeLarge();
    }
  };
}

/** What may be sent twice. */
const READS = /^\s*(?:select|with)\b(?![^]*\b(?:insert|update|delete)\b)/i;

/**
 * The same on the connection of the manager's transaction. A statement that fails ends the transaction, but for one that was run with `attempt`.
 * What it reads counts for the budget once it has arrived: the connection has to live on for the rollback.
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
  // One after the other: a statement between a savepoint and its release would be undone with it.
  let last: Promise<unknown> = Promise.resolve();
  const inOrder =
    (how: typeof execute): Run =>
    (statement) => {
      const done = last.then(() => how(statement));
      last = done.catch(() => undefined);
      return done;
    };
  return createSql({ run: inOrder(execute), attempt: inOrder(executeApart), budget });
}

/** The texts of rows, which is where bytes are. */
function lengthOf(rows: readonly object[]): number {
  let length = 0;
  for (const row of rows) for (const value of Object.values(row)) if (typeof value === 'string') length += value.length;
  return length;
}
