import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  type JobHandler,
  type JobWorker,
  cancelJob,
  enqueueJob,
  jobHandler,
  migrateJobs,
  startJobWorker,
} from '../src/core/jobs.ts';
import { startJobs } from '../src/gateway/jobs.ts';
import { type TestGateway, startTestGateway } from './helpers/gateway.ts';
import { type WorkerProcess, dueJobs, passAnHour, runJobs, startWorkerProcess } from './helpers/jobs.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

const workers: JobWorker[] = [];
const processes: WorkerProcess[] = [];
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.stop();
  for (const worker of processes.splice(0)) await worker.end('SIGKILL');
  await rows('delete from pgboss.job');
});

const rows = <Row extends object>(text: string, ...values: unknown[]) =>
  gateway.dependencies.sql.query<Row>(text, values);
const stateOf = async (id: string) =>
  (await rows<{ state: string }>('select state from pgboss.job where id = $1', id))[0]?.state;

async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await condition())) await delay(10);
}

/** A worker of this process that does `run` with every job. */
async function work(run: JobHandler['run'], data: z.ZodType = z.unknown()): Promise<JobWorker> {
  const { database, log, notifier, now } = gateway.dependencies;
  const worker = await startJobWorker({
    url: gateway.databaseUrl,
    handlers: [jobHandler({ queue: 'user-deletion', data, run })],
    contextOf: (signal) => ({ em: database.em.fork(), log, notifier, now, signal }),
    log,
  });
  workers.push(worker);
  return worker;
}

async function startWorker(): Promise<WorkerProcess> {
  const worker = await startWorkerProcess(gateway);
  processes.push(worker);
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
  test('has a job when the transaction commits, and none when it rolls back', async () => {
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

  test('takes a job of one id once, and gives up one that is cancelled', async () => {
    const id = await enqueue({ first: true });
    await gateway.dependencies.database.em
      .fork()
      .transactional((em) => enqueueJob(em, 'user-deletion', { id, data: {}, delaySeconds: 0 }));
    expect(await rows('select data from pgboss.job where id = $1', id)).toEqual([{ data: { first: true } }]);
    await gateway.dependencies.database.em.fork().transactional((em) => cancelJob(em, 'user-deletion', id));
    expect([await stateOf(id), await dueJobs(gateway)]).toEqual(['cancelled', 0]);
  });

  test('is used inside of a transaction alone', async () => {
    await expect(
      enqueueJob(gateway.dependencies.database.em.fork(), 'user-deletion', {
        id: randomUUID(),
        data: {},
        delaySeconds: 0,
      }),
    ).rejects.toThrow('inside of a transaction');
  });

  test('is created once, by however many processes at once, and what waits in it stays', async () => {
    const fresh = await startTestGateway();
    try {
      const { database, sql } = fresh.dependencies;
      const pool = await database.driver.getConnection().getNativeClient();
      const migrateAtOnce = () => Promise.all(Array.from({ length: 8 }, () => migrateJobs(pool)));
      await sql.query('drop schema pgboss cascade', []);
      await migrateAtOnce();
      const id = await enqueue({}, 0, fresh);
      await migrateAtOnce();
      expect(await sql.query('select name, retry_limit, heartbeat_seconds from pgboss.queue', [])).toEqual([
        { name: 'user-deletion', retry_limit: 2_147_483_647, heartbeat_seconds: 20 },
      ]);
      expect(await sql.query('select id, state from pgboss.job', [])).toEqual([{ id, state: 'created' }]);
    } finally {
      await fresh.close();
    }
  });
});

describe('a worker', () => {
  test('does each job once, with its data, beside others', async () => {
    const done: unknown[] = [];
    const run = async (_: unknown, data: unknown) => void done.push(data);
    const ids = await Promise.all([1, 2, 3].map((n) => enqueue({ n })));
    await Promise.all([work(run, z.strictObject({ n: z.int() })), work(run, z.strictObject({ n: z.int() }))]);
    await until(async () => (await dueJobs(gateway)) === 0);
    expect(done.toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))).toEqual([
      { n: 1 },
      { n: 2 },
      { n: 3 },
    ]);
    expect(await Promise.all(ids.map(stateOf))).toEqual(['completed', 'completed', 'completed']);
  });

  test('leaves a job alone that is not due', async () => {
    const [late, due] = [await enqueue({}, 3600), await enqueue()];
    await work(async () => undefined);
    await until(async () => (await stateOf(due)) === 'completed');
    expect(await stateOf(late)).toBe('created');
  });

  test('tries a job that fails again, and logs why', async () => {
    let attempts = 0;
    const id = await enqueue();
    await work(async () => {
      attempts += 1;
      if (attempts === 1) throw new Error('the first attempt fails');
    });
    await until(async () => (await stateOf(id)) === 'completed');
    expect(attempts).toBe(2);
    expect(gateway.logged.filter((line) => line.includes('the first attempt fails') && line.includes(id))).toHaveLength(
      1,
    );
  });

  test('that stops interrupts its job, which the next one does', async () => {
    const id = await enqueue();
    let begun = false;
    const first = await work(async ({ signal }) => {
      begun = true;
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('interrupted'))));
    });
    await until(() => begun);
    await first.stop();
    expect(await stateOf(id)).toBe('retry');
    await work(async () => undefined);
    await until(async () => (await stateOf(id)) === 'completed');
  });
});

