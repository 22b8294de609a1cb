import type { Pool } from 'pg';
import type { HttpHeaders } from '../http/messages.ts';
import { onStatement } from '../postgres/driver/statement-channels.ts';

/**
 * Traces requests from their arrival to SQL and to other servers. Without tracing there is no `Tracing` object, and its code is not loaded.
 * Spans contain only names of operations and tables, hosts and statuses, never values, SQL or error messages.
 */
export interface Tracing {
  /**
   * Runs `work` within a span, below that of its caller or, with `parent`, below the one in the headers (W3C Trace
   * Context). Without either it begins a new trace, unless it is `inner`. A failure is recorded and rethrown.
   */
  span<Result>(options: SpanOptions, work: (span: Span | undefined) => Promise<Result>): Promise<Result>;
  /** Sends the remaining spans, in bounded time. */
  close(): Promise<void>;
}

export interface SpanOptions {
  readonly name: string;
  /** `server` for incoming requests, `client` for outgoing ones. */
  readonly kind: 'server' | 'client' | 'internal';
  readonly attributes?: Readonly<Record<string, string | number>>;
  readonly parent?: HttpHeaders;
  readonly inner?: boolean;
}

export interface Span {
  readonly traceId: string;
  /** `traceparent` and `tracestate` for what is sent, whose parent the span is (W3C Trace Context). */
  readonly context: Readonly<Record<string, string>>;
  /** Adds attributes that are known only now. */
  set(attributes: Readonly<Record<string, string | number>>): void;
  rename(name: string): void;
  /** `type` is one of a few words, such as a status or a code. */
  fail(type: string): void;
}

/** Runs `work` within a span if tracing is enabled. */
export const traced = <Result>(
  tracing: Tracing | undefined,
  options: SpanOptions,
  work: (span: Span | undefined) => Promise<Result>,
): Promise<Result> => (tracing ? tracing.span(options, work) : work(undefined));

/** The attributes of a call of a tool (OpenTelemetry's conventions for MCP and for tools). */
export const toolAttributes = (name: string) => ({
  'mcp.method.name': 'tools/call',
  'gen_ai.operation.name': 'execute_tool',
  'gen_ai.tool.name': name,
});

/** Traces each statement on the connections of a pool, with a span that is named by its verb and table. */
export function traceStatements(pool: Pool, tracing: Tracing): void {
  onStatement(pool, ({ text, done }) => {
    const name = summaryOf(text);
    const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': name };
    // The caller handles its failure.
    tracing.span({ name, kind: 'client', attributes, inner: true }, () => done).catch(() => undefined);
  });
}

const NAME = '((?:"?[a-z_]\\w*"?\\.)?"?[a-z_]\\w*)';
const TABLE = new RegExp(`\\b(?:from|into|update)\\s+(?:only\\s+)?${NAME}`, 'i');
const CHANGE = new RegExp(`(?<!for (?:no key )?)\\b(insert|update|delete)\\s+(?:(?:into|from|only)\\s+)?${NAME}`, 'i');

/**
 * `SELECT api_key`: the verb and the first table outside of parentheses, or of the query in `from (…)`, or those of the change within a `with`
 * (OpenTelemetry's `db.query.summary`). Literals and parentheses become `?` first, so that no word after them is taken for a table.
 */
export function summaryOf(text: string): string {
  const plain = text.replaceAll(/'[^']*'/g, '?');
  const outer = withoutParentheses(plain);
  const verb = /[a-z]+/i.exec(outer)?.[0].toUpperCase() ?? 'STATEMENT';
  const change = verb === 'WITH' ? CHANGE.exec(plain) : null;
  const [, first = verb, second] = change ?? [undefined, verb, tableIn(outer) ?? tableIn(derivedTable(plain))];
  return [first.toUpperCase(), ...(second ? [second.replaceAll('"', '')] : [])].join(' ');
}

const tableIn = (text: string) => TABLE.exec(text)?.[1];

/** What follows the parenthesis of `from (…)`, without the parentheses in it. */
const derivedTable = (text: string) => withoutParentheses(/\bfrom\s*\((.*)/is.exec(text)?.[1] ?? '');

function withoutParentheses(text: string): string {
  let outer = text;
  let inner: string;
  do {
    inner = outer;
    outer = inner.replaceAll(/\([^()]*\)/g, '?');
  } while (outer !== inner);
  return outer;
}
