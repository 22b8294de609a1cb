import type { EntityManager } from '@mikro-orm/postgresql';
import { type KyselyTransactionLike, PgBoss, type QueueOptions, type QueuePolicy, fromKysely } from 'pg-boss';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { WorkContext } from './operation.ts';
import { DatabaseClient } from './postgres/driver/client.ts';
import { DatabaseAddress } from './postgres/driver/database-address.ts';
import { PROCESS_NAME } from './version.ts';

/**
 * Background jobs: pg-boss queues in PostgreSQL, in the schema `pgboss`. A job is enqueued by the transaction that needs it, and run by any
 * process. If a worker dies, another one runs the job again, so every job must tolerate being restarted from its beginning at any point.
 */

/** All queues. A new one is created by the next migration of the database. */
export const QUEUES = [
  'user-deletion',
  'organization-deletion',
  'event-purge',
  'object-deletion',
  'member-data-deletion',
  'organization-redaction',
  'session-purge',
  'retention',
  'maintenance',
  'mcp-refresh',
  'mcp-token-revocation',
  'feed-occurrences',
  'webhook-addresses',
  'idle-sessions',
] as const;
export type Queue = (typeof QUEUES)[number];

export interface JobContext extends WorkContext {
  readonly log: Logger;
  /** Aborts when the process stops or another worker has taken over the job. A job then ends at its next safe point. */
  readonly signal: AbortSignal;
}

export interface JobHandler<Data extends z.core.$ZodType = z.core.$ZodType> {
  readonly queue: Queue;
  readonly data: Data;
  /** Cron schedule (five fields, UTC), shared by all processes. A missed run is caught up once. */
  readonly schedule?: string;
  /** If it throws, the job is retried with growing pauses until it succeeds. All attempts have the same job id. */
  readonly run: (context: JobContext, data: z.output<Data>, jobId: string) => Promise<void>;
}

/** Checks the type of the data while a handler is written, and erases it for the list of handlers. */
export const jobHandler = <Data extends z.core.$ZodType>(handler: JobHandler<Data>): JobHandler => handler;

const QUEUE_OPTIONS = {
  // Jobs are never given up, only retried less and less often.
  retryLimit: 2_147_483_647,
  retryDelay: 1,
  retryBackoff: true,
  retryDelayMax: 300,
  retentionSeconds: 10 * 365 * 86_400,
  // A worker that sends no heartbeat for this long counts as dead. A job may take a day as long as its worker sends heartbeats.
  heartbeatSeconds: 20,
  expireInSeconds: 86_400 - 1,
};
/** Recurring jobs: one at a time is enough, and nobody reads their result. */
const RECURRING = { ...QUEUE_OPTIONS, policy: 'exclusive', deleteAfterSeconds: 86_400 };
const OPTIONS: Partial<Record<Queue, QueueOptions & { policy?: QueuePolicy }>> = {
  maintenance: RECURRING,
  retention: RECURRING,
  'mcp-refresh': RECURRING,
  'feed-occurrences': RECURRING,
  'webhook-addresses': RECURRING,
  'idle-sessions': RECURRING,
};
/** Seconds between two searches for jobs of dead workers. */
const SUPERVISE_SECONDS = 20;
/** Of an instance that runs no jobs. */
export const PASSIVE = { supervise: false, schedule: false, registerInstance: false } as const;

export const optionsOf = (queue: Queue) => OPTIONS[queue] ?? QUEUE_OPTIONS;

export interface NewJob {
  /** Chosen by the caller. If a job with this id exists, it is left unchanged. */
  readonly id: string;
  readonly data: object;
  readonly delaySeconds: number;
}

/** Enqueues a job in the transaction of the caller. */
export async function enqueueJob(em: EntityManager, queue: Queue, { id, data, delaySeconds }: NewJob): Promise<void> {
  await within(em).send(queue, data, { id, startAfter: delaySeconds });
}

/** Removes a job that has not begun from its queue, in the transaction of the caller. */
export async function cancelJob(em: EntityManager, queue: Queue, id: string): Promise<void> {
  await within(em).cancel(queue, id);
}

