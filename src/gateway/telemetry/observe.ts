import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { HttpAnswer } from '../../core/http/messages.ts';
import type { ObserveRun, Queue } from '../../core/jobs.ts';
import { type ObserveExchange, OutboundError } from '../../core/outbound/outbound.ts';
import { queriesOn } from '../../core/postgres/reading/queries.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import { type Tracing, traced } from '../../core/tracing/tracing.ts';
import type { Metrics } from './metrics.ts';
import { MCP_PROBLEMS, type McpObserver } from '../../core/mcp-observer.ts';
import type { Owner, PoolObserver } from '../../core/fair-shares.ts';

/** Metrics and, if enabled, tracing. */
export interface Observers {
  readonly metrics: Metrics;
  readonly tracing: Tracing | undefined;
}

async function timed<Result>(
  work: () => Promise<Result>,
  observe: (seconds: number, end: { result: Result } | { error: unknown }) => void,
): Promise<Result> {
  const began = performance.now();
  const since = () => (performance.now() - began) / 1000;
  try {
    const result = await work();
    observe(since(), { result });
    return result;
  } catch (error) {
    observe(since(), { error });
    throw error;
  }
}

/** Observes requests to other servers. Only the host of the URL is recorded. */
export const observeOutbound =
  ({ metrics, tracing }: Observers): ObserveExchange =>
  ({ method, host }, send) =>
    traced(
      tracing,
      { name: method, kind: 'client', attributes: { 'http.request.method': method, 'server.address': host } },
      (span) =>
        timed(
          () => send(span?.context ?? {}),
          (seconds, end) => {
            if ('result' in end) span?.set({ 'http.response.status_code': end.result.status });
            metrics.outbound.observe({ outcome: outcomeOf(end) }, seconds);
          },
        ),
    );

function outcomeOf(end: { result: { readonly status: number } } | { error: unknown }): string {
  if ('result' in end) return `${Math.floor(end.result.status / 100)}xx`;
  return end.error instanceof OutboundError && !end.error.isTemporary ? 'refused' : 'failed';
}

export const observeJobs =
  ({ metrics, tracing }: Observers): ObserveRun =>
  (queue, run) =>
    traced(tracing, { name: `job ${queue}`, kind: 'internal' }, () =>
      timed(run, (seconds, end) =>
        metrics.jobRuns.observe({ queue, outcome: 'error' in end ? 'failed' : 'done' }, seconds),
      ),
    );

interface JobCount {
  readonly queue: Queue;
  readonly state: string;
  readonly count: number;
  /** Longest waiting time of a due job; negative when no job is due yet. */
  readonly waitSeconds: number;
}

/** The columns of the pg-boss tables that are read here. */
interface JobTables {
  readonly 'pgboss.job': { readonly name: Queue; readonly state: string; readonly start_after: string };
  readonly 'pgboss.instance': { readonly supervise: boolean; readonly heartbeat_on: string };
}

export const countJobs = (reader: Sql): Promise<JobCount[]> =>
  reader.all(
    queriesOn<JobTables>()
      .selectFrom('pgboss.job')
      .select(['name as queue', 'state', ({ fn }) => fn.countAll<number>().as('count')])
      .select(sql<number>`extract(epoch from now() - min(start_after))::float8`.as('waitSeconds'))
      .where('state', 'in', ['created', 'retry', 'active'])
      .groupBy(['name', 'state']),
  );

/** The last heartbeat of a process that runs jobs, in seconds since 1970; 0 if there was none. */
export async function lastHeartbeat(reader: Sql): Promise<number> {
  const row = await reader.first(
    queriesOn<JobTables>()
      .selectFrom('pgboss.instance')
      .select(sql<number>`coalesce(extract(epoch from max(heartbeat_on)), 0)::float8`.as('seconds'))
      .where('supervise', '=', true),
  );
  return row?.seconds ?? 0;
}

/** Counts a streamed answer as open from its first part to its end. */
export function whileOpen(answer: HttpAnswer, change: (by: 1 | -1) => void): HttpAnswer {
  const { body } = answer;
  if (body === null || typeof body === 'string' || body instanceof Uint8Array) return answer;
  return {
    ...answer,
    body: {
      [Symbol.asyncIterator]() {
        const pieces = body[Symbol.asyncIterator]();
        let isOpen = true;
        change(1);
        const end = () => {
          if (isOpen) change(-1);
          isOpen = false;
        };
        return {
          next: () =>
            pieces.next().then(
              (piece) => {
                if (piece.done) end();
                return piece;
              },
              (error: unknown) => {
                end();
                throw error;
              },
            ),
          return: async (value?: unknown) => {
            end();
            return (await pieces.return?.(value)) ?? { done: true, value };
          },
        };
      },
    },
  };
}

const MAX_CONNECTIONS = 10_000;
/** A problem that lasts is logged again after this time. */
const LOG_INTERVAL_MS = 24 * 3_600_000;

/** Counts everything, and logs one line for each problem of a connection. */
export function createMcpObserver({ metrics, log }: { readonly metrics: Metrics; readonly log: Logger }): McpObserver {
  const logged = new LRUCache<string, true>({ max: MAX_CONNECTIONS, ttl: LOG_INTERVAL_MS });
  return {
    refreshEnded: (outcome) => metrics.mcpRefreshes.inc({ outcome }),
    problemFound: (problem, { connectionId, host }) => {
      metrics.mcpProblems.inc({ problem });
      const key = `${connectionId} ${problem}`;
      if (logged.has(key)) return;
      logged.set(key, true);
      log.warn({ connectionId, host, problem }, `${host} ${MCP_PROBLEMS[problem]}`);
    },
  };
}

interface Parts {
  readonly metrics: Pick<Metrics, 'slotsWaiting' | 'slotWaits' | 'slotRefusals'>;
  readonly log: Pick<Logger, 'warn'>;
}

const MINUTE_MS = 60_000;

/** Counts what waits for slots, and names in the log who has to, once a minute. */
export function createPoolObserver({ metrics, log }: Parts): PoolObserver {
  const named = new LRUCache<string, true>({ max: 1_000, ttl: MINUTE_MS });
  return {
    onWait(pool, owner) {
      metrics.slotsWaiting.inc({ pool });
      const names = namesOf(owner);
      const key = Object.values(names).join(' ');
      if (named.has(key)) return;
      named.set(key, true);
      log.warn({ pool, ...names }, 'more at once than fits; what is beyond waits');
    },
    onWaited(pool, { ms, isRefused }) {
      metrics.slotsWaiting.dec({ pool });
      metrics.slotWaits.observe({ pool }, ms / 1000);
      if (isRefused) metrics.slotRefusals.inc({ pool });
    },
  };
}

function namesOf({ kind, person, organization }: Owner): Readonly<Record<string, string>> {
  if (kind === 'organization') return { organizationId: organization };
  if (kind === 'person') return { userId: person, organizationId: organization };
  // A credential is a secret.
  return { clientAddress: kind === 'address' ? person : organization };
}
