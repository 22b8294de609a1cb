import { sql } from 'kysely';
import type { HttpAnswer } from '../../core/http/messages.ts';
import type { ObserveRun, Queue } from '../../core/jobs.ts';
import { type ObserveExchange, OutboundError } from '../../core/outbound/outbound.ts';
import { queriesOn } from '../../core/postgres/reading/queries.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import { type Tracing, traced } from '../../core/tracing/tracing.ts';
import type { Metrics } from './metrics.ts';

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
export function observeOutbound({ metrics, tracing }: Observers): ObserveExchange {
  return ({ method, host }, send) =>
    traced(
      tracing,
      { name: method, kind: 'client', attributes: { 'http.request.method': method, 'server.address': host } },
      (span) =>
        timed(send, (seconds, end) => {
          if ('result' in end) span?.set({ 'http.response.status_code': end.result.status });
          metrics.outbound.observe({ outcome: outcomeOf(end) }, seconds);
        }),
    );
}

function outcomeOf(end: { result: { readonly status: number } } | { error: unknown }): string {
  if ('result' in end) return `${Math.floor(end.result.status / 100)}xx`;
  return end.error instanceof OutboundError && !end.error.isTemporary ? 'refused' : 'failed';
}

export function observeJobs({ metrics, tracing }: Observers): ObserveRun {
  return (queue, run) =>
    traced(tracing, { name: `job ${queue}`, kind: 'internal' }, () =>
      timed(run, (seconds, end) =>
        metrics.jobRuns.observe({ queue, outcome: 'error' in end ? 'failed' : 'done' }, seconds),
      ),
    );
}

interface JobCount {
  readonly queue: Queue;
  readonly state: string;
  readonly count: number;
  /** Longest waiting time of a due job; negative when no job is due yet. */
  readonly waitSeconds: number;
}

/** The columns of the pg-boss table that are read here. */
interface JobTables {
  readonly 'pgboss.job': { readonly name: Queue; readonly state: string; readonly start_after: string };
}

export function countJobs(reader: Sql): Promise<JobCount[]> {
  return reader.all(
    queriesOn<JobTables>()
      .selectFrom('pgboss.job')
      .select(['name as queue', 'state', ({ fn }) => fn.countAll<number>().as('count')])
      .select(sql<number>`extract(epoch from now() - min(start_after))::float8`.as('waitSeconds'))
      .where('state', 'in', ['created', 'retry', 'active'])
      .groupBy(['name', 'state']),
  );
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
