// Deletes, redacts, holds and exports much recorded data, while others work and processes are killed.
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { enqueueJob } from '../../src/core/jobs.ts';
import { applyRetention } from '../../src/domains/retention/retention-job.ts';
import { workContext } from '../../src/gateway/contexts.ts';
import { useOwnGateway } from '../support/fixtures/gateway.ts';
import { countWaitingForLock } from '../support/fixtures/locks.ts';
import {
  SECRET,
  recordLong,
  recordOld,
  sizes,
  watchTransactions,
  whileBatchesWait,
  workOfOthers,
} from '../support/fixtures/recorded-data.ts';
import { createSession } from '../support/fixtures/sessions.ts';
import {
  type WorkerProcess,
  expireHeartbeats,
  runJobs,
  skipRetryDelay,
  startWorkerProcess,
} from '../support/processes/jobs.ts';
import {
  type GatewayProcess,
  SMALL_HEAP,
  call,
  endProcesses,
  graphqlApi,
  startGateway,
} from '../support/processes/process.ts';
import { peakMib, resetPeak, residentMib } from '../support/processes/resources.ts';
import { full, proof } from '../support/proof.ts';

/** Events of a session that is deleted, redacted by event ids, or exported. */
const EVENTS = full ? 1_000_000 : 40_000;
/** Events of a session that is redacted by text: at most 100,000. */
const REDACTED_BY_TEXT = full ? 100_000 : 4_000;
const REDACTED_BY_IDS = full ? 100_000 : 2_000;
/** No transaction that changes recorded data should take longer, on processors that nobody else uses. */
const LOCK_MS = 100;
/** Ids of one request. */
const IDS = 1_000;
const OLD_SESSIONS = full ? 2_000 : 450;
const HOLD_ROUNDS = full ? 50 : 5;
const HELD_AT_ONCE = 20;
/** What an export may need beside an idle gateway, whatever its length. */
const EXPORT_MIB = 192;

const shared = useOwnGateway();
let gateway: GatewayProcess;
let database: pg.Pool;
const workers: WorkerProcess[] = [];
const start = () =>
  startGateway({
    DATABASE_URL: shared.databaseUrl,
    ENCRYPTION_KEYS: shared.encryptionKeys,
    RUN_JOBS: 'false',
    RATE_LIMIT_PER_MINUTE: '0',
    LOG_LEVEL: 'error',
    ...SMALL_HEAP,
  });
beforeAll(async () => {
  database = new pg.Pool({ connectionString: shared.databaseUrl, max: 4, application_name: 'test' });
  gateway = await start();
});
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.end('SIGKILL');
});
afterAll(async () => {
  await endProcesses();
  await database.end();
});

const rows = async <Row extends object>(text: string, ...values: unknown[]) =>
  (await database.query<Row>(text, values)).rows;
const count = async (text: string, ...values: unknown[]) =>
  (await rows<{ count: number }>(`select count(*)::int as count from ${text}`, ...values))[0]?.count ?? 0;
const eventsIn = (sessionId: string) => count('session_event where session_id = $1', sessionId);

async function startTwoWorkers(): Promise<readonly WorkerProcess[]> {
  const two = await Promise.all([startWorkerProcess(shared), startWorkerProcess(shared)]);
  workers.push(...two);
  return two;
}

