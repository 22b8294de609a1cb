import type { EntityManager } from '@mikro-orm/postgresql';
import { type Compilable, CompiledQuery, type QueryExecutorProvider } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { Pool } from 'pg';
import { DatabaseClient } from '../driver/client.ts';
import { type Statement, statementOf } from './queries.ts';
import type { PageEnd, RequestBudget } from './request-budget.ts';
import { MAX_ESCAPE, firstWithin } from '../../answer-size.ts';
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
  /** Runs the statement of a page of a list. */
  page<Row>(query: Compilable<Row> | Statement<Row>, options?: PageOptions): Promise<PageRows<Row>>;
  /** Runs a statement whose failure the caller handles: within a transaction it has a savepoint. */
  attempt<Row>(query: Compilable<Row> | Statement<Row>): Promise<Row[]>;
  /** The same on the primary, for changes and after notifications. Often this already is the primary. */
  readonly primary: Sql;
  readonly isTransaction: boolean;
}

/** The rows of a page, which ends early with the row that reaches its maximum size. */
export interface PageRows<Row> {
  readonly rows: readonly Row[];
  /** Whether it ended early, before further rows. */
  readonly isCut: boolean;
}

export interface PageOptions {
  /** Instead of the usual maximum. */
  readonly maxBytes?: number | undefined;
  /**
   * The large columns are JSON, which is answered as it is. Those of the type `json` are returned as the text that is stored, but not within a
   * transaction.
   */
  readonly isJson?: boolean;
  /** False for rows that are summed one page at a time: their bytes count as part of the answer only while they are read. */
  readonly isAnswered?: boolean;
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
  readonly isTransaction?: boolean;
}

/** Each request has one, so it is a class (docs/decisions/short-lived-objects.md). */
export class StatementSql implements Sql {
  readonly primary: Sql;
  readonly isTransaction: boolean;
  readonly #run: Run;
  readonly #attempt: Run;
  readonly #budget: RequestBudget | undefined;

  constructor(options: RunOptions) {
    const { run, onPrimary = run, attempt = run, budget, isTransaction = false } = options;
    this.#run = run;
    this.#attempt = attempt;
    this.#budget = budget;
    this.isTransaction = isTransaction;
    this.primary = onPrimary === run ? this : new StatementSql({ ...options, run: onPrimary });
  }

  all<Row>(query: Compilable<Row> | Statement<Row>): Promise<Row[]> {
    return this.#within(this.#run, statementOf(query));
  }

  async first<Row>(query: Compilable<Row> | Statement<Row>): Promise<Row | undefined> {
    return (await this.all(query))[0];
  }

  async page<Row>(query: Compilable<Row> | Statement<Row>, options: PageOptions = {}): Promise<PageRows<Row>> {
    const budget = this.#budget;
    const { maxBytes = budget?.pageBytes ?? Infinity, isJson = false, isAnswered = true } = options;
    const page: PageEnd = { maxBytes, bytes: 0, isCut: false };
    const rows = await this.#within<Row>(this.#run, { ...statementOf(query), page, jsonAsText: isJson });
    const { bytes, isCut } = page;
    if (!isAnswered) budget?.count(-bytes);
    return isJson || bytes * MAX_ESCAPE <= maxBytes ? { rows, isCut } : cutAsJson({ rows, isCut }, maxBytes);
  }

  attempt<Row>(query: Compilable<Row> | Statement<Row>): Promise<Row[]> {
    return this.#within(this.#attempt, statementOf(query));
  }

  query<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]> {
    return this.#within(this.#run, { text, values });
  }

  #within<Row>(run: Run, statement: Statement<Row>): Promise<Row[]> {
    const budget = this.#budget;
    const rows = budget ? budget.run(() => run(statement, budget)) : run(statement);
    // The rows have the type of the query.
    return rows as Promise<Row[]>;
  }
}

/** Ends a page with the row with which its JSON reaches the maximum. */
function cutAsJson<Row>({ rows, isCut }: PageRows<Row>, maxBytes: number): PageRows<Row> {
  const first = firstWithin(rows, maxBytes);
  return { rows: first, isCut: isCut || first.length < rows.length };
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
  return async ({ text, values, page, jsonAsText }, budget) => {
    const { uses, name: ownName, isRead } = knownOf(text);
    const name = canPrepare && uses > USES_BEFORE_PREPARING ? ownName : undefined;
    const client = await pool.connect();
    let isReleased = false;
    // Close a connection whose answer is not read to the end, so that the rest is not even received.
    const release = (error?: boolean) => {
      if (!isReleased) client.release(error);
      isReleased = true;
    };
    // A change is never stopped, because it may have been made already.
    const onBytes = isRead ? budget?.counting(() => release(true), page) : (bytes: number) => budget?.count(bytes);
    let rows: object[] = [];
    try {
      const query = new StatementQuery({ name, text, values, onBytes, jsonAsText });
      ({ rows } = query);
      await DatabaseClient.of(client).run(query);
      release();
    } catch (error) {
      release();
      if (page?.isCut) return rows;
      // Errors of the closed connection are only a consequence.
      budget?.requireRoom();
      throw error;
    }
    return rows;
  };
}

const READS = /^\s*(?:select|with)\b(?![^]*\b(?:insert|update|delete)\b)/i;

/** Number of rows of a page that are read at once within a transaction. */
const ROWS_AT_ONCE = 20;

/**
 * Runs statements on the connection of the manager's transaction. A failed statement aborts the transaction, unless it was run with `attempt`.
 * Bytes count after they have arrived, because the connection is needed for the rollback; pages are read with a cursor.
 */
export function sqlWithin(em: EntityManager, budget?: RequestBudget): Sql {
  const transaction = em.getTransactionContext<QueryExecutorProvider>()?.getExecutor();
  if (!transaction) throw new Error('the entity manager has no transaction');
  const read = async (text: string, values: readonly unknown[]) => {
    const { rows } = await transaction.executeQuery<object>(CompiledQuery.raw(text, [...values]));
    budget?.count(lengthOf(rows));
    return rows;
  };
  const execute = async (statement: Statement<unknown>): Promise<object[]> =>
    statement.page ? readUpTo(statement.page, statement, read) : read(statement.text, statement.values);
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
  return new StatementSql({ run: inOrder(execute), attempt: inOrder(executeApart), budget, isTransaction: true });
}

/** Reads with a cursor of the transaction, which ends with it if a statement fails. */
async function readUpTo(
  page: PageEnd,
  { text, values }: Statement<unknown>,
  read: (text: string, values: readonly unknown[]) => Promise<object[]>,
): Promise<object[]> {
  const first: object[] = [];
  await read(`declare page no scroll cursor for ${text}`, values);
  let rows: object[];
  do {
    rows = await read(`fetch ${ROWS_AT_ONCE} from page`, []);
    for (const row of rows) {
      page.isCut = page.bytes >= page.maxBytes;
      if (page.isCut) break;
      page.bytes += lengthOf([row]);
      first.push(row);
    }
  } while (!page.isCut && rows.length === ROWS_AT_ONCE);
  await read('close page', []);
  return first;
}

/** The size of the texts in rows, which are most of the bytes. */
function lengthOf(rows: readonly object[]): number {
  let length = 0;
  for (const row of rows) for (const value of Object.values(row)) if (typeof value === 'string') length += value.length;
  return length;
}
