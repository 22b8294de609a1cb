import { expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { untilWaitingForLock, whileAppendsAreBlocked } from '../../support/fixtures/locks.ts';
import { append, createSession, eventsOf, mutate, readAll } from '../../support/fixtures/sessions.ts';

const gateway = useTestGateway();

test('a transition that is concurrent with an append waits for it, without a deadlock', async () => {
  const { key } = await gateway.createKey();
  const sessionId = await createSession(gateway, key);
  const outcomes = await whileAppendsAreBlocked(gateway, sessionId, async (release) => {
    const appended = append(gateway, key, sessionId, eventsOf(1));
    await untilWaitingForLock(gateway, 1);
    const moved = mutate(
      gateway,
      key,
      'transitionSession',
      { sessionId, state: 'CANCELLED' },
      'session { databaseId }',
    );
    await untilWaitingForLock(gateway, 2);
    await release();
    return Promise.all([appended, moved]);
  });
  expect(outcomes).toEqual([
    { __typename: 'AppendSessionEventsPayload', firstId: '1', lastId: '1', isReplayed: false },
    { __typename: 'TransitionSessionPayload', session: { databaseId: sessionId } },
  ]);
  expect(await readAll(gateway, key, sessionId)).toHaveLength(1);
});