test('a long session is deleted and others are redacted while other sessions are used', async () => {
  const admin = await shared.createKey();
  const others = await shared.createKey();
  const [deleted, byText, byIds] = [
    await recordLong(database, gateway.url, admin, EVENTS),
    await recordLong(database, gateway.url, admin, REDACTED_BY_TEXT),
    await recordLong(database, gateway.url, admin, EVENTS),
  ];
  await rows('vacuum analyze');
  const before = await sizes(database);
  const used = await Promise.all(
    [1, 2, 3].map((n) => createSession(graphqlApi(gateway.url), others.key, { title: `used by others: events ${n}` })),
  );
  workers.push(await startWorkerProcess(shared));
  const clients = workOfOthers(gateway.url, others.key, used);
  await expect.poll(() => clients.answered.get('append') ?? 0).toBeGreaterThan(100);
  const figures: Record<string, string | number> = { 'worst wait of others alone (ms)': clients.takeWorst() };
  const shortfalls: string[] = [];
  const measure = async (what: string, changed: number, run: () => Promise<void>) => {
    clients.takeWorst();
    const stop = watchTransactions(database);
    const began = performance.now();
    await run();
    const seconds = (performance.now() - began) / 1000;
    const { ms, query, samples } = await stop();
    figures[`${what}: events`] = changed;
    figures[`${what}: events per second`] = Math.round(changed / seconds);
    figures[`${what}: worst wait of others (ms)`] = clients.takeWorst();
    figures[`${what}: longest transaction with locks (ms)`] = `${Math.round(ms)} in ${samples} samples`;
    if (ms > LOCK_MS)
      shortfalls.push(`${what}: a transaction took ${Math.round(ms)} ms, last in: ${query.slice(0, 80)}`);
  };
  const at = (sessionId: string) => `/v1/sessions/${sessionId}`;
  const redact = (sessionId: string, body: object) =>
    call(gateway.url, admin.key, 'POST', `${at(sessionId)}/redact`, body);

  await measure('deleted', EVENTS, async () => {
    expect((await call(gateway.url, admin.key, 'DELETE', at(deleted))).status).toBe(204);
    await expect
      .poll(() => count('deleted_session where session_id = $1', deleted), { interval: 50, timeout: 600_000 })
      .toBe(0);
  });
  expect([
    await eventsIn(deleted),
    await count('session_text where session_id = $1', deleted),
    await count(`pgboss.job where name = 'session-purge' and state = 'completed' and retry_count = 0`),
  ]).toEqual([0, 0, 1]);

  await measure('redacted by text', REDACTED_BY_TEXT, async () => {
    expect(await redact(byText, { text: SECRET })).toEqual({
      status: 200,
      body: { redactedEvents: REDACTED_BY_TEXT, redactedTexts: REDACTED_BY_TEXT },
    });
  });
  await measure('redacted by ids', REDACTED_BY_IDS, async () => {
    for (let first = 1; first <= REDACTED_BY_IDS; first += IDS) {
      const eventIds = Array.from({ length: IDS }, (_, index) => first + index);
      expect((await redact(byIds, { eventIds })).body).toEqual({ redactedEvents: IDS, redactedTexts: IDS });
    }
  });
  const having = (sessionId: string) =>
    count(`session_event where session_id = $1 and strpos(event_data::text, '${SECRET}') > 0`, sessionId);
  expect([await eventsIn(byText), await having(byText), await eventsIn(byIds), await having(byIds)]).toEqual([
    REDACTED_BY_TEXT,
    0,
    EVENTS,
    EVENTS - REDACTED_BY_IDS,
  ]);

  await clients.stop();
  expect(clients.statuses).toEqual(new Set([200, 201]));
  for (const [sessionId, last] of clients.appended) {
    expect(clients.received.get(sessionId)).toEqual(Array.from({ length: last }, (_, index) => index + 1));
    expect(await eventsIn(sessionId)).toBe(last);
  }
  const after = await sizes(database);
  await rows('vacuum');
  const vacuumed = await sizes(database);
  expect(vacuumed.mib).toBeLessThanOrEqual(after.mib);
  proof('Recorded data deleted and redacted beside others', {
    figures: {
      ...figures,
      'requests of others': [...clients.answered].map(([kind, times]) => `${kind} ${times}`).join(' '),
      'events and texts before, after, after a vacuum (MiB)': `${before.mib}, ${after.mib}, ${vacuumed.mib}`,
      'dead rows after, after a vacuum': `${after.dead}, ${vacuumed.dead}`,
    },
    shortfalls,
  });
});

/** Two workers run the job, and are killed when it has committed a batch and is in the middle of the next one; twice. Others then end it. */
async function killTwice(what: string, remaining: () => Promise<number>): Promise<readonly number[]> {
  const left = [await remaining()];
  for (let times = 0; times < 2; times += 1) {
    await whileBatchesWait(database, what, async () => {
      const two = await startTwoWorkers();
      await expect
        .poll(async () => {
          await skipRetryDelay(shared);
          return countWaitingForLock(shared);
        })
        .toBeGreaterThan(0);
      await Promise.all(two.map((worker) => worker.end('SIGKILL')));
    });
    left.push(await remaining());
    expect(left.at(-1)).toBeGreaterThan(0);
    expect(left.at(-1)).toBeLessThan(left.at(-2) ?? 0);
    await expireHeartbeats(shared);
  }
  const last = await startTwoWorkers();
  await expect
    .poll(
      async () => {
        await skipRetryDelay(shared);
        return [
          await remaining(),
          await count(
            `pgboss.job where state in ('created', 'retry', 'active') and name in ('session-purge', 'retention')`,
          ),
        ];
      },
      { timeout: 300_000 },
    )
    .toEqual([0, 0]);
  await Promise.all(last.map((worker) => worker.end('SIGTERM')));
  return left;
}

