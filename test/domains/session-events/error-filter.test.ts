import { expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { append, createSession } from '../../support/fixtures/sessions.ts';

const gateway = useTestGateway();

test('events that report an error are found by the failure of a tool, or by the name of the event or its type', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key);
  const data: readonly object[] = [
    { type: 'text', accumulatedText: 'no error here, nothing failed' },
    { type: 'tool_result', toolResult: { status: 'error' } },
    { type: 'tool_result', toolResult: { status: 'completed', output: 'error' } },
    { type: 'runner_error' },
    { type: 'x', event: { event: 'turn.FAILED', message: '' } },
    // The name of the event says more than the type of its line.
    { type: 'error', event: { event: 'warning', message: 'x' } },
    // The end of a call says whether it failed, not what it put out before.
    { type: 'x', itemId: 'a', toolName: 'Bash', toolResult: { status: 'running', output: 'so far' } },
    { type: 'x', itemId: 'a', toolResult: { status: 'completed', exitCode: 1 } },
    // Of a call all events are found that say that it has failed, and no other.
    { type: 'x', itemId: 'b', toolName: 'Bash', toolResult: { status: 'running', exitCode: 2 } },
    { type: 'x', itemId: 'b', toolResult: { status: 'error' } },
    { type: 'x', itemId: 'c', toolName: 'Bash', toolResult: { status: 'running', exitCode: 3 } },
    { type: 'x', itemId: 'c', toolResult: { status: 'completed', output: 'done' } },
  ];
  const events = data.map((eventData) => ({ eventType: 'x', provider: 'p', eventData }));
  await append(gateway, key, id, events);
  const query = `query($id: ID!, $isError: Boolean) { sessionEvents(sessionId: $id, filter: { isError: $isError }) { nodes { databaseId } totalCount } }`;
  const found = async (isError: boolean | null) => (await gateway.graphql(key, query, { id, isError })).data;
  const page = (...ids: number[]) => ({
    sessionEvents: { nodes: ids.map((databaseId) => ({ databaseId })), totalCount: ids.length },
  });
  expect(await found(true)).toEqual(page(2, 4, 5, 8, 9, 10, 11));
  expect(await found(false)).toEqual(page(1, 3, 6, 7, 12));
  expect(await found(null)).toEqual(page(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
});
