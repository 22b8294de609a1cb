import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import { type Peer, mcpHandler, startPeer } from '../../support/peers/mcp-server.ts';
import { dumpTables } from '../../support/fixtures/second-gateway.ts';
import { storedAnswers } from '../../support/fixtures/idempotency.ts';
import { createSession, eventsOf } from '../../support/fixtures/sessions.ts';
import { transactionsEnd } from '../../support/fixtures/transactions.ts';

/** `Idempotency-Key` on GraphQL mutations, which can have only one field. */

const gateway = useOwnGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
let server: Peer;
let key: string;

beforeAll(async () => {
  server = await startPeer(mcpHandler());
});

beforeEach(async () => {
  ({ key } = await gateway.createKey());
});

afterAll(() => server.stop());

interface Sent {
  readonly status: number;
  readonly replayed: string | null;
  readonly body: {
    data?: Record<string, never> | null;
    errors?: { message: string; path?: string[]; extensions?: object }[];
  };
  /** The exact text of `data`. */
  readonly data: string | undefined;
}

async function send(
  query: string,
  idempotencyKey: string,
  { variables, operationName, by = key }: { variables?: object; operationName?: string; by?: string } = {},
): Promise<Sent> {
  const response = await gateway.fetch('/graphql', {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${by}`,
      'Content-Type': 'application/json',
      Accept: 'application/json',
      'Idempotency-Key': idempotencyKey,
    },
    body: JSON.stringify({ query, variables, operationName }),
  });
  const text = await response.text();
  return {
    status: response.status,
    replayed: response.headers.get('idempotent-replayed'),
    body: JSON.parse(text),
    data: /^\{(?:"errors":.*,)?"data":(.*?),"extensions":/.exec(text)?.[1],
  };
}

const createKey = (alias = 'createApiKey', name = 'Runner') =>
  `${alias}: createApiKey(input: { name: "${name}", scopes: [SESSIONS_READ] }) { __typename ... on CreateApiKeyPayload { key apiKey { databaseId name } } ... on Error { message code } }`;
const keys = async () =>
  (
    await gateway.dependencies.sql.query(
      'select 1 from api_key where user_id = (select user_id from api_key where hash = sha256($1))',
      [key],
    )
  ).length;

test('a mutation runs once, and a repeated request gets the same bytes, however its document is formatted', async () => {
  const before = await keys();
  const first = await send(`mutation { ${createKey()} }`, 'k-1');
  expect(first).toMatchObject({
    status: 200,
    replayed: null,
    body: { data: { createApiKey: { __typename: 'CreateApiKeyPayload', key: expect.stringMatching(/^wgk_/) } } },
  });
  const second = await send(`mutation {\n  ${createKey()}\n}`, 'k-1');
  const third = await send(`mutation { ${createKey()} }`, 'k-1');
  expect([second, third].map(({ status, replayed, data }) => ({ status, replayed, data }))).toEqual(
    Array.from({ length: 2 }, () => ({ status: 200, replayed: 'true', data: first.data })),
  );
  expect(await keys()).toBe(before + 1);
});

test('the database does not contain a secret of a stored answer', async () => {
  const { body } = await send(`mutation { ${createKey()} }`, 'k-1');
  const { createApiKey } = body.data as unknown as { createApiKey: { key: string } };
  expect(await dumpTables(gateway)).not.toContain(createApiKey.key);
});

test('409: the same key with another input or another selection', async () => {
  await send(`mutation { ${createKey()} }`, 'k-1');
  const refused = {
    status: 409,
    replayed: null,
    body: {
      data: null,
      errors: [
        {
          message:
            'Idempotency-Key: was used for another request; use a new key for each request, and the same key only to retry a request',
          path: ['createApiKey'],
          extensions: { code: 'CONFLICT' },
        },
      ],
    },
  };
  expect(await send(`mutation { ${createKey('createApiKey', 'Other')} }`, 'k-1')).toMatchObject(refused);
  expect(await send(`mutation { ${createKey().replace('databaseId', 'id')} }`, 'k-1')).toMatchObject(refused);
});

test('other values of variables make another request, but variables that the operation does not declare are ignored', async () => {
  const query = `mutation A($name: String!) { createApiKey(input: { name: $name, scopes: [SESSIONS_READ] }) { ... on CreateApiKeyPayload { apiKey { databaseId } } } }`;
  const first = await send(query, 'k-1', { variables: { name: 'One' } });
  const again = await send(query, 'k-1', { variables: { bogus: 1, name: 'One' } });
  expect([again.replayed, again.data]).toEqual(['true', first.data]);
  const changed = await send(query, 'k-1', { variables: { name: 'Two' } });
  expect([changed.status, changed.body.errors?.map(({ path }) => path)]).toEqual([409, [['createApiKey']]]);
});

test('400: a mutation with several fields is refused before any of them runs; `__typename` does not count', async () => {
  const before = await keys();
  for (const body of [
    `${createKey('a')} ${createKey('b')}`,
    `${createKey('a')} ...F } fragment F on Mutation { ... { ${createKey('b')} }`,
  ]) {
    expect(await send(`mutation { ${body} }`, 'k-1')).toMatchObject({
      status: 400,
      replayed: null,
      body: {
        errors: [
          {
            message:
              'Idempotency-Key: a mutation with this header can have only one field; send a separate request with its own key for each field',
            extensions: { code: 'INVALID_INPUT' },
          },
        ],
      },
    });
  }
  expect(await keys()).toBe(before);
  expect(await send('mutation { __typename }', 'k-1')).toMatchObject({
    status: 200,
    replayed: null,
    body: { data: { __typename: 'Mutation' } },
  });
});

test('a mutation that failed with a typed error runs again', async () => {
  const sessionId = await createSession(gateway, key);
  const query = `mutation { updateSession(input: { sessionId: "${sessionId}", mcpServers: ["tracker"] }) { __typename ... on UpdateSessionPayload { session { title } } } }`;
  const before = await send(query, 'k-1');
  expect(before.body.data).toEqual({ updateSession: { __typename: 'ValidationError' } });
  await gateway.rest('POST', '/v1/mcp-connections', {
    key,
    body: { type: 'stdio', name: 'tracker', command: 'npx', visibility: 'personal' },
  });
  const after = await send(query, 'k-1');
  expect(after).toMatchObject({ status: 200, replayed: null });
  expect(after.body.data).toMatchObject({ updateSession: { __typename: 'UpdateSessionPayload' } });
  expect(await send(query, 'k-1')).toMatchObject({ replayed: 'true', data: after.data });
});

test('fragments, conditions, aliases and __typename get the same answer as without an idempotency key', async () => {
  const document = (name: string) => `mutation Whole($yes: Boolean = true, $no: Boolean = false) {
    __typename
    ...One
    ... @skip(if: $no) { made: createApiKey(input: { name: "${name}", scopes: [SESSIONS_READ] }) { again: __typename } }
  }
  query Other { __typename }
  fragment One on Mutation { made: createApiKey(input: { name: "${name}", scopes: [SESSIONS_READ] }) { ...Name @include(if: $yes) } }
  fragment Name on CreateApiKeyPayload { apiKey { name } }`;
  const strip = (data: unknown) => JSON.stringify(data).replaceAll(/wgk_\w+|[\da-f-]{36}/g, '…');
  const plain = await gateway.graphql(key, document('Runner').replace('query Other { __typename }', ''));
  const first = await send(document('Runner'), 'k-1', { operationName: 'Whole' });
  expect(strip(first.body.data)).toBe(strip(plain.data));
  expect(await send(document('Runner'), 'k-1', { operationName: 'Whole' })).toMatchObject({
    status: 200,
    replayed: 'true',
    data: first.data,
  });
});

test('20 concurrent requests with one key have one effect and get 20 equal answers', async () => {
  const before = await keys();
  const answers = await Promise.all(Array.from({ length: 20 }, () => send(`mutation { ${createKey()} }`, 'k-1')));
  expect(new Set(answers.map(({ data }) => data)).size).toBe(1);
  expect(answers.filter(({ replayed }) => replayed === null)).toHaveLength(1);
  expect(await keys()).toBe(before + 1);
});

test('events that are appended with a key are stored once and notified once, and the batch id still works with another key', async () => {
  const sessionId = await createSession(gateway, key);
  const notified: string[] = [];
  const end = gateway.dependencies.notifier.subscribe(`session:${sessionId}`, () => notified.push(sessionId));
  // Subscribers are notified once when the connection begins to listen.
  await expect.poll(() => notified.length).toBe(1);
  const query = `mutation($events: [RecordedEventInput!]!, $batchId: String) {
    appendSessionEvents(input: { sessionId: "${sessionId}", batchId: $batchId, events: $events }) { __typename ... on AppendSessionEventsPayload { firstId lastId isReplayed } ... on Error { message } }
  }`;
  const variables = { batchId: 'b-1', events: eventsOf(3) };
  const stored = { __typename: 'AppendSessionEventsPayload', firstId: '1', lastId: '3', isReplayed: false };
  expect((await send(query, 'k-1', { variables })).body.data).toEqual({ appendSessionEvents: stored });
  expect(notified).toHaveLength(2);
  expect((await send(query, 'k-1', { variables })).body.data).toEqual({ appendSessionEvents: stored });
  expect(notified).toHaveLength(2);
  // With another key the operation runs. It reports that the batch was stored before.
  expect((await send(query, 'k-2', { variables })).body.data).toEqual({
    appendSessionEvents: { ...stored, isReplayed: true },
  });
  const moved = await send(
    `mutation { transitionSession(input: { sessionId: "${sessionId}", state: IN_PROGRESS }) { ... on TransitionSessionPayload { session { state { current } } } } }`,
    'k-3',
  );
  expect(moved.status).toBe(200);
  expect(notified).toHaveLength(3);
  end();
});

test('concurrent requests with one batch id and different keys succeed, although a statement violates a constraint', async () => {
  const sessionId = await createSession(gateway, key);
  const query = `mutation($events: [RecordedEventInput!]!) { appendSessionEvents(input: { sessionId: "${sessionId}", batchId: "b", events: $events }) { ... on AppendSessionEventsPayload { firstId } } }`;
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => send(query, randomUUID(), { variables: { events: eventsOf(2) } })),
  );
  expect(new Set(answers.map(({ data }) => data))).toEqual(new Set(['{"appendSessionEvents":{"firstId":"1"}}']));
});

test('a mutation that calls other servers, itself or in its payload, runs without an open transaction', async () => {
  const checks: Promise<void>[] = [];
  const { handler } = server;
  server.handler = (request, response) => {
    const check = transactionsEnd(gateway);
    checks.push(check);
    void check.catch(() => undefined).then(() => handler(request, response));
  };
  try {
    const create = `mutation { createMcpServer(input: { remote: { name: "Tracker", serverUrl: "${server.origin}/mcp", authType: OAUTH, visibility: PERSONAL } }) { ... on CreateMcpServerPayload { mcpServer { databaseId status } } ... on Error { message } } }`;
    const created = await send(create, 'k-1');
    expect(created.status).toBe(200);
    expect(await send(create, 'k-1')).toMatchObject({ replayed: 'true', data: created.data });
    const { createMcpServer } = created.body.data as unknown as {
      createMcpServer: { mcpServer: { databaseId: string } };
    };
    const rename = `mutation { updateMcpServer(input: { mcpServerId: "${createMcpServer.mcpServer.databaseId}", name: "Issues" }) { ... on UpdateMcpServerPayload { mcpServer { name ...Tools } } } } fragment Tools on McpServer { tools { name } }`;
    const renamed = await send(rename, 'k-2');
    expect(renamed.body.data).toEqual({
      updateMcpServer: { mcpServer: { name: 'Issues', tools: [{ name: 'add' }, { name: 'now' }] } },
    });
    expect(await send(rename, 'k-2')).toMatchObject({ replayed: 'true', data: renamed.data });
  } finally {
    server.handler = handler;
  }
  expect(checks.length).toBeGreaterThan(1);
  await Promise.all(checks);
});

test('a key over 255 characters gets 400 in a mutation and is ignored in a query', async () => {
  expect(await send(`mutation { ${createKey()} }`, 'k'.repeat(256))).toMatchObject({
    status: 400,
    body: {
      data: null,
      errors: [{ message: 'Idempotency-Key: must be 1 to 255 characters', extensions: { code: 'INVALID_INPUT' } }],
    },
  });
  expect(await send('{ viewer { __typename } }', 'k'.repeat(256))).toMatchObject({ status: 200, replayed: null });
});

test('a mutation that is answered without data has no effect, and no answer is stored', async () => {
  const before = await keys();
  const answer = await send(
    `mutation($name: String!) { createApiKey(input: { name: $name, scopes: [SESSIONS_READ] }) { __typename } }`,
    'k-1',
  );
  expect([answer.body.data, answer.body.errors?.length]).toEqual([undefined, 1]);
  expect(await keys()).toBe(before);
  expect(await storedAnswers(gateway, key)).toEqual([]);
});
