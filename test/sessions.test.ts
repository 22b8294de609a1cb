import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from './helpers/gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

test('a session is recorded, paged and tailed', async () => {
  const { key } = await gateway.createKey();
  const created = await gateway.graphql<{ createSession: { session: { id: string; databaseId: string } } }>(
    key,
    `mutation { createSession(input: { title: "T", project: { id: "7d444840-9dc0-11d1-b245-5ffdce74fad2", name: "P" } }) { __typename ... on CreateSessionPayload { session { id databaseId project { name } state { current } artifacts { type } } } ... on Error { message } } }`,
  );
  expect(created.errors).toBeUndefined();
  const { id, databaseId } = created.data?.createSession.session ?? { id: '', databaseId: '' };
  const append = await gateway.graphql(key, `mutation ($input: AppendSessionEventsInput!) { appendSessionEvents(input: $input) { __typename ... on AppendSessionEventsPayload { firstId lastId isReplayed } ... on Error { message } } }`, {
    input: { sessionId: id, batchId: 'b1', events: [1, 2, 3].map((n) => ({ eventType: 'text', provider: 'anthropic', eventData: { type: 'text', index: n, extra: { a: 1 } } })) },
  });
  expect(append).toMatchObject({ data: { appendSessionEvents: { firstId: '1', lastId: '3' } } });
  const page = await gateway.rest('GET', `/v1/sessions/${databaseId}/events?limit=2`, { key });
  expect(page.text).toMatchInlineSnapshot(`"{"items":[{"id":1,"createdAt":"2026-11-20T19:49:18.879Z","eventType":"text","messageId":null,"sessionId":"fcf6ad73-0ba1-43d6-bb96-c1f9ecea4283","provider":"anthropic","eventData":{"type":"text","index":1,"extra":{"a":1}}},{"id":2,"createdAt":"2026-11-20T19:49:18.879Z","eventType":"text","messageId":null,"sessionId":"fcf6ad73-0ba1-43d6-bb96-c1f9ecea4283","provider":"anthropic","eventData":{"type":"text","index":2,"extra":{"a":1}}}],"nextCursor":"2"}"`);
  const patched = await gateway.rest('PATCH', `/v1/sessions/${databaseId}`, { key, body: { title: 'New', level: 3 } });
  expect(patched.text).toMatchInlineSnapshot(`"{"id":"fcf6ad73-0ba1-43d6-bb96-c1f9ecea4283","agent":null,"agentId":null,"artifactType":null,"baseBranch":null,"branchName":null,"targetBranch":null,"createdAt":"2026-11-20T19:49:18.853Z","updatedAt":"2026-11-20T19:49:18.899Z","lastQueuedAt":"2026-11-20T19:49:18.853Z","lastSeenAt":"2026-11-20T19:49:18.853Z","externalId":null,"externalUrl":null,"kind":"agent","level":3,"mode":"normal","projectId":"7d444840-9dc0-11d1-b245-5ffdce74fad2","sandboxSize":null,"sessionType":"Chat","title":"New","description":null,"visibility":"private","htmlUrl":"http://127.0.0.1:4000/sessions/fcf6ad73-0ba1-43d6-bb96-c1f9ecea4283","isPinned":false,"diffSummary":null,"artifacts":[],"project":{"id":"7d444840-9dc0-11d1-b245-5ffdce74fad2","name":"P","icon":"folder","color":"neutral"},"sessionSource":{"id":"29c5da68-12a2-477d-abb6-4b0f6364ae2d","name":"API","type":"api","repositories":[]},"sourcePullRequest":null,"state":{"isQueued":true,"isCancelled":false,"isCompleted":false,"isFailed":false,"inProgress":false,"current":"queued"}}"`);
  const gql = await gateway.graphql(key, `query($id: ID!) { session(id: $id) { title events(last: 2) { nodes { databaseId eventDataJson eventData { type index } } pageInfo { hasPreviousPage startCursor } } } }`, { id });
  expect(gql).toMatchInlineSnapshot(`
    {
      "data": {
        "session": {
          "events": {
            "nodes": [
              {
                "databaseId": 2,
                "eventData": {
                  "index": 2,
                  "type": "text",
                },
                "eventDataJson": {
                  "extra": {
                    "a": 1,
                  },
                  "index": 2,
                  "type": "text",
                },
              },
              {
                "databaseId": 3,
                "eventData": {
                  "index": 3,
                  "type": "text",
                },
                "eventDataJson": {
                  "extra": {
                    "a": 1,
                  },
                  "index": 3,
                  "type": "text",
                },
              },
            ],
            "pageInfo": {
              "hasPreviousPage": true,
              "startCursor": "2",
            },
          },
          "title": "New",
        },
      },
      "extensions": {
        "cost": {
          "limit": 20000,
          "requested": 7,
        },
        "requestId": "49e82483-51d5-4218-ab0d-11f04adc9476",
      },
    }
  `);
  await gateway.graphql(key, `mutation ($id: ID!) { a: transitionSession(input: { sessionId: $id, state: IN_PROGRESS }) { __typename } b: transitionSession(input: { sessionId: $id, state: COMPLETED }) { __typename } }`, { id });
  const tail = await gateway.fetch(`/v1/sessions/${databaseId}/events`, { headers: { Authorization: `Bearer ${key}`, Accept: 'text/event-stream' } });
  expect(await tail.text()).toMatchInlineSnapshot(`
    ": connected

    id: 1
    data: {"id":1,"createdAt":"2026-11-20T19:49:18.879Z","eventType":"text","messageId":null,"sessionId":"fcf6ad73-0ba1-43d6-bb96-c1f9ecea4283","provider":"anthropic","eventData":{"type":"text","index":1,"extra":{"a":1}}}

    id: 2
    data: {"id":2,"createdAt":"2026-11-20T19:49:18.879Z","eventType":"text","messageId":null,"sessionId":"fcf6ad73-0ba1-43d6-bb96-c1f9ecea4283","provider":"anthropic","eventData":{"type":"text","index":2,"extra":{"a":1}}}

    id: 3
    data: {"id":3,"createdAt":"2026-11-20T19:49:18.879Z","eventType":"text","messageId":null,"sessionId":"fcf6ad73-0ba1-43d6-bb96-c1f9ecea4283","provider":"anthropic","eventData":{"type":"text","index":3,"extra":{"a":1}}}

    event: end
    data: {}

    "
  `);
});
