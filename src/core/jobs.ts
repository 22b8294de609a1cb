import type { EntityManager } from '@mikro-orm/postgresql';
import { type KyselyTransactionLike, PgBoss, type QueueOptions, type QueuePolicy, fromKysely } from 'pg-boss';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { z } from 'zod';
import type { WorkContext } from './operation.ts';

/**
 * Work that outlives its request: pg-boss's queues in PostgreSQL, in the schema `pgboss`. A job is enqueued by the transaction that asks for
 * it, and worked off by any process. A worker may die at any point, and then another one runs the job again: so a job is written to be run
 * again, from its beginning, at whatever point it was left.
 */

/** Every queue; a new one is created when the database is next migrated. */
export const QUEUES = [
  'user-deletion',
  'organization-deletion',
  'event-purge',
  'maintenance',
  'mcp-refresh',
  'mcp-token-revocation',
] as const;
export type Queue = (typeof QUEUES)[number];

/** What jobs work with. */
export interface JobContext extends WorkContext {
  readonly log: Logger;
  /** Aborts when the process stops, or another worker has the job now: a job ends at its next safe point. */
  readonly signal: AbortSignal;
}

/** What a noun does with the jobs of a queue. */
export interface JobHandler<Data extends z.ZodType = z.ZodType> {
  readonly queue: Queue;
  readonly data: Data;
  /** When a job comes to be by itself, once over all processes: five fields of cron, in UTC. Made up for once when none ran then. */
  readonly schedule?: string;
  /** A job that throws is tried again, ever more rarely, for as long as it takes. */
  readonly run: (context: JobContext, data: z.output<Data>) => Promise<void>;
}

/** Keeps the type of the data while a handler is written, and lets it go for the list. */
export function jobHandler<Data extends z.ZodType>(handler: JobHandler<Data>): JobHandler {
  return handler;
}

const QUEUE_OPTIONS = {
  // What was promised is done in the end: jobs are never given up, only tried less and less often.
  retryLimit: 2_147_483_647,
  retryDelay: 1,
  retryBackoff: true,
  retryDelayMax: 300,
  retentionSeconds: 10 * 365 * 86_400,
  // A worker that is not heard of for so long is dead; one that is heard of may take a day.
  heartbeatSeconds: 20,
  expireInSeconds: 86_400 - 1,
};
/** Of what comes again and again, one job at a time is enough, and nobody asks what became of it. */
const RECURRING = { ...QUEUE_OPTIONS, policy: 'exclusive', deleteAfterSeconds: 86_400 };
const OPTIONS: Partial<Record<Queue, QueueOptions & { policy?: QueuePolicy }>> = {
  maintenance: RECURRING,
  'mcp-refresh': RECURRING,
};
/** Looks for jobs of dead workers this often. */
const SUPERVISE_SECONDS = 20;
/** Any constant will do, as long as every process takes the same. */
const MIGRATION_LOCK = 3_360_217_845;
const PASSIVE = { supervise: false, schedule: false } as const;

/** Creates pg-boss's schema and the queues, or brings them up to date. Safe to run in many processes at once. */
export async function migrateJobs(pool: Pool): Promise<void> {
  // pg-boss itself fails now and then when two processes install it at once.
  const lock = await pool.connect();
  try {
    await lock.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await install(new PgBoss({ ...PASSIVE, db: { executeSql: (text, values) => pool.query(text, values) } }));
    await lock.query('select pg_advisory_unlock($1)', [MIGRATION_LOCK]);
    lock.release();
  } catch (error) {
    // The lock ends with its connection.
    lock.release(true);
    throw error;
  }
}

async function install(boss: PgBoss): Promise<void> {
  boss.on('error', () => undefined);
  await boss.start();
  try {
    const existing = new Set((await boss.getQueues([...QUEUES])).map(({ name }) => name));
    for (const queue of QUEUES)
      if (!existing.has(queue)) await boss.createQueue(queue, OPTIONS[queue] ?? QUEUE_OPTIONS);
  } finally {
    await boss.stop({ graceful: false });
  }
}