/** pg-boss on the connection of a transaction. It is never started, so it has no timers and no other connection. */
function within(em: EntityManager): PgBoss {
  const transaction = em.getTransactionContext<KyselyTransactionLike>();
  if (!transaction) throw new Error('jobs are enqueued and cancelled inside of a transaction');
  return new PgBoss({ ...PASSIVE, db: fromKysely(transaction) });
}

export interface JobWorkerOptions {
  readonly url: string;
  readonly handlers: readonly JobHandler[];
  /** Creates the context of one job, with its own unit of work. */
  readonly contextOf: (signal: AbortSignal) => JobContext;
  /** Jobs that are taken earlier wait for it. */
  readonly ready?: Promise<void> | undefined;
  readonly log: Logger;
  /** Interval in which each queue is polled; at least 500. */
  readonly pollMs: number;
  /** Called with errors of the queue, for example when the database is away. */
  readonly onError?: (error: unknown) => void;
  /** Called after every run of a job. */
  readonly observe?: ObserveRun;
}

export type ObserveRun = (queue: Queue, run: () => Promise<void>) => Promise<void>;

export interface JobWorker {
  /** Starts no more jobs, and returns running ones to the queue at their next safe point. */
  stop(): Promise<void>;
}

/** Runs jobs until it is stopped, on two separate connections. */
export async function startJobWorker({
  url,
  handlers,
  contextOf,
  ready,
  log,
  pollMs,
  onError,
  observe = (_, run) => run(),
}: JobWorkerOptions): Promise<JobWorker> {
  const boss = createBoss(url, handlers);
  // Some errors of pg-boss are plain copies.
  const report = (given: Error) => {
    const error = given instanceof Error ? given : Object.assign(new Error(), given);
    onError?.(error);
    log.warn({ err: error }, 'job queue');
  };
  boss.on('error', report);
  boss.on('warning', ({ message, data }) => log.warn({ data }, message));
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  const stop = async () => {
    stopping.abort(new Error('the process stops'));
    await Promise.allSettled(running);
    await boss.stop({ graceful: false });
  };
  const work = async (handler: JobHandler) => {
    const { queue, schedule } = handler;
    await boss.work(queue, { pollingIntervalSeconds: pollMs / 1000 }, async ([job]) => {
      if (!job) return;
      await ready;
      const context = contextOf(AbortSignal.any([stopping.signal, job.signal]));
      const run = observe(queue, () => runJob(handler, job.id, job.data, context));
      running.add(run);
      await run.finally(() => running.delete(run));
    });
    if (schedule !== undefined) await boss.schedule(queue, schedule, null, { missed: 'once' });
  };
  try {
    await boss.start();
    for (const handler of handlers) await work(handler);
  } catch (error) {
    await stop().catch(report);
    throw error;
  }
  // A process often starts because another one has died.
  void boss.supervise().catch(report);
  return { stop };
}

function createBoss(url: string, handlers: readonly JobHandler[]): PgBoss {
  // It passes these on to its pool.
  const address = new DatabaseAddress(url);
  const options = { address: () => address, Client: DatabaseClient };
  return new PgBoss({
    ...options,
    application_name: `${PROCESS_NAME} jobs`,
    max: 2,
    schedule: handlers.some(({ schedule }) => schedule !== undefined),
    superviseIntervalSeconds: SUPERVISE_SECONDS,
    monitorIntervalSeconds: SUPERVISE_SECONDS,
  });
}

async function runJob(
  { queue, data: schema, run }: JobHandler,
  id: string,
  data: unknown,
  context: JobContext,
): Promise<void> {
  const { log, signal } = context;
  try {
    await run(context, z.parse(schema, data), id);
    // Recurring jobs are logged only if they did something.
    log[OPTIONS[queue] === RECURRING ? 'debug' : 'info']({ queue, jobId: id }, 'job done');
  } catch (error) {
    if (signal.aborted) log.info({ queue, jobId: id }, 'job interrupted');
    else log.error({ err: error, queue, jobId: id }, 'job failed; it is tried again');
    throw error;
  }
}
