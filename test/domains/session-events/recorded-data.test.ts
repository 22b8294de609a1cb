import { beforeAll, describe, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { type EventPage, append, createSession } from '../../support/fixtures/sessions.ts';

const gateway = useTestGateway();
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
});

const list = (sessionId: string) => gateway.rest<EventPage>('GET', `/v1/sessions/${sessionId}/events`, { key });

describe('the data of recorded events', () => {
  test('eventData has the documented fields; eventDataJson and REST return the recorded data with unknown fields and in its order', async () => {
    const id = await createSession(gateway, key);
    const eventData = {
      zeta: { b: 1, a: [null, true, 1.5, 'é\u2028"\\\n'] },
      type: 'tool',
      scope: { kind: 'background', parentToolUseId: 'p', taskId: 't', more: 1 },
      source: 's',
      providerEvent: false,
      delivery: 'persist',
      event: { event: 'e', message: '', provider: 'x', messageId: null },
      index: 0,
      itemId: 'i',
      sequenceNumber: 2_147_483_647,
      accumulatedText: '😀',
      deltaType: 'input_json_delta',
      responsePhase: 'final_answer',
      toolName: 'n',
      toolResult: { status: 'error', output: 'o', exitCode: -1, error: 'bad' },
      snapshotId: 's',
      snapshotCreatedAt: 'yesterday',
    };
    await append(gateway, key, id, [
      { eventType: 'x', provider: 'mine', eventData },
      { eventType: 'x', provider: 'mine', eventData: { type: 'least' } },
    ]);
    const page = await list(id);
    expect(page.text).toContain(`"eventData":${JSON.stringify(eventData)}`);
    const query = `query($id: ID!) { session(id: $id) { events { nodes { eventDataJson eventData {
      type scope { kind parentToolUseId taskId } source providerEvent delivery event { event message provider messageId } index itemId sequenceNumber accumulatedText
      deltaType responsePhase toolName toolResult { status output exitCode error } snapshotId snapshotCreatedAt } } } } }`;
    const {
      zeta: _,
      scope: { more: __, ...scope },
      ...documented
    } = eventData;
    const typed = {
      ...documented,
      scope: { ...scope, kind: 'BACKGROUND' },
      delivery: 'PERSIST',
      deltaType: 'INPUT_JSON_DELTA',
      responsePhase: 'FINAL_ANSWER',
      toolResult: { ...eventData.toolResult, status: 'ERROR' },
    };
    const least = Object.fromEntries(Object.keys(typed).map((name) => [name, name === 'type' ? 'least' : null]));
    const answer = await gateway.graphql<{ session: { events: { nodes: { eventDataJson: unknown }[] } } }>(key, query, {
      id,
    });
    expect(answer.data).toEqual({
      session: {
        events: {
          nodes: [
            { eventDataJson: eventData, eventData: typed },
            { eventDataJson: { type: 'least' }, eventData: least },
          ],
        },
      },
    });
    expect(JSON.stringify(answer.data?.session.events.nodes[0]?.eventDataJson)).toBe(JSON.stringify(eventData));
  });

  test('data of a newer provider is stored and read byte for byte; in eventData, unknown values are null', async () => {
    const id = await createSession(gateway, key);
    const eventData = {
      type: 'thinking_delta',
      scope: { kind: 'teammate', teamId: 't-1' },
      delivery: 'batched',
      deltaType: 'signature_delta',
      responsePhase: 'reflection',
      toolResult: { status: 'queued', position: 3 },
      event: { event: 'thinking_delta', message: '{"signature":"…"}', provider: 'newest', budget: { tokens: 1024 } },
      '': [],
    };
    const events = [{ eventType: 'thinking', provider: 'anthropic_2027', eventData }];
    expect(await append(gateway, key, id, events)).toMatchObject({ __typename: 'AppendSessionEventsPayload' });
    expect((await list(id)).text).toContain(`"eventData":${JSON.stringify(eventData)}`);
    const query = `query($id: ID!) { session(id: $id) { events { nodes { eventType provider eventDataJson eventData {
      type scope { kind } delivery deltaType responsePhase toolResult { status } event { event provider } } } } } }`;
    const { data, errors } = await gateway.graphql<{ session: { events: { nodes: { eventDataJson: object }[] } } }>(
      key,
      query,
      { id },
    );
    const typed = {
      type: 'thinking_delta',
      scope: { kind: null },
      delivery: null,
      deltaType: null,
      responsePhase: null,
      toolResult: { status: null },
      event: { event: 'thinking_delta', provider: 'newest' },
    };
    expect([data?.session.events.nodes, errors]).toEqual([
      [{ eventType: 'thinking', provider: 'anthropic_2027', eventDataJson: eventData, eventData: typed }],
      undefined,
    ]);
    expect(JSON.stringify(data?.session.events.nodes[0]?.eventDataJson)).toBe(JSON.stringify(eventData));
  });

  test('one odd value loses no batch: text that cannot be stored is repaired and counted, integers have 64 bits, numbers stay as they came', async () => {
    const id = await createSession(gateway, key);
    const odd = String.raw`{"type":"x","index":9007199254740993,"accumulatedText":"cut \ud83d","toolResult":{"status":"error","output":"a\u0000b","exitCode":3221225477},"price":1.1,"id":1234567890123456789,"huge":1e400}`;
    const kept = odd.replace(String.raw`\ud83d`, '\ufffd').replace(String.raw`\u0000`, '\ufffd');
    const event = `{"eventType":"x","provider":"y","eventData":${odd}}`;
    const body = `{"batchId":"odd","events":[${event},{"eventType":"x","provider":"y","eventData":{"type":"fine"}}]}`;
    const send = () => gateway.rest('POST', `/v1/sessions/${id}/events`, { key, body });
    const counted = { firstId: 1, lastId: 2, events: 2, repairedTexts: 2 };
    expect(await send()).toMatchObject({ status: 201, body: { ...counted, isReplayed: false } });
    expect(await send()).toMatchObject({ status: 201, body: { ...counted, isReplayed: true } });
    const mutation = `mutation($data: JSON!) { appendSessionEvents(input: { sessionId: "${id}", events: [
      { eventType: "x", provider: "y", eventData: $data } ] }) { ... on AppendSessionEventsPayload { repairedTexts } ... on Error { message } } }`;
    const answer = await gateway.fetch('/graphql', {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: `{"query":${JSON.stringify(mutation)},"variables":{"data":${odd}}}`,
    });
    expect(await answer.json()).toMatchObject({ data: { appendSessionEvents: { repairedTexts: 2 } } });
    expect((await list(id)).text.split(`"eventData":${kept}`).length).toBe(3);
    const read = await gateway.fetch('/graphql', {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        query: `{ session(id: "${id}") { events(first: 1) { nodes { eventDataJson eventData { index accumulatedText toolResult { exitCode output } } } } } }`,
      }),
    });
    const text = await read.text();
    expect(text).toContain(`"eventDataJson":${kept}`);
    expect(text).toContain(
      '"eventData":{"index":null,"accumulatedText":"cut \ufffd","toolResult":{"exitCode":null,"output":"a\ufffdb"}}',
    );
  });
});
