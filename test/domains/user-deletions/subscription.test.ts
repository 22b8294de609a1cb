import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { mutate, subscribe } from '../../support/fixtures/sessions.ts';

let gateway: TestGateway;
let second: TestGateway;
beforeAll(async () => {
  // Polls so rarely that only a notification can deliver a change.
  gateway = await startTestGateway({ USER_DELETION_DELAY: '3600' }, { timing: { livePollMs: 3_600_000 } });
  second = await startTestGateway({}, { beside: gateway });
});
afterAll(async () => {
  await second.close();
  await gateway.close();
});

const QUERY = 'subscription($id: ID!) { deletionJobChanged(deletionJobId: $id) { state finishedAt } }';

async function startDeletion() {
  const { organization } = await gateway.createKey();
  const leaver = await gateway.createKey({ organization });
  const { deletionJob } = await mutate<{ deletionJob: { id: string } }>(
    gateway,
    leaver.key,
    'deleteUser',
    { userId: leaver.userId },
    'deletionJob { id }',
  );
  const stream = await subscribe(gateway, leaver.key, QUERY, { id: deletionJob.id });
  const next = async () => {
    const { event, data = '' } = (await stream.nextData()) ?? {};
    return event === 'complete' ? event : (JSON.parse(data) as object);
  };
  return { leaver, deletionJobId: deletionJob.id, next };
}

test('a subscription delivers the current state and a change by another process, and completes when the deletion has ended', async () => {
  const { leaver, deletionJobId, next } = await startDeletion();
  expect(await next()).toEqual({ data: { deletionJobChanged: { state: 'QUEUED', finishedAt: null } } });
  await mutate(second, leaver.key, 'cancelUserDeletion', { deletionJobId });
  expect(await next()).toEqual({
    data: { deletionJobChanged: { state: 'CANCELLED', finishedAt: expect.any(String) } },
  });
  expect(await next()).toBe('complete');
});

test('revoking the key ends the subscription with an error', async () => {
  const { leaver, next } = await startDeletion();
  await next();
  await mutate(second, leaver.key, 'revokeApiKey', { apiKeyId: leaver.keyId });
  expect(await next()).toMatchObject({ errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] });
});
