import { afterAll, beforeAll, expect, test } from 'vitest';
import { applyRetention } from '../../../src/domains/retention/retention-job.ts';
import type { SessionId } from '../../../src/core/ids.ts';
import { sessionTopic, sessionsTopic } from '../../../src/domains/sessions/public.ts';
import { workContext } from '../../../src/gateway/contexts.ts';
import { auditRows } from '../../support/fixtures/audit-log.ts';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { untilWaitingForLock } from '../../support/fixtures/locks.ts';
import { append, createSession, eventsOf, moveTo, mutate } from '../../support/fixtures/sessions.ts';
import { startListening } from '../../support/fixtures/notifications.ts';
import { runJobs } from '../../support/processes/jobs.ts';

/** How long an organization keeps sessions, occurrences and its audit log. The clock of the gateway moves, so that things become old. */

let gateway: TestGateway;
let bounded: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ AUDIT_RETENTION_MIN_DAYS: '1' });
  bounded = await startTestGateway({ RETENTION_MAX_DAYS: '30' }, { beside: gateway });
});
afterAll(async () => {
  await bounded.close();
  await gateway.close();
});

const DAY = 86_400_000;
const at = (days: number) => gateway.setClock(new Date(Date.UTC(2026, 0, 1) + days * DAY));

async function apply(to: TestGateway = gateway): Promise<void> {
  const { signal } = new AbortController();
  await applyRetention({ ...workContext(to.dependencies), log: to.dependencies.log, signal }, crypto.randomUUID());
}

interface Days {
  readonly sessionDays: number | null;
  readonly occurrenceDays: number | null;
  readonly auditLogDays: number | null;
  readonly isLimitedByOperator: boolean;
}
const pathOf = (organizationId: string) => `/v1/organizations/${organizationId}/retention`;
const set = (key: string, organizationId: string, body: object) =>
  gateway.rest<Days>('PATCH', pathOf(organizationId), { key, body });

async function preview(key: string, args: string): Promise<unknown> {
  const query = `{ viewer { organization { retentionPreview(${args}) { sessions occurrences auditEntries } } } }`;
  const { data, errors } = await gateway.graphql<{ viewer: { organization: { retentionPreview: object } } }>(
    key,
    query,
  );
  return data?.viewer.organization.retentionPreview ?? errors;
}

const finished = async (key: string, input: object = {}) => {
  const id = await createSession(gateway, key, input);
  await moveTo(gateway, key, id, 'IN_PROGRESS', 'COMPLETED');
  return id;
};
const sessionsOf = async (organizationId: string) =>
  (
    await gateway.dependencies.sql.query<{ id: string }>('select id from session where organization_id = $1', [
      organizationId,
    ])
  ).map(({ id }) => id);

test('nothing is deleted by default; administrators set days, which both APIs show, and others are refused', async () => {
  const { key, organization, organizationId } = await gateway.createKey();
  const member = await gateway.createKey({ organization, role: 'member' });
  const forever = {
    sessionDays: null,
    occurrenceDays: null,
    auditLogDays: null,
    ownSessionDays: null,
    ownOccurrenceDays: null,
    ownAuditLogDays: null,
    // AUDIT_RETENTION_DAYS.
    limitedByOperator: ['auditLogDays'],
    isLimitedByOperator: true,
  };
  expect((await gateway.rest('GET', pathOf(organizationId), { key })).body).toEqual(forever);
  expect((await set(key, organizationId, { sessionDays: 7 })).body).toEqual({
    ...forever,
    sessionDays: 7,
    ownSessionDays: 7,
  });
  const input = { organizationId, occurrenceDays: 9, sessionDays: null };
  const changed = await mutate<{ retention: object }>(
    gateway,
    key,
    'updateOrganizationRetention',
    input,
    `retention { ${Object.keys(forever).join(' ')} }`,
  );
  expect(changed.retention).toEqual({ ...forever, occurrenceDays: 9, ownOccurrenceDays: 9 });
  expect([
    (await set(member.key, organizationId, {})).status,
    (await set(key, organizationId, { sessionDays: 0 })).body,
  ]).toEqual([403, { error: 'sessionDays: must be a whole number of days, at least 1' }]);
  expect((await set(key, (await gateway.createKey()).organizationId, {})).status).toBe(404);
});

