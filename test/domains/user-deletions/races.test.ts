import { expect, test } from 'vitest';
import { userDeletionJob } from '../../../src/domains/user-deletions/deletion-job.ts';
import { DELETION_STEPS } from '../../../src/gateway/background-jobs.ts';
import { workContext } from '../../../src/gateway/contexts.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { untilWaitingForLock, whileLocked, whileAppendsAreBlocked } from '../../support/fixtures/locks.ts';
import { mcpHandler, startPeer } from '../../support/peers/mcp-server.ts';
import { append, createSession, eventsOf } from '../../support/fixtures/sessions.ts';

const gateway = useTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });

const rows = <Row extends object>(text: string, ...values: unknown[]) =>
  gateway.dependencies.sql.query<Row>(text, values);

/** Queues the deletion of an account. @returns the id of its job. */
async function requestDeletion({ key, userId }: { key: string; userId: string }): Promise<string> {
  const { body } = await gateway.rest<{ deletionJobId: string }>('DELETE', `/v1/users/${userId}`, { key });
  return body.deletionJobId;
}

/** Runs the job like a worker, but returns its errors. */
function run(deletionJobId: string): Promise<void> {
  const { log } = gateway.dependencies;
  const { signal } = new AbortController();
  return userDeletionJob(DELETION_STEPS).run(
    { ...workContext(gateway.dependencies), log, signal },
    { deletionJobId },
    crypto.randomUUID(),
  );
}

test('if the last two admins of an organization that they have not created delete their accounts at the same time, a member becomes admin', async () => {
  const first = await gateway.createKey();
  const { organization, organizationId } = first;
  const second = await gateway.createKey({ organization, role: 'admin' });
  const heir = await gateway.createKey({ organization, role: 'member' });
  await rows('update organization set creator_id = null where id = $1', organizationId);
  const jobs = await Promise.all([first, second].map(requestDeletion));
  // Both jobs start, and wait before they end the memberships.
  await whileLocked(
    gateway,
    'select from membership where organization_id = ? for update',
    [organizationId],
    async (release) => {
      const running = jobs.map(run);
      await untilWaitingForLock(gateway, 2);
      await release();
      await Promise.all(running);
    },
  );
  expect(await rows('select state from deletion_job where id = any($1) order by state', jobs)).toEqual([
    { state: 'done' },
    { state: 'done' },
  ]);
  expect(await rows('select user_id, role from membership where organization_id = $1', organizationId)).toEqual([
    { user_id: heir.userId, role: 'admin' },
  ]);
});

test('the deletion of a session waits for a concurrent append, without a deadlock, and deletes its event', async () => {
  const user = await gateway.createKey();
  const sessionId = await createSession(gateway, user.key, { visibility: 'PRIVATE' });
  const job = await requestDeletion(user);
  const [appended] = await whileAppendsAreBlocked(gateway, sessionId, async (release) => {
    const appending = append(gateway, user.key, sessionId, eventsOf(1));
    await untilWaitingForLock(gateway, 1);
    const deleting = run(job);
    await untilWaitingForLock(gateway, 2);
    await release();
    return Promise.all([appending, deleting]);
  });
  expect(appended).toMatchObject({ __typename: 'AppendSessionEventsPayload', lastId: '1' });
  expect(await rows('select state from deletion_job where id = $1', job)).toEqual([{ state: 'done' }]);
  for (const table of ['session_event', 'session_stream', 'deleted_session'])
    expect([table, await rows(`select 1 from ${table} where session_id = $1`, sessionId)]).toEqual([table, []]);
});

test('creating a connection whose server answers after the organization was deleted stores neither row nor secret', async () => {
  const user = await gateway.createKey();
  const asked = Promise.withResolvers<void>();
  const responseAllowed = Promise.withResolvers<void>();
  const handleRequest = mcpHandler();
  const server = await startPeer((request, response) => {
    asked.resolve();
    void responseAllowed.promise.then(() => handleRequest(request, response));
  });
  try {
    const created = gateway.rest('POST', '/v1/mcp-connections', {
      key: user.key,
      body: {
        name: 'late',
        serverUrl: `${server.origin}/mcp`,
        authType: 'static_headers',
        headers: { 'X-Key': 'sssh' },
      },
    });
    await asked.promise;
    await run(await requestDeletion(user));
    responseAllowed.resolve();
    expect((await created).status).toBe(401);
    for (const table of ['mcp_connection', 'secret'])
      expect([table, await rows(`select 1 from ${table} where organization_id = $1`, user.organizationId)]).toEqual([
        table,
        [],
      ]);
  } finally {
    responseAllowed.resolve();
    await server.stop();
  }
});