export interface NewJob {
  /** Chosen by the caller; a job of this id that exists already stays as it is. */
  readonly id: string;
  readonly data: object;
  readonly delaySeconds: number;
}

/** Puts a job on a queue, as part of the caller's transaction: both come to be, or neither. */
export async function enqueueJob(em: EntityManager, queue: Queue, { id, data, delaySeconds }: NewJob): Promise<void> {
  await within(em).send(queue, data, { id, startAfter: delaySeconds });
}

/** Takes a job that has not begun off its queue, as part of the caller's transaction. */
export async function cancelJob(em: EntityManager, queue: Queue, id: string): Promise<void> {
  await within(em).cancel(queue, id);
}

/** pg-boss on the connection of a transaction. It was never started, so it has no timers and no own connection. */
function within(em: EntityManager): PgBoss {
  const transaction = em.getTransactionContext<KyselyTransactionLike>();
  if (!transaction) throw new Error('jobs are enqueued and cancelled inside of a transaction');
  return new PgBoss({ ...PASSIVE, db: fromKysely(transaction) });
}

export interface JobWorkerOptions {
  readonly url: string;
  readonly handlers: readonly JobHandler[];
  /** The context of one job, with its own unit of work. */
  readonly contextOf: (signal: AbortSignal) => JobContext;
  readonly log: Logger;
  /** How often each queue is looked at; 500 at least. */
  readonly pollMs: number;
  /** Sees errors of the queue, such as that the database is away. */
  readonly onError?: (error: unknown) => void;
  /** Sees every run with what comes of it. */
  readonly observe?: ObserveRun;
}

export type ObserveRun = (queue: Queue, run: () => Promise<void>) => Promise<void>;

export interface JobWorker {
  /** Takes no more jobs, and gives those that run back to the queue at their next safe point. */
  stop(): Promise<void>;
}

/** Works off the queues until it is stopped, on two separate connections. */
export async function startJobWorker({
  url,
  handlers,
  contextOf,
  log,
  pollMs,
  onError,
  observe = (_, run) => run(),
}: JobWorkerOptions): Promise<JobWorker> {
  const boss = createBoss(url, handlers);
  // Some come as plain copies of errors.
  const report = (given: Error) => {
    const error = given instanceof Error ? given : Object.assign(new Error(), given);
    onError?.(error);
    log.warn({ err: error }, 'job queue');
  };
  boss.on('error', report);
  boss.on('warning', ({ message, data }) => log.warn({ data }, message));
  await boss.start();
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  for (const handler of handlers) {
    await boss.work(handler.queue, { pollingIntervalSeconds: pollMs / 1000 }, async ([job]) => {
      if (!job) return;
      const context = contextOf(AbortSignal.any([stopping.signal, job.signal]));
      const run = observe(handler.queue, () => runJob(handler, job.id, job.data, context));
      running.add(run);
      await run.finally(() => running.delete(run));
    });
    if (handler.schedule !== undefined) await boss.schedule(handler.queue, handler.schedule, null, { missed: 'once' });
  }
  // A process that starts often follows one that has died.
  void boss.supervise().catch(report);
  return {
    async stop() {
      stopping.abort(new Error('the process stops'));
      await Promise.allSettled(running);
      await boss.stop({ graceful: false });
    },
  };
}

function createBoss(url: string, handlers: readonly JobHandler[]): PgBoss {
  return new PgBoss({
    connectionString: url,
    application_name: 'gateway jobs',
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
    await run(context, schema.parse(data));
    // A recurring job says what it has done where it has done something.
    log[OPTIONS[queue] === RECURRING ? 'debug' : 'info']({ queue, jobId: id }, 'job done');
  } catch (error) {
    if (signal.aborted) log.info({ queue, jobId: id }, 'job interrupted');
    else log.error({ err: error, queue, jobId: id }, 'job failed; it is tried again');
    throw error;
  }
}