test('old sessions are deleted as by a person; those that were used since, run, are pinned or held stay', async () => {
  at(0);
  const { key, organizationId } = await gateway.createKey();
  const [old, used, pinned, held, queued, running] = [
    await finished(key),
    await createSession(gateway, key),
    await finished(key),
    await finished(key),
    await createSession(gateway, key),
    await createSession(gateway, key),
  ];
  await append(gateway, key, old, eventsOf(2));
  await moveTo(gateway, key, running, 'IN_PROGRESS');
  await mutate(gateway, key, 'pinSession', { sessionId: pinned });
  await gateway.rest('PUT', `/v1/sessions/${held}/hold`, { key, body: { reason: 'Evidence' } });
  at(5);
  await append(gateway, key, used, eventsOf(1));
  await moveTo(gateway, key, used, 'CANCELLED');
  at(12);
  expect(await preview(key, 'sessionDays: 10')).toEqual({ sessions: 1, occurrences: 0, auditEntries: 0 });
  await set(key, organizationId, { sessionDays: 10 });
  await apply();
  expect((await sessionsOf(organizationId)).toSorted()).toEqual([used, pinned, held, queued, running].toSorted());
  const { body } = await gateway.rest<{ items: object[] }>('GET', '/v1/feed?types=session.deleted', { key });
  expect(body.items).toMatchObject([{ subjectId: old, data: { reason: 'retention' } }]);
  await runJobs(gateway);
  expect(await gateway.dependencies.sql.query('select from session_event where session_id = $1', [old])).toEqual([]);
  at(16);
  await apply();
  expect(await sessionsOf(organizationId)).not.toContain(used);
  const applied = (await auditRows(gateway)).filter((row) => row.operation === 'applyRetention');
  expect(applied.map(({ organizationId: of, source, targetId }) => [of, source, targetId])).toEqual(
    Array.from({ length: 2 }, () => [organizationId, 'job', organizationId]),
  );
});

test('old occurrences and entries of the audit log are deleted; what was received later stays', async () => {
  at(0);
  const { key, organizationId } = await gateway.createKey();
  await gateway.rest('POST', '/events/2026-03/event-definitions', {
    key,
    body: { label: 'Paid', primaryObject: 'CONTACT' },
  });
  const send = (occurredAt: string) =>
    gateway.rest('POST', '/events/2026-03/send', {
      key,
      body: { eventName: 'paid', objectId: '1', occurredAt },
    });
  await send('2025-12-01T00:00:00.000Z');
  at(20);
  await send('2025-12-01T00:00:00.000Z');
  await send('2026-01-20T00:00:00.000Z');
  const count = async () =>
    (await gateway.dependencies.sql.query('select from event_occurrence where organization_id = $1', [organizationId]))
      .length;
  expect(await preview(key, 'occurrenceDays: 10, auditLogDays: 10')).toEqual({
    sessions: 0,
    occurrences: 1,
    auditEntries: expect.any(Number),
  });
  await set(key, organizationId, { occurrenceDays: 10, auditLogDays: 10 });
  await apply();
  expect(await count()).toBe(2);
  const entries = (await auditRows(gateway)).filter((row) => row.organizationId === organizationId);
  expect(entries.map(({ operation }) => operation)).toEqual([
    'sendEventOccurrence',
    'sendEventOccurrence',
    'updateOrganizationRetention',
    'applyRetention',
  ]);
});

test('the bound of the operator counts where it is shorter, also without a setting', async () => {
  at(0);
  const { key, organizationId } = await gateway.createKey();
  const id = await finished(key);
  const own = { sessionDays: 40, occurrenceDays: 5, auditLogDays: null };
  await set(key, organizationId, own);
  expect((await bounded.rest('GET', pathOf(organizationId), { key })).body).toEqual({
    sessionDays: 30,
    occurrenceDays: 5,
    auditLogDays: 30,
    ownSessionDays: 40,
    ownOccurrenceDays: 5,
    ownAuditLogDays: null,
    limitedByOperator: ['sessionDays', 'auditLogDays'],
    isLimitedByOperator: true,
  });
  bounded.setClock(new Date(Date.UTC(2026, 0, 1) + 31 * DAY));
  await apply(bounded);
  expect(await sessionsOf(organizationId)).not.toContain(id);
});

