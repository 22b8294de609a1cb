import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { organizationDeletionJob } from '../../../src/domains/organization-deletions/deletion-job.ts';
import { workContext } from '../../../src/gateway/contexts.ts';
import { DELETION_STEPS } from '../../../src/gateway/background-jobs.ts';
import { failuresOf, finishInSeveralWorkers, recordFinishes } from '../../support/fixtures/deletion-jobs.ts';
import { type Person, actingIn, createPerson } from '../../support/fixtures/api-keys.ts';
import { type TestGateway, startTestGateway, useOwnGateway } from '../../support/fixtures/gateway.ts';
import { INVITE } from '../../support/fixtures/invitations.ts';
import { untilWaitingForLock, whileAppendsAreBlocked } from '../../support/fixtures/locks.ts';
import { REMAINING_ROWS, deleteOrganization, tablesWith } from '../../support/fixtures/organization-deletions.ts';
import { append, createSession, eventsOf } from '../../support/fixtures/sessions.ts';
import { runJobs } from '../../support/processes/jobs.ts';

/** The deletion of an organization, concurrent with other operations in it, on two gateways. */

const gateway = useOwnGateway();
let peer: TestGateway;
let person: Person;
let slug: string;
let organizationId: string;
beforeAll(async () => {
  peer = await startTestGateway({}, { beside: gateway });
});
afterAll(() => peer.close());
beforeEach(async () => {
  person = await createPerson(gateway);
  slug = `doomed-${randomUUID().slice(0, 13)}`;
  ({ organizationId } = await person.join(slug, 'admin'));
});

const rows = <Row extends object>(text: string, ...values: unknown[]) =>
  gateway.dependencies.sql.query<Row>(text, values);
const remove = (to: TestGateway = gateway) => deleteOrganization(to, person.key, { confirmSlug: slug }, slug);

/** Runs the deletion job like a worker, but returns its errors. */
function runJob(deletionJobId: string): Promise<void> {
  const { log } = gateway.dependencies;
  const { signal } = new AbortController();
  const job = organizationDeletionJob(DELETION_STEPS);
  return job.run({ ...workContext(gateway.dependencies), log, signal }, { deletionJobId }, crypto.randomUUID());
}

/** The number of rows of the organization in each table that requests write to. */
async function rowsOfOrganization(): Promise<Record<string, number>> {
  const { audit_entry: _, deletion_job: __, ...tables } = await tablesWith(gateway, organizationId);
  return tables;
}

const definition = () => ({ label: 'Paid', name: `event_${randomUUID().replaceAll('-', '')}` });
const SEND_WRITES: readonly ((to: TestGateway, key: string, session: string) => Promise<{ status: number }>)[] = [
  (to, key) => to.rest('POST', '/v1/sessions', { key, headers: actingIn(slug), body: { title: 'Late' } }),
  (to, key, session) =>
    to.rest('POST', `/v1/sessions/${session}/events`, {
      key,
      headers: actingIn(slug),
      body: { events: [{ eventType: 'text', provider: 'anthropic', eventData: { type: 'text' } }] },
    }),
  (to, key) =>
    to.rest('POST', '/events/2026-03/event-definitions', { key, headers: actingIn(slug), body: definition() }),
  (to, key) =>
    to.rest('POST', '/events/2026-03/send', {
      key,
      headers: actingIn(slug),
      body: { eventName: 'paid', properties: {}, email: 'a@example.com' },
    }),
  (to, key) =>
    to.rest('POST', '/v1/mcp-connections', {
      key,
      headers: actingIn(slug),
      body: { type: 'stdio', name: randomUUID(), command: 'mcp', env: { TOKEN: 'sssh' } },
    }),
  (to, key) =>
    to.rest('POST', '/v1/sessions', {
      key,
      headers: { ...actingIn(slug), 'Idempotency-Key': randomUUID() },
      body: { title: 'Late' },
    }),
  async (to, key) => {
    const input = { email: `${randomUUID()}@example.com` };
    const { data } = await to.graphql<{ inviteOrganizationMember: object } | null>(
      key,
      INVITE,
      { input },
      actingIn(slug),
    );
    return { status: data?.inviteOrganizationMember ? 200 : 404 };
  },
];

