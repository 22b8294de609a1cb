import { randomUUID } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import { userDeletionJob } from '../../../src/domains/user-deletions/deletion-job.ts';
import { DELETION_STEPS } from '../../../src/gateway/background-jobs.ts';
import { workContext } from '../../../src/gateway/contexts.ts';
import { failuresOf, finishInSeveralWorkers, recordFinishes } from '../../support/fixtures/deletion-jobs.ts';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import { expectNoHalfDeletedSession, remainingData, seedAccount } from '../../support/fixtures/user-deletions.ts';
import { runJobs } from '../../support/processes/jobs.ts';

const gateway = useOwnGateway();
afterEach(() => rows('delete from pgboss.job'));

const rows = <Row extends object>(text: string, ...values: unknown[]) =>
  gateway.dependencies.sql.query<Row>(text, values);

/** Runs the deletion job like a worker, but returns its errors. */
function runJob(deletionJobId: string): Promise<void> {
  const { log } = gateway.dependencies;
  const { signal } = new AbortController();
  return userDeletionJob(DELETION_STEPS).run(
    { ...workContext(gateway.dependencies), log, signal },
    { deletionJobId },
    crypto.randomUUID(),
  );
}

test('several workers can run the deletion job of an account at the same time, and it is done once', async () => {
  const countFinishes = await recordFinishes(gateway);
  const { user, alone } = await seedAccount(gateway);
  const answer = await gateway.rest<{ deletionJobId: string }>('DELETE', `/v1/users/${user.userId}`, {
    key: user.key,
  });
  const { deletionJobId } = answer.body;
  const outcomes = await Promise.allSettled([1, 2, 3].map(() => runJob(deletionJobId)));
  expect(failuresOf(outcomes)).toEqual([]);
  expect(outcomes.map(({ status }) => status)).toContain('fulfilled');
  await expectNoHalfDeletedSession(gateway);
  expect(await remainingData(gateway, alone)).toEqual({ sessions: 0, definitions: 0, events: 0 });
  expect(await rows('select state from deletion_job where user_id = $1', user.userId)).toEqual([{ state: 'done' }]);
  expect(await rows('select session_id from deleted_session')).toEqual([]);
  await runJob(deletionJobId);
  expect(await countFinishes(deletionJobId)).toBe(1);
});

test('of several workers that have deleted everything of an account, one finishes the job', async () => {
  const countFinishes = await recordFinishes(gateway);
  const { key, userId } = await gateway.createKey();
  const { body } = await gateway.rest<{ deletionJobId: string }>('DELETE', `/v1/users/${userId}`, { key });
  await finishInSeveralWorkers(gateway, 'user_account', () => runJob(body.deletionJobId));
  expect(await countFinishes(body.deletionJobId)).toBe(1);
  expect(await rows('select 1 from user_account where id = $1', userId)).toEqual([]);
});

test('the deletion of an account also deletes rows that are inserted while it runs', async () => {
  const { user } = await seedAccount(gateway);
  const late = randomUUID();
  await rows('create sequence once');
  // Simulates a request that was accepted before the keys were revoked, and inserts after all other rows were deleted.
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

test('the deletion of an account leaves no rows of requests that run at the same time', async () => {
  const { user } = await seedAccount(gateway);
  const sessions = await rows<{ id: string }>(
    'select id from session where creator_id = $1 and organization_id = $2 limit 40',
    user.userId,
    user.organizationId,
  );
  const { deletionJobId } = (
    await gateway.rest<{ deletionJobId: string }>('DELETE', `/v1/users/${user.userId}`, { key: user.key })
  ).body;
  let answered = 0;
  let isDeletionDone = false;
  // Requests are accepted until the key is revoked, and accepted requests finish. One that begins after the deletion is refused.
  const requests = sessions.map(async ({ id }) => {
    for (;;) {
      const wasDeleted = isDeletionDone;
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
      expect({ statuses, wasDeleted }).toEqual({ statuses: [200, 200], wasDeleted: false });
      answered += 1;
    }
  });
  await expect.poll(() => answered).toBeGreaterThan(10);
  await runJobs(gateway);
  isDeletionDone = true;
  await Promise.all(requests);
  await expectNoHalfDeletedSession(gateway);
  expect(await rows('select state from deletion_job where id = $1', deletionJobId)).toEqual([{ state: 'done' }]);
  expect(await rows('select 1 from session where creator_id = $1 or title = $2', user.userId, 'late')).toEqual([]);
  expect(await rows('select 1 from session_event')).toEqual([]);
  expect(await rows('select session_id from deleted_session')).toEqual([]);
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
