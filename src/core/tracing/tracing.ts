import type { Pool, PoolClient } from 'pg';
import type { HttpHeaders } from '../http/messages.ts';

/**
 * Follows requests from their arrival to SQL and to other servers. Where tracing is off there is no `Tracing` at all, and nothing of it is
 * loaded. What a span says is bounded and public: names of operations and tables, hosts, statuses; never values, texts or errors' messages.
 */
export interface Tracing {
  /**
   * Runs `work` within a span, beneath that of its caller or, with `parent`, beneath the one that the headers name (W3C Trace Context).
   * Without either it begins a trace, unless it is `inner`: what nobody follows is not worth one. A failure is marked and thrown on.
   */
  span<Result>(options: SpanOptions, work: (span: Span | undefined) => Promise<Result>): Promise<Result>;
  /** Sends what has not been sent, for a bounded time. */
  close(): Promise<void>;
}

export interface SpanOptions {
  readonly name: string;
  /** `server` for what came in, `client` for what goes out. */
  readonly kind: 'server' | 'client' | 'internal';
  readonly attributes?: Readonly<Record<string, string | number>>;
  readonly parent?: HttpHeaders;
  readonly inner?: boolean;
}

export interface Span {
  readonly traceId: string;
  /** Adds what is known only now. */
  set(attributes: Readonly<Record<string, string | number>>): void;
  rename(name: string): void;
  /** `type` is one of few words, such as a status or a code. */
  fail(type: string): void;
}

/** Within a span where tracing is on, and otherwise as it is. */
export function traced<Result>(
  tracing: Tracing | undefined,
  options: SpanOptions,
  work: (span: Span | undefined) => Promise<Result>,
): Promise<Result> {
  return tracing ? tracing.span(options, work) : work(undefined);
}

export interface StatementObservers {
  readonly tracing: Tracing | undefined;
  /** Sees the text of every statement, those of transactions and the transactions' own included. */
  readonly onSql: ((text: string) => void) | undefined;
}

/** Sees each statement on the pool's connections: a span named by what it does to which table, and its text. */
export function observeStatements(pool: Pool, { tracing, onSql }: StatementObservers): void {
  const follow = (target: Pool | PoolClient) => {
    const query = target.query.bind(target) as (...given: unknown[]) => Promise<unknown>;
    Object.assign(target, {
      query: (...given: unknown[]) => {
        const text = textOf(given[0]);
        if (text === undefined) return query(...given);
        // The pool passes its own statements on to a connection.
        if (target !== pool) onSql?.(text);
        // It does so with a callback, for a caller whose span has begun.
        if (!tracing || typeof given.at(-1) === 'function') return query(...given);
        const name = summaryOf(text);
        const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': name };
        return tracing.span({ name, kind: 'client', attributes, inner: true }, () => query(...given));
      },
    });
  };
  follow(pool);
  pool.on('connect', follow);
}

/** Undefined for a cursor, which sends its statements itself. */
function textOf(query: unknown): string | undefined {
  if (typeof query === 'string') return query;
  if (typeof query !== 'object' || query === null || 'submit' in query || !('text' in query)) return undefined;
  return typeof query.text === 'string' ? query.text : undefined;
}

const NAME = '((?:"?[a-z_]\\w*"?\\.)?"?[a-z_]\\w*)';
const TABLE = new RegExp(`\\b(?:from|into|update)\\s+(?:only\\s+)?${NAME}`, 'i');
const CHANGE = new RegExp(`(?<!for (?:no key )?)\\b(insert|update|delete)\\s+(?:(?:into|from|only)\\s+)?${NAME}`, 'i');

/**
 * `SELECT api_key`: the first word and the first table outside of brackets, or what a `with` changes (OpenTelemetry's `db.query.summary`).
 * A `?` replaces texts and brackets, so that no word after one is taken for a table.
 */
export function summaryOf(text: string): string {
  const plain = text.replaceAll(/'[^']*'/g, '?');
  let outer = plain;
  for (let inner = ''; inner !== outer; outer = outer.replaceAll(/\([^()]*\)/g, '?')) inner = outer;
  const verb = /[a-z]+/i.exec(outer)?.[0].toUpperCase() ?? 'STATEMENT';
  const change = verb === 'WITH' ? CHANGE.exec(plain) : null;
  const [, first = verb, second] = change ?? [undefined, verb, TABLE.exec(outer)?.[1]];
  return [first.toUpperCase(), ...(second ? [second.replaceAll('"', '')] : [])].join(' ');
}
