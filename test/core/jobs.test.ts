import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  type JobHandler,
  type JobWorker,
  cancelJob,
  enqueueJob,
  jobHandler,
  startJobWorker,
} from '../../src/core/jobs.ts';
import { migrate } from '../../src/core/postgres/migrations.ts';
import { workContext } from '../../src/gateway/contexts.ts';
import { startTestGateway, useOwnGateway } from '../support/fixtures/gateway.ts';
import { dueJobs } from '../support/processes/jobs.ts';

const gateway = useOwnGateway();

const workers: JobWorker[] = [];
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.stop();
  await rows('delete from pgboss.job');
});

const rows = <Row extends object>(text: string, ...values: unknown[]) =>
  gateway.dependencies.sql.query<Row>(text, values);
const stateOf = async (id: string) =>
  (await rows<{ state: string }>('select state from pgboss.job where id = $1', id))[0]?.state;

/** Starts a worker in this process that calls `run` for every job. */
async function work(run: JobHandler['run'], data: z.ZodType = z.unknown()): Promise<JobWorker> {
  const { log } = gateway.dependencies;
  const worker = await startJobWorker({
    url: gateway.databaseUrl,
    handlers: [jobHandler({ queue: 'user-deletion', data, run })],
    contextOf: (signal) => ({ ...workContext(gateway.dependencies), log, signal }),
    log,
    pollMs: 500,
  });
  workers.push(worker);
  return worker;
}

async function enqueue(data: object = {}, delaySeconds = 0, { dependencies } = gateway): Promise<string> {
  const id = randomUUID();
  await dependencies.database.em
    .fork()
    .transactional((em) => enqueueJob(em, 'user-deletion', { id, data, delaySeconds }));
  return id;
}

describe('a queue', () => {
  test('receives a job when the transaction commits, and none when it is rolled back', async () => {
    const id = randomUUID();
    const seen: unknown[] = [];
    const attempt = gateway.dependencies.database.em.fork().transactional(async (em) => {
      await enqueueJob(em, 'user-deletion', { id, data: {}, delaySeconds: 0 });
      seen.push(await stateOf(id));
      throw new Error('no');
    });
    await expect(attempt).rejects.toThrow('no');
    expect([...seen, await stateOf(id)]).toEqual([undefined, undefined]);
    expect(await stateOf(await enqueue())).toBe('created');
  });

  test('contains each job id once, and drops a canceled job', async () => {
    const id = await enqueue({ first: true });
    await gateway.dependencies.database.em
      .fork()
      .transactional((em) => enqueueJob(em, 'user-deletion', { id, data: {}, delaySeconds: 0 }));
    expect(await rows('select data from pgboss.job where id = $1', id)).toEqual([{ data: { first: true } }]);
    await gateway.dependencies.database.em.fork().transactional((em) => cancelJob(em, 'user-deletion', id));
    expect([await stateOf(id), await dueJobs(gateway)]).toEqual(['cancelled', 0]);
  });

  test('accepts jobs only inside of a transaction', async () => {
    await expect(
      enqueueJob(gateway.dependencies.database.em.fork(), 'user-deletion', {
        id: randomUUID(),
        data: {},
        delaySeconds: 0,
      }),
    ).rejects.toThrow('inside of a transaction');
  });

  test('is created once by concurrent processes, and its waiting jobs are kept', async () => {
    const fresh = await startTestGateway();
    try {
      const { database, sql } = fresh.dependencies;
      const migrateAtOnce = () => Promise.all(Array.from({ length: 8 }, () => migrate(database)));
      await sql.query('drop schema pgboss cascade', []);
      await migrateAtOnce();
      const id = await enqueue({}, 0, fresh);
      await migrateAtOnce();
      expect(
        await sql.query('select name, retry_limit, heartbeat_seconds from pgboss.queue order by name', []),
      ).toEqual([
        { name: 'event-purge', retry_limit: 2_147_483_647, heartbeat_seconds: 20 },
        { name: 'feed-occurrences', retry_limit: 2_147_483_647, heartbeat_seconds: 20 },
        { name: 'idle-sessions', retry_limit: 2_147_483_647, heartbeat_seconds: 20 },
        { name: 'maintenance', retry_limit: 2_147_483_647, heartbeat_seconds: 20 },
        { name: 'mcp-refresh', retry_limit: 2_147_483_647, heartbeat_seconds: 20 },
        { name: 'mcp-token-revocation', retry_limit: 2_147_483_647, heartbeat_seconds: 20 },
        { name: 'member-data-deletion', retry_limit: 2_147_483_647, heartbeat_seconds: 20 },
        { name: 'object-deletion', retry_limit: 2_147_483_647, heartbeat_seconds: 20 },
        { name: 'organization-deletion', retry_limit: 2_147_483_647, heartbeat_seconds: 20 },
        { name: 'organization-redaction', retry_limit: 2_147_483_647, heartbeat_seconds: 20 },
        { name: 'retention', retry_limit: 2_147_483_647, heartbeat_seconds: 20 },
        { name: 'session-purge', retry_limit: 2_147_483_647, heartbeat_seconds: 20 },
        { name: 'user-deletion', retry_limit: 2_147_483_647, heartbeat_seconds: 20 },
        { name: 'webhook-addresses', retry_limit: 2_147_483_647, heartbeat_seconds: 20 },
      ]);
      expect(await sql.query('select id, state from pgboss.job', [])).toEqual([{ id, state: 'created' }]);
    } finally {
      await fresh.close();
    }
  });
});

describe('a worker', () => {
  test('runs each job once with its data, also if there are several workers', async () => {
    const done: unknown[] = [];
    const run = async (_: unknown, data: unknown) => void done.push(data);
    const ids = await Promise.all([1, 2, 3].map((n) => enqueue({ n })));
    await Promise.all([work(run, z.strictObject({ n: z.int() })), work(run, z.strictObject({ n: z.int() }))]);
    await expect.poll(() => dueJobs(gateway)).toBe(0);
    expect(done.toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))).toEqual([
      { n: 1 },
      { n: 2 },
      { n: 3 },
    ]);
    expect(await Promise.all(ids.map(stateOf))).toEqual(['completed', 'completed', 'completed']);
  });

  test('does not run a job before it is due', async () => {
    const [late, due] = [await enqueue({}, 3600), await enqueue()];
    await work(async () => undefined);
    await expect.poll(() => stateOf(due)).toBe('completed');
    expect(await stateOf(late)).toBe('created');
  });

  test('retries a failed job and logs the error', async () => {
    let attempts = 0;
    const id = await enqueue();
    await work(async () => {
      attempts += 1;
      if (attempts === 1) throw new Error('the first attempt fails');
    });
    await expect.poll(() => stateOf(id)).toBe('completed');
    expect(attempts).toBe(2);
    expect(gateway.logged.filter((line) => line.includes('the first attempt fails') && line.includes(id))).toHaveLength(
      1,
    );
  });

  test('interrupts its job when it stops, and the next worker runs that job', async () => {
    const id = await enqueue();
    const begun = Promise.withResolvers<void>();
    const first = await work(async ({ signal }) => {
      begun.resolve();
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('interrupted'))));
    });
    await begun.promise;
    await first.stop();
    expect(await stateOf(id)).toBe('retry');
    await work(async () => undefined);
    await expect.poll(() => stateOf(id)).toBe('completed');
  });
});
