import { beforeAll, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { append, createSession, mutate, pullRequestInput } from '../../support/fixtures/sessions.ts';

const gateway = useTestGateway();
let key: string;
let id: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
  id = await createSession(gateway, key, { description: '🙂🙂🙂 said' });
  const recorded = { sessionId: id, type: 'PULL_REQUEST' };
  const { artifact } = await mutate<{ artifact: { id: string } }>(
    gateway,
    key,
    'recordArtifact',
    recorded,
    'artifact { id }',
  );
  const input = pullRequestInput(artifact.id);
  await mutate(gateway, key, 'recordPullRequest', { ...input, diff: { ...input.diff, data: '+added line' } });
  const eventData = {
    type: 'text',
    accumulatedText: 'accumulated',
    event: { event: 'said', message: 'message' },
    toolResult: { status: 'completed', output: 'output' },
    list: ['some text', 1, null, true],
  };
  await append(gateway, key, id, [{ eventType: 'x', provider: 'y', eventData }]);
});

test('long texts end after maxLength characters, and are whole without it', async () => {
  const query = `query($id: ID!, $max: Int) { session(id: $id) {
    description(maxLength: $max)
    artifacts(first: 1) { nodes { pullRequests(first: 1) { nodes { diff { data(maxLength: $max) } } } } }
    events(first: 1) { nodes {
      eventData { accumulatedText(maxLength: $max) event { message(maxLength: $max) } toolResult { output(maxLength: $max) } }
      eventDataJson(maxLength: $max)
    } }
  } }`;
  const read = async (max: number | null) => (await gateway.graphql(key, query, { id, max })).data;
  const textsOf = (...[description, data, accumulatedText, message, output]: string[]) => ({
    session: {
      description,
      artifacts: { nodes: [{ pullRequests: { nodes: [{ diff: { data } }] } }] },
      events: { nodes: [{ eventData: { accumulatedText, event: { message }, toolResult: { output } } }] },
    },
  });
  expect(await read(2)).toMatchObject(textsOf('🙂🙂', '+a', 'ac', 'me', 'ou'));
  expect(await read(2)).toMatchObject({
    session: { events: { nodes: [{ eventDataJson: { type: 'te', list: ['so', 1, null, true] } }] } },
  });
  for (const max of [null, 1000])
    expect(await read(max)).toMatchObject(textsOf('🙂🙂🙂 said', '+added line', 'accumulated', 'message', 'output'));
});

test('maxLength is at least 1', async () => {
  const query = 'query($id: ID!) { session(id: $id) { description(maxLength: 0) } }';
  const { data, errors } = await gateway.graphql(key, query, { id });
  expect([data, errors?.[0]?.message]).toEqual([{ session: { description: null } }, 'maxLength: must be at least 1']);
});