test('the purge of a session and retention end once, though their workers are killed twice', async () => {
  const admin = await shared.createKey();
  const long = await recordLong(database, gateway.url, admin, EVENTS);
  expect((await call(gateway.url, admin.key, 'DELETE', `/v1/sessions/${long}`)).status).toBe(204);
  const purged = await killTwice('delete on session_event', () => eventsIn(long));
  expect(await count('deleted_session')).toBe(0);
  expect(
    await count(
      `pgboss.job where name = 'session-purge' and data::text like $1 and state = 'completed' and retry_count = 2`,
      `%${long}%`,
    ),
  ).toBe(1);

  const old = await recordOld(database, admin, OLD_SESSIONS);
  const at = `/v1/organizations/${admin.organizationId}/retention`;
  expect((await call(gateway.url, admin.key, 'PATCH', at, { sessionDays: 30 })).status).toBe(200);
  const { em } = shared.dependencies.database;
  const id = crypto.randomUUID();
  await em.fork().transactional((inner) => enqueueJob(inner, 'retention', { id, data: {}, delaySeconds: 0 }));
  const kept = await killTwice('delete on session', () => count('session where id = any($1)', old));
  expect(await count('session_event where session_id = any($1)', old)).toBe(0);
  expect(await count('deleted_session')).toBe(0);
  expect(await rows('select state, retry_count from pgboss.job where id = $1', id)).toEqual([
    { state: 'completed', retry_count: 2 },
  ]);
  const [fed] = await rows<{ all: number; different: number }>(
    `select count(*)::int as all, count(distinct subject_id)::int as different from feed_entry where type = 'session.deleted' and subject_id = any($1)`,
    old,
  );
  expect(fed).toEqual({ all: OLD_SESSIONS, different: OLD_SESSIONS });
  expect(
    await rows(`select detail from audit_entry where operation = 'applyRetention' and request_id = $1`, id),
  ).toEqual([{ detail: `${OLD_SESSIONS} sessions, 0 event occurrences, 0 audit log entries` }]);
  proof('Jobs of recorded data killed twice', {
    figures: { 'events left at each kill': purged.join(', '), 'old sessions left at each kill': kept.join(', ') },
  });
});

test('a redaction whose gateway is killed twice leaves whole events, and the same request redacts the rest', async () => {
  const admin = await shared.createKey();
  const id = await recordLong(database, gateway.url, admin, REDACTED_BY_TEXT);
  const redact = () =>
    call(gateway.url, admin.key, 'POST', `/v1/sessions/${id}/redact`, { text: SECRET }).catch(() => undefined);
  const remaining = () =>
    count(`session_event where session_id = $1 and strpos(event_data::text, '${SECRET}') > 0`, id);
  const left = [await remaining()];
  for (let times = 0; times < 2; times += 1) {
    await whileBatchesWait(database, 'update on session_event', async () => {
      const answer = redact();
      await expect.poll(() => countWaitingForLock(shared)).toBeGreaterThan(0);
      await gateway.end('SIGKILL');
      expect(await answer).toBeUndefined();
    });
    left.push(await remaining());
    gateway = await start();
  }
  expect(left.toSorted((one, other) => other - one)).toEqual(left);
  expect(new Set(left).size).toBe(3);
  const answer = await redact();
  expect(answer).toMatchObject({ status: 200, body: { redactedEvents: left.at(-1) } });
  expect([await remaining(), await eventsIn(id)]).toEqual([0, REDACTED_BY_TEXT]);
});

