import { afterEach, expect, test } from 'vitest';
import { useOwnGateway } from '../support/fixtures/gateway.ts';
import { countWaitingForLock, untilWaitingForLock } from '../support/fixtures/locks.ts';
import { expectNoHalfDeletedSession, remainingData, seedAccount } from '../support/fixtures/user-deletions.ts';
import { full } from '../support/proof.ts';
import {
  type WorkerProcess,
  dueJobs,
  expireHeartbeats,
  skipRetryDelay,
  startWorkerProcess,
} from '../support/processes/jobs.ts';

const gateway = useOwnGateway();
const processes: WorkerProcess[] = [];
const barriers: Barrier[] = [];
afterEach(async () => {
  for (const barrier of barriers.splice(0)) await barrier.open();
  for (const worker of processes.splice(0)) await worker.end('SIGKILL');
});

const rows = <Row extends object>(text: string, ...values: unknown[]) =>
  gateway.dependencies.sql.query<Row>(text, values);

async function startWorker(): Promise<WorkerProcess> {
  const worker = await startWorkerProcess(gateway);
  processes.push(worker);
  return worker;
}

/** An arbitrary key for an advisory lock. */
const BATCH_LOCK = 7_340_034;
const DELETED = ['session', 'session_event', 'event_definition', 'organization', 'user_account', 'deleted_session'];

interface Barrier {
  /** Lets the waiting batch commit. The next batch waits in the middle of its transaction. */
  step(): Promise<void>;
  open(): Promise<void>;
}

/** Makes every deleting statement wait in its transaction until the test releases it, so that the test can kill the worker there. */
async function stopAtEachBatch(): Promise<Barrier> {
  await rows(
    `create or replace function wait_for_test() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock_shared(${BATCH_LOCK}); return null; end $$`,
  );
  for (const table of DELETED)
    await rows(
      `create or replace trigger wait_for_test after delete on ${table} for each statement execute function wait_for_test()`,
    );
  const hold = async () => {
    const em = gateway.dependencies.database.em.fork();
    await em.begin();
    // The lock is held until a worker has started and taken over the job, which takes long on a busy machine.
    await em.execute('set local idle_in_transaction_session_timeout = 0');
    return { em, held: em.execute('select pg_advisory_xact_lock(?)', [BATCH_LOCK]) };
  };
  let current = await hold();
  await current.held;
  const barrier: Barrier = {
    async step() {
      await untilWaitingForLock(gateway, 1, 'advisory');
      // This lock is queued after the waiting batch and before the next one.
      const next = await hold();
      await untilWaitingForLock(gateway, 2, 'advisory');
      await current.em.rollback();
      await next.held;
      current = next;
    },
    async open() {
      if (current.em.isInTransaction()) await current.em.rollback();
    },
  };
  barriers.push(barrier);
  return barrier;
}

/** Waits until PostgreSQL has ended the statements of the killed worker. */
async function untilIdle(): Promise<void> {
  const active = `select 1 from pg_stat_activity where datname = current_database() and backend_type = 'client backend' and state = 'active' and pid <> pg_backend_pid()`;
  await expect.poll(() => rows(active)).toEqual([]);
}

test('the deletion of an account is completed exactly once, however often its worker is killed', async () => {
  const { user, alone, colleague } = await seedAccount(gateway);
  const answer = await gateway.rest<{ deletionJobId: string }>('DELETE', `/v1/users/${user.userId}`, {
    key: user.key,
  });
  expect(answer.status).toBe(202);
  const job = async () =>
    (
      await rows<{ state: string; is_finished: boolean }>(
        'select state, finished_at is not null as is_finished from deletion_job where id = $1',
        answer.body.deletionJobId,
      )
    )[0];
  const remaining = () => remainingData(gateway, alone);
  // In the order of their deletion.
  const kinds = full ? (['sessions', 'definitions', 'events', 'events'] as const) : (['sessions', 'events'] as const);
  for (const kind of kinds) {
    const before = (await remaining())[kind];
    const barrier = await stopAtEachBatch();
    const worker = await startWorker();
    await expect
      .poll(async () => {
        await skipRetryDelay(gateway);
        // The folding of sessions that the batch deletes waits for it.
        return countWaitingForLock(gateway, 'advisory');
      })
      .toBe(1);
    for (let steps = 0; (await remaining())[kind] === before && steps < 20; steps += 1) await barrier.step();
    expect((await remaining())[kind]).toBeLessThan(before);
    await untilWaitingForLock(gateway, 1, 'advisory');
    await worker.end('SIGKILL');
    await barrier.open();
    await expectNoHalfDeletedSession(gateway);
    expect(await job()).toEqual({ state: 'running', is_finished: false });
    // The account and its memberships are deleted first.
    expect(await rows('select email, name from user_account where id = $1', user.userId)).toEqual([
      { email: null, name: null },
    ]);
    expect(await rows('select 1 from membership where user_id = $1', user.userId)).toEqual([]);
    expect((await gateway.rest('DELETE', `/v1/users/${user.userId}`, { key: user.key })).status).toBe(401);
    await untilIdle();
    await expireHeartbeats(gateway);
  }
  expect((await remaining()).events).toBeGreaterThan(0);
  const last = await startWorker();
  await expect
    .poll(async () => {
      await skipRetryDelay(gateway);
      return [await remaining(), await job(), await dueJobs(gateway)];
    })
    .toEqual([{ sessions: 0, definitions: 0, events: 0 }, { state: 'done', is_finished: true }, 0]);
  expect(await last.end('SIGTERM')).toBe(0);
  await expectNoHalfDeletedSession(gateway);
  expect(await remainingData(gateway, alone)).toEqual({ sessions: 0, definitions: 0, events: 0 });
  expect(await rows('select session_id from deleted_session')).toEqual([]);
  expect(await rows('select id from user_account where id = $1', user.userId)).toEqual([]);
  expect(
    await rows('select id from organization where id = any($1)', [alone.organizationId, colleague.organizationId]),
  ).toEqual([{ id: colleague.organizationId }]);
  expect(await rows('select state, retry_count from pgboss.job where id = $1', answer.body.deletionJobId)).toEqual([
    { state: 'completed', retry_count: kinds.length },
  ]);
});