describe('the deletion of an account', () => {
  const SESSIONS = 230;
  const EVENTS = 6_000;

  /** A user with private sessions, two of them long, in an organization that stays and in one of their own, with definitions. */
  async function seed() {
    const colleague = await gateway.createKey();
    const user = await gateway.createKey({ organization: colleague.organization });
    const alone = await gateway.createKey({ email: user.email });
    for (const { organizationId } of [user, alone]) {
      await rows(
        `with made as (
           insert into session (id, organization_id, creator_id, title, kind, session_type, mode, visibility, level, state, mcp_servers, is_pinned, source, created_at, updated_at, last_seen_at)
           select gen_random_uuid(), $1, $2, 'run ' || n, 'agent', 'Chat', 'normal', 'private', 0, 'queued', '{}', false, '{"id":"1","name":"n","type":"t","repositories":[]}', now(), now(), now()
           from generate_series(1, ${SESSIONS}) n returning id, title
         ), streams as (
           insert into session_stream (session_id, organization_id, last_id, is_closed)
           select id, $1, case when title in ('run 1', 'run 2') then ${EVENTS} else 2 end, false from made returning session_id, last_id
         )
         insert into session_event (session_id, id, organization_id, created_at, event_type, provider, event_data)
         select session_id, n, $1, now(), 'text', 'anthropic', '{"type":"text"}' from streams, generate_series(1, last_id) n`,
        organizationId,
        user.userId,
      );
    }
    await rows(
      `insert into event_definition (id, organization_id, name, label, primary_object, include_default_properties, created_at, updated_at)
       select gen_random_uuid(), $1, 'event_' || n, 'Event', 'CONTACT', false, now(), now() from generate_series(1, 250) n`,
      alone.organizationId,
    );
    return { colleague, user, alone };
  }

  const left = async (userId: string, organizationId: string) => {
    const [row] = await rows<{ sessions: number; definitions: number; events: number }>(
      `select (select count(*)::int from session where creator_id = $1) as sessions, (select count(*)::int from event_definition where organization_id = $2) as definitions,
         (select count(*)::int from session_event) as events`,
      userId,
      organizationId,
    );
    return row ?? { sessions: 0, definitions: 0, events: 0 };
  };

  /** What must hold at every moment: a session is whole or gone, and no event is forgotten. */
  async function expectNothingHalf(): Promise<void> {
    expect(
      await rows(
        `select s.id from session s join session_stream st on st.session_id = s.id
         where st.last_id <> (select count(*) from session_event e where e.session_id = s.id)`,
      ),
    ).toEqual([]);
    expect(
      await rows(
        `select distinct e.session_id from session_event e
         where not exists (select from session s where s.id = e.session_id) and not exists (select from deleted_session d where d.session_id = e.session_id)`,
      ),
    ).toEqual([]);
  }

  /** Every statement that deletes takes a moment longer, so that there is time to die in between. */
  async function slowDown(seconds: number): Promise<void> {
    await rows(
      `create or replace function linger() returns trigger language plpgsql as $$ begin perform pg_sleep(${seconds}); return null; end $$`,
    );
    for (const table of [
      'session',
      'session_event',
      'event_definition',
      'organization',
      'user_account',
      'deleted_session',
    ]) {
      await rows(
        `create or replace trigger linger after delete on ${table} for each statement execute function linger()`,
      );
    }
  }

  test('is finished, exactly once, however often its worker is killed', async () => {
    const { user, alone, colleague } = await seed();
    await slowDown(0.04);
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
    const progress = async () => {
      const { sessions, definitions, events } = await left(user.userId, alone.organizationId);
      return sessions + definitions + Math.ceil(events / 100);
    };
    for (let kill = 0; kill < 5; kill += 1) {
      const before = await progress();
      const worker = await startWorker();
      await until(async () => (await progress()) < before - 40 * kill);
      await worker.end('SIGKILL');
      await expectNothingHalf();
      expect(await job()).toEqual({ state: 'running', is_finished: false });
      expect((await gateway.rest('DELETE', `/v1/users/${user.userId}`, { key: user.key })).status).toBe(401);
      await passAnHour(gateway);
    }
    expect(await progress()).toBeGreaterThan(0);
    await slowDown(0);
    const last = await startWorker();
    await until(async () => (await job())?.state === 'done' && (await dueJobs(gateway)) === 0);
    expect(await last.end('SIGTERM')).toBe(0);
    await expectNothingHalf();
    expect(await left(user.userId, alone.organizationId)).toEqual({ sessions: 0, definitions: 0, events: 0 });
    expect(await rows('select id from deleted_session')).toEqual([]);
    expect(await rows('select id from user_account where id = $1', user.userId)).toEqual([]);
    expect(
      await rows('select id from organization where id = any($1)', [alone.organizationId, colleague.organizationId]),
    ).toEqual([{ id: colleague.organizationId }]);
    expect(await rows('select state, retry_count from pgboss.job where id = $1', answer.body.deletionJobId)).toEqual([
      { state: 'completed', retry_count: 5 },
    ]);
  });

  test('is done once by two workers that hold the same job', async () => {
    const { user, alone } = await seed();
    await slowDown(0.01);
    const answer = await gateway.rest<{ deletionJobId: string }>('DELETE', `/v1/users/${user.userId}`, {
      key: user.key,
    });
    workers.push(await startJobs(gateway.dependencies));
    await until(async () => (await left(user.userId, alone.organizationId)).sessions < 2 * SESSIONS);
    // The first one is taken for dead, and lives.
    await passAnHour(gateway);
    workers.push(await startJobs(gateway.dependencies));
    await until(
      async () =>
        (await rows('select 1 from deletion_job where id = $1 and state = $2', answer.body.deletionJobId, 'done'))
          .length === 1,
    );
    for (const worker of workers.splice(0)) await worker.stop();
    await slowDown(0);
    await passAnHour(gateway);
    await runJobs(gateway);
    await expectNothingHalf();
    expect(await left(user.userId, alone.organizationId)).toEqual({ sessions: 0, definitions: 0, events: 0 });
    expect(await rows('select state from deletion_job where user_id = $1', user.userId)).toEqual([{ state: 'done' }]);
  });
});
