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
} from '../../src/core/jobs.ts';
import { eventPurgeJob } from '../../src/domains/event-occurrences/purge.ts';
import { userDeletionJob } from '../../src/domains/user-deletions/deletion.ts';
import { workContext } from '../../src/gateway/dependencies.ts';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import {
  type WorkerProcess,
  dueJobs,
  passAnHour,
  runJobs,
  skipPause,
  startWorkerProcess,
} from '../support/processes/jobs.ts';

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
  while (!(await condition())) await delay(30);
}

/** A worker of this process that does `run` with every job. */
async function work(run: JobHandler['run'], data: z.ZodType = z.unknown()): Promise<JobWorker> {
  const { log } = gateway.dependencies;
  const worker = await startJobWorker({
    url: gateway.databaseUrl,
    handlers: [jobHandler({ queue: 'user-deletion', data, run })],
    contextOf: (signal) => ({ ...workContext(gateway.dependencies), log, signal }),
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
      expect(
        await sql.query('select name, retry_limit, heartbeat_seconds from pgboss.queue order by name', []),
      ).toEqual([
        { name: 'event-purge', retry_limit: 2_147_483_647, heartbeat_seconds: 20 },
        { name: 'mcp-refresh', retry_limit: 2_147_483_647, heartbeat_seconds: 20 },
        { name: 'upkeep', retry_limit: 2_147_483_647, heartbeat_seconds: 20 },
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

describe('the deletion of an event definition', () => {
  async function define(key: string, label: string, occurrences: number): Promise<{ id: string; name: string }> {
    const { body } = await gateway.rest<{ id: string; name: string }>('POST', '/events/2026-03/event-definitions', {
      key,
      body: { label },
    });
    await rows(
      `with sent as (
         insert into event_occurrence (definition_id, occurred_at, id, organization_id, received_at, uuid, properties)
         select d.id, now() - n * interval '1 second', gen_random_uuid(), d.organization_id, now(), gen_random_uuid(), '{}'
         from event_definition d, generate_series(1, $2::int) n where d.id = $1 returning definition_id, uuid, organization_id
       )
       insert into event_occurrence_uuid (definition_id, uuid, organization_id, expires_at)
       select definition_id, uuid, organization_id, now() + interval '1 year' from sent`,
      body.id,
      occurrences,
    );
    return body;
  }
  const stored = async ({ id }: { id: string }) => [
    (await rows('select 1 from event_occurrence where definition_id = $1', id)).length,
    (await rows('select 1 from event_occurrence_uuid where definition_id = $1', id)).length,
  ];
  const removeDefinition = async (key: string, name: string) =>
    (await gateway.rest('DELETE', `/events/2026-03/event-definitions/${name}`, { key })).status;

  test('queues the purge of its occurrences in its own transaction, which goes in batches and leaves others alone', async () => {
    const { key } = await gateway.createKey();
    const [gone, stays] = [await define(key, 'Gone', 11_000), await define(key, 'Stays', 3)];
    expect(await removeDefinition(key, gone.name)).toBe(204);
    expect(await rows('select id, data, state from pgboss.job')).toEqual([
      { id: gone.id, data: { definitionId: gone.id }, state: 'created' },
    ]);
    expect(await stored(gone)).toEqual([11_000, 11_000]);
    await runJobs(gateway);
    expect([await stored(gone), await stored(stays), await stateOf(gone.id)]).toEqual([[0, 0], [3, 3], 'completed']);
    expect(
      await rows('select name, deleted_at is not null as burnt from event_definition where id = $1', gone.id),
    ).toEqual([{ name: 'gone', burnt: true }]);
  });

  test('queues nothing when it is refused, and nothing is purged where there is nothing', async () => {
    const { key } = await gateway.createKey();
    const empty = await define(key, 'Empty', 0);
    expect(await removeDefinition(key, 'missing')).toBe(404);
    expect(await rows('select id from pgboss.job')).toEqual([]);
    expect([await removeDefinition(key, empty.name), await removeDefinition(key, empty.name)]).toEqual([204, 404]);
    expect(await rows('select id from pgboss.job')).toEqual([{ id: empty.id }]);
    await runJobs(gateway);
    expect(await stateOf(empty.id)).toBe('completed');
  });

  test('goes on after an interruption, and never purges one that is not deleted', async () => {
    const { key } = await gateway.createKey();
    const [gone, stays] = [await define(key, 'Gone', 6_000), await define(key, 'Stays', 3)];
    await removeDefinition(key, gone.name);
    const { log } = gateway.dependencies;
    const run = (definitionId: string, signal: AbortSignal) =>
      eventPurgeJob.run({ ...workContext(gateway.dependencies), log, signal }, { definitionId });
    const stopping = new AbortController();
    const check = stopping.signal.throwIfAborted.bind(stopping.signal);
    let batches = 0;
    stopping.signal.throwIfAborted = () => {
      if (batches === 1) stopping.abort(new Error('the process stops'));
      batches += 1;
      check();
    };
    await expect(run(gone.id, stopping.signal)).rejects.toThrow('the process stops');
    expect(await stored(gone)).toEqual([1_000, 1_000]);
    await run(gone.id, new AbortController().signal);
    await expect(run(stays.id, new AbortController().signal)).rejects.toThrow('is not deleted');
    expect([await stored(gone), await stored(stays)]).toEqual([
      [0, 0],
      [3, 3],
    ]);
  });
});

describe('the deletion of an account', () => {
  const SESSIONS = 110;
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
       select gen_random_uuid(), $1, 'event_' || n, 'Event', 'CONTACT', false, now(), now() from generate_series(1, 150) n`,
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

  /** PostgreSQL ends the statement of a client that is gone. */
  async function untilIdle(): Promise<void> {
    const active = `select 1 from pg_stat_activity where datname = current_database() and backend_type = 'client backend' and state = 'active' and pid <> pg_backend_pid()`;
    await until(async () => (await rows(active)).length === 0);
  }

  test('is finished, exactly once, however often its worker is killed', async () => {
    const { user, alone, colleague } = await seed();
    await slowDown(0.2);
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
    const remaining = async () => {
      await skipPause(gateway);
      return left(user.userId, alone.organizationId);
    };
    // In the order in which they go.
    for (const kind of ['sessions', 'definitions', 'events', 'events'] as const) {
      const before = (await remaining())[kind];
      const worker = await startWorker();
      await until(async () => (await remaining())[kind] < before);
      await worker.end('SIGKILL');
      await expectNothingHalf();
      expect(await job()).toEqual({ state: 'running', is_finished: false });
      // Gone at once, before all else.
      expect(await rows('select email, name from user_account where id = $1', user.userId)).toEqual([
        { email: null, name: null },
      ]);
      expect(await rows('select 1 from membership where user_id = $1', user.userId)).toEqual([]);
      expect((await gateway.rest('DELETE', `/v1/users/${user.userId}`, { key: user.key })).status).toBe(401);
      await untilIdle();
      await passAnHour(gateway);
    }
    expect((await remaining()).events).toBeGreaterThan(0);
    await slowDown(0);
    const last = await startWorker();
    await until(
      async () => (await remaining()).events === 0 && (await job())?.state === 'done' && (await dueJobs(gateway)) === 0,
    );
    expect(await last.end('SIGTERM')).toBe(0);
    await expectNothingHalf();
    expect(await left(user.userId, alone.organizationId)).toEqual({ sessions: 0, definitions: 0, events: 0 });
    expect(await rows('select session_id from deleted_session')).toEqual([]);
    expect(await rows('select id from user_account where id = $1', user.userId)).toEqual([]);
    expect(
      await rows('select id from organization where id = any($1)', [alone.organizationId, colleague.organizationId]),
    ).toEqual([{ id: colleague.organizationId }]);
    expect(await rows('select state, retry_count from pgboss.job where id = $1', answer.body.deletionJobId)).toEqual([
      { state: 'completed', retry_count: 4 },
    ]);
  });

  test('is done once by workers that hold the same job at once', async () => {
    const { user, alone } = await seed();
    const answer = await gateway.rest<{ deletionJobId: string }>('DELETE', `/v1/users/${user.userId}`, {
      key: user.key,
    });
    const { deletionJobId } = answer.body;
    const { log } = gateway.dependencies;
    const { signal } = new AbortController();
    const run = () => userDeletionJob.run({ ...workContext(gateway.dependencies), log, signal }, { deletionJobId });
    const outcomes = await Promise.allSettled([run(), run(), run()]);
    // PostgreSQL may end one of them when they wait for each other; it would be tried again.
    expect(outcomes.filter(({ status }) => status === 'rejected').length).toBeLessThan(3);
    await run();
    await expectNothingHalf();
    expect(await left(user.userId, alone.organizationId)).toEqual({ sessions: 0, definitions: 0, events: 0 });
    expect(await rows('select state from deletion_job where user_id = $1', user.userId)).toEqual([{ state: 'done' }]);
    expect(await rows('select session_id from deleted_session')).toEqual([]);
  });

  test('finds what has come to be after it had looked', async () => {
    const { user } = await seed();
    const late = randomUUID();
    await rows('create sequence once');
    // A request that was let in before the keys were revoked ends after all else is gone.
    await rows(
      `create function come_late() returns trigger language plpgsql as $$ begin
         if nextval('once') = 1 then
           insert into session select (jsonb_populate_record(null::session, $json$${JSON.stringify(lateSession(late, user))}$json$)).*;
           insert into session_stream (session_id, organization_id, last_id, is_closed) values ('${late}', '${user.organizationId}', 1, false);
           insert into session_event (session_id, id, organization_id, created_at, event_type, provider, event_data)
             values ('${late}', 1, '${user.organizationId}', now(), 'text', 'anthropic', '{}');
         end if;
         return null;
       end $$`,
    );
    await rows(
      'create trigger come_late after delete on deleted_session for each statement execute function come_late()',
    );
    const { deletionJobId } = (
      await gateway.rest<{ deletionJobId: string }>('DELETE', `/v1/users/${user.userId}`, { key: user.key })
    ).body;
    await runJobs(gateway);
    await rows('drop trigger come_late on deleted_session');
    expect(await rows(`select last_value > 1 as came from once`)).toEqual([{ came: true }]);
    expect(await rows('select state from deletion_job where id = $1', deletionJobId)).toEqual([{ state: 'done' }]);
    expect(await rows('select 1 from session where id = $1', late)).toEqual([]);
    expect(await rows('select 1 from session_event where session_id = $1', late)).toEqual([]);
  });

  test('leaves nothing of requests that are under way while it runs', async () => {
    const { user } = await seed();
    const sessions = await rows<{ id: string }>(
      'select id from session where creator_id = $1 and organization_id = $2 limit 40',
      user.userId,
      user.organizationId,
    );
    const { deletionJobId } = (
      await gateway.rest<{ deletionJobId: string }>('DELETE', `/v1/users/${user.userId}`, { key: user.key })
    ).body;
    let answered = 0;
    // Until their key is revoked they come through, and those that were let in go on.
    const requests = sessions.map(async ({ id }) => {
      for (;;) {
        const created = gateway.fetch(
          '/graphql',
          graphql(user.key, 'mutation { createSession(input: { title: "late" }) { __typename } }'),
        );
        const appended = gateway.fetch(
          '/graphql',
          graphql(
            user.key,
            `mutation { appendSessionEvents(input: { sessionId: "${id}", events: [{ eventType: "text", provider: "anthropic", eventData: { type: "text" } }] }) { __typename } }`,
          ),
        );
        const statuses = (await Promise.all([created, appended])).map(({ status }) => status);
        if (statuses.includes(401)) return;
        expect(statuses).toEqual([200, 200]);
        answered += 1;
      }
    });
    await until(() => answered > 10);
    await runJobs(gateway);
    await Promise.all(requests);
    await expectNothingHalf();
    expect(await rows('select state from deletion_job where id = $1', deletionJobId)).toEqual([{ state: 'done' }]);
    expect(await rows('select 1 from session where creator_id = $1 or title = $2', user.userId, 'late')).toEqual([]);
    expect(await rows('select 1 from session_event')).toEqual([]);
    expect(await rows('select session_id from deleted_session')).toEqual([]);
  });
});

function lateSession(id: string, { userId, organizationId }: { userId: string; organizationId: string }): object {
  const at = new Date().toISOString();
  return {
    id,
    organization_id: organizationId,
    creator_id: userId,
    title: 'late',
    kind: 'agent',
    session_type: 'Chat',
    mode: 'normal',
    visibility: 'private',
    level: 0,
    state: 'queued',
    mcp_servers: [],
    is_pinned: false,
    source: {},
    created_at: at,
    updated_at: at,
    last_seen_at: at,
  };
}

function graphql(key: string, query: string): RequestInit {
  return {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ query }),
  };
}