test('concurrent writes: after the answer to the deletion nothing is written, and after the job nothing remains', async () => {
  const { key: bound } = await person.join(slug);
  await gateway.rest('POST', '/events/2026-03/event-definitions', { key: bound, body: { label: 'Paid' } });
  const session = await createSession(gateway, bound);
  let written = 0;
  const writers = SEND_WRITES.flatMap((write) =>
    [gateway, peer].map(async (to, index) => {
      for (;;) {
        const { status } = await write(to, index === 0 ? bound : person.key, session);
        if (status >= 400) return status;
        written += 1;
      }
    }),
  );
  await expect.poll(() => written).toBeGreaterThan(40);
  expect(await remove(peer)).toMatchObject({ __typename: 'DeleteOrganizationPayload' });
  const before = await rowsOfOrganization();
  const ends = await Promise.all(writers);
  expect(ends.filter((status) => ![401, 403, 404].includes(status))).toEqual([]);
  expect(await rowsOfOrganization()).toEqual(before);
  await runJobs(gateway);
  expect(await tablesWith(gateway, organizationId)).toEqual(REMAINING_ROWS);
  expect(await tablesWith(gateway, session)).toEqual({});
});

test('the deletion waits for a write that has begun before, and deletes its rows, too', async () => {
  const { key } = await person.join(slug);
  const session = await createSession(gateway, key);
  let isAnswered = false;
  await whileAppendsAreBlocked(gateway, session, async (release) => {
    const appending = append(gateway, key, session, eventsOf(1));
    await untilWaitingForLock(gateway, 1);
    const deleting = remove(peer).then(() => (isAnswered = true));
    await untilWaitingForLock(gateway, 2);
    // A worker that gets the job before the answer is sent also waits for the write.
    const working = runJobs(gateway);
    await untilWaitingForLock(gateway, 3);
    expect(isAnswered).toBe(false);
    await release();
    const [appended] = await Promise.all([appending, deleting, working]);
    expect(appended).toMatchObject({ __typename: 'AppendSessionEventsPayload', lastId: '1' });
  });
  expect(await tablesWith(gateway, organizationId)).toEqual(REMAINING_ROWS);
});

test('10 concurrent requests for the deletion create one job', async () => {
  const answers = await Promise.all(Array.from({ length: 10 }, (_, index) => remove(index % 2 ? peer : gateway)));
  expect(answers.filter((answer) => answer?.__typename === 'DeleteOrganizationPayload')).toHaveLength(1);
  expect(await rows('select 1 from deletion_job where organization_id = $1', organizationId)).toHaveLength(1);
});

test('a job that failed at any step can be run again, also by several workers at the same time, and is done once', async () => {
  const countFinishes = await recordFinishes(gateway);
  const { key } = await person.join(slug);
  const session = await createSession(gateway, key);
  await append(gateway, key, session, eventsOf(2));
  await gateway.rest('POST', '/events/2026-03/event-definitions', { key, body: { label: 'Paid' } });
  await gateway.rest('POST', '/v1/mcp-connections', {
    key,
    body: { type: 'stdio', name: 'Local', command: 'mcp', env: { TOKEN: 'sssh' } },
  });
  const id = (await remove())?.deletionJob?.databaseId ?? '';
  await rows(
    `create or replace function fail_for_test() returns trigger language plpgsql as $$ begin raise exception 'as if the worker died'; end $$`,
  );
  // In the order in which the job deletes from them.
  for (const table of [
    'mcp_connection',
    'session',
    'event_definition',
    'audit_entry',
    'session_event',
    'organization',
  ]) {
    await rows(`create trigger fail_for_test after delete on ${table} for each row execute function fail_for_test()`);
    await expect(runJob(id)).rejects.toThrow('as if the worker died');
    await rows(`drop trigger fail_for_test on ${table}`);
    expect(await rows('select state from deletion_job where id = $1', id)).toEqual([{ state: 'running' }]);
  }
  const outcomes = await Promise.allSettled([runJob(id), runJob(id), runJob(id)]);
  expect(failuresOf(outcomes)).toEqual([]);
  expect(outcomes.map(({ status }) => status)).toContain('fulfilled');
  expect(await rows('select state, member_ids from deletion_job where id = $1', id)).toEqual([
    { state: 'done', member_ids: [] },
  ]);
  expect(await tablesWith(gateway, organizationId)).toEqual(REMAINING_ROWS);
  await runJob(id);
  expect(await countFinishes(id)).toBe(1);
});

test('of several workers that have deleted everything, one finishes the job', async () => {
  const countFinishes = await recordFinishes(gateway);
  const id = (await remove())?.deletionJob?.databaseId ?? '';
  await finishInSeveralWorkers(gateway, 'organization', () => runJob(id));
  expect(await countFinishes(id)).toBe(1);
  expect(await tablesWith(gateway, organizationId)).toEqual(REMAINING_ROWS);
});