test('a hold that is set while retention runs wins or loses: the session is whole, or gone with its events', async () => {
  const admin = await shared.createKey();
  await call(gateway.url, admin.key, 'PATCH', `/v1/organizations/${admin.organizationId}/retention`, {
    sessionDays: 30,
  });
  const outcomes = { held: 0, deleted: 0 };
  for (let round = 0; round < HOLD_ROUNDS; round += 1) {
    const old = await recordOld(database, admin, HELD_AT_ONCE);
    const hold = (id: string) => call(gateway.url, admin.key, 'PUT', `/v1/sessions/${id}/hold`, { reason: 'Evidence' });
    const first = old.slice(0, round % HELD_AT_ONCE).map(hold);
    // Some holds come before retention begins, some while it runs.
    if (first.length > 0) await Promise.race(first);
    const applied = applyRetention(
      { ...workContext(shared.dependencies), log: shared.dependencies.log, signal: new AbortController().signal },
      crypto.randomUUID(),
    );
    const answers = await Promise.all([...first, ...old.slice(round % HELD_AT_ONCE).map(hold)]);
    await applied;
    await runJobs(shared);
    const found = await rows<{ id: string; is_held: boolean; events: number; last: number | null }>(
      `select o.id, s.held_at is not null as is_held, (select count(*)::int from session_event e where e.session_id = o.id) as events,
         (select last_id::int from session_stream t where t.session_id = o.id) as last
       from unnest($1::uuid[]) with ordinality o(id, n) left join session s on s.id = o.id order by n`,
      old,
    );
    const expected = answers.map(({ status }, index) =>
      status === 200
        ? { id: old[index], is_held: true, events: 3, last: 3 }
        : { id: old[index], is_held: false, events: 0, last: null },
    );
    expect(answers.filter(({ status }) => status !== 200 && status !== 404)).toEqual([]);
    expect(found).toEqual(expected);
    for (const { status } of answers) outcomes[status === 200 ? 'held' : 'deleted'] += 1;
  }
  proof('Hold against retention', { figures: { rounds: HOLD_ROUNDS, ...outcomes } });
});

test('an export needs bounded memory, and one that is cut has no last line', async () => {
  const admin = await shared.createKey();
  await recordLong(database, gateway.url, admin, EVENTS);
  const request = () =>
    fetch(`${gateway.url}/v1/organizations/${admin.organizationId}/export`, {
      headers: { Authorization: `Bearer ${admin.key}` },
    });
  await gateway.end('SIGTERM');
  gateway = await start();
  const idle = await residentMib(gateway.pid);
  await resetPeak(gateway.pid);
  const began = performance.now();
  let [bytes, lines, last] = [0, 0, ''];
  const decoder = new TextDecoder();
  for await (const chunk of (await request()).body ?? []) {
    bytes += chunk.length;
    const parts = (last + decoder.decode(chunk, { stream: true })).split('\n');
    lines += parts.length - 1;
    last = parts.at(-1) || `${parts.at(-2)}\n`;
    if (last.endsWith('\n') && !last.startsWith('{"kind":"end"')) last = '';
  }
  const seconds = (performance.now() - began) / 1000;
  const end = JSON.parse(last) as { kind: string; counts: Record<string, number> };
  expect(end).toMatchObject({ kind: 'end', counts: { sessionEvent: EVENTS, session: 1 } });
  expect(lines).toBe(2 + Object.values(end.counts).reduce((sum, each) => sum + each, 0));
  const peak = await peakMib(gateway.pid);
  expect(peak - idle).toBeLessThan(EXPORT_MIB);

  let cut = '';
  const reading = (async () => {
    for await (const chunk of (await request()).body ?? []) {
      if (cut.length > bytes / 2) void gateway.end('SIGKILL');
      cut += new TextDecoder().decode(chunk);
    }
  })();
  await expect(reading).rejects.toThrow('terminated');
  expect(cut).toMatch(/^\{"kind":"export"/);
  expect(cut).not.toContain('{"kind":"end"');
  expect(cut.split('\n').length).toBeLessThan(lines);
  proof('Export of an organization', {
    figures: {
      lines,
      MiB: Math.round(bytes / 2 ** 20),
      'lines per second': Math.round(lines / seconds),
      'idle memory (MiB)': Math.round(idle),
      'peak memory (MiB)': Math.round(peak),
      'lines of the one that was cut': cut.split('\n').length - 1,
    },
  });
});