test('the audit log cannot be cut below the floor of the operator, and the entry has the new days', async () => {
  const { key, organizationId } = await gateway.createKey();
  const usual = await startTestGateway({}, { beside: gateway });
  const keep = (auditLogDays: number) =>
    usual.rest<{ error: string }>('PATCH', pathOf(organizationId), { key, body: { auditLogDays } });
  expect(await keep(89)).toMatchObject({
    status: 400,
    body: { error: 'auditLogDays: must be at least 90, as the operator has set' },
  });
  expect((await keep(90)).status).toBe(200);
  await usual.close();
  const entries = await gateway.dependencies.sql.query(
    `select detail from audit_entry where organization_id = $1 and operation = 'updateOrganizationRetention'`,
    [organizationId],
  );
  expect(entries).toEqual([{ detail: '90' }]);
  // RETENTION_MAX_DAYS is shorter.
  const own = await bounded.rest<{ auditLogDays: number }>('PATCH', pathOf(organizationId), {
    key,
    body: { auditLogDays: 30 },
  });
  expect([own.status, own.body.auditLogDays]).toEqual([200, 30]);
});

test('a hold that is set while retention runs wins or loses, never half', async () => {
  at(0);
  const { key, organizationId } = await gateway.createKey();
  const id = await finished(key);
  await set(key, organizationId, { sessionDays: 1 });
  at(3);
  const holding = gateway.dependencies.database.em.fork();
  await holding.begin();
  await holding.execute(`update session set held_at = now(), hold_reason = 'Evidence' where id = ?`, [id]);
  const applied = apply();
  await untilWaitingForLock(gateway, 1);
  await holding.commit();
  await applied;
  expect(await sessionsOf(organizationId)).toEqual([id]);
});

test('two workers delete each session once', async () => {
  at(0);
  const { key, organizationId } = await gateway.createKey();
  const ids = await Promise.all(Array.from({ length: 8 }, () => finished(key)));
  await set(key, organizationId, { sessionDays: 1 });
  at(3);
  bounded.setClock(new Date(Date.UTC(2026, 0, 1) + 3 * DAY));
  await Promise.all([apply(), apply(bounded)]);
  expect(await sessionsOf(organizationId)).toEqual([]);
  const { body } = await gateway.rest<{ items: { subjectId: string }[] }>('GET', '/v1/feed?types=session.deleted', {
    key,
  });
  expect(body.items.map(({ subjectId }) => subjectId).toSorted()).toEqual(ids.toSorted());
});

test('the followers of what is deleted are informed, each session once', async () => {
  at(0);
  const { key, organizationId } = await gateway.createKey();
  const old = [await finished(key), await finished(key)];
  at(20);
  await set(key, organizationId, { sessionDays: 10 });
  const published: string[] = [];
  const topics = [...old.map((id) => sessionTopic(id as SessionId)), sessionsTopic(organizationId)];
  const ends = topics.map((topic) => gateway.dependencies.notifier.subscribe(topic, () => published.push(topic)));
  await startListening(gateway);
  published.length = 0;
  await apply();
  for (const end of ends) end();
  expect(published.toSorted()).toEqual(topics.toSorted());
});

test('while the clock of the process differs from that of the database, nothing is deleted', async () => {
  at(0);
  const { key, organizationId } = await gateway.createKey();
  const id = await finished(key);
  await set(key, organizationId, { sessionDays: 10, occurrenceDays: 10, auditLogDays: 10 });
  const entries = async () => (await auditRows(gateway)).filter((row) => row.organizationId === organizationId).length;
  const written = await entries();
  gateway.setProcessClock(new Date(Date.UTC(2027, 1, 5)));
  await apply();
  expect(await sessionsOf(organizationId)).toEqual([id]);
  expect(await entries()).toBe(written);
  at(400);
  await apply();
  expect(await sessionsOf(organizationId)).toEqual([]);
});
