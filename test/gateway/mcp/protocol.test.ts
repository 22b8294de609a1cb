import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { issueKey } from '../../../src/operator/issue-key.ts';
import { type TestGateway, startTestGateway, useTestGateway } from '../../support/fixtures/gateway.ts';
import { temporaryFolder } from '../../support/fixtures/temporary-folder.ts';
import { sampled } from '../../support/sample.ts';

const gateway = useTestGateway();

const HEADERS = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };

interface Posting {
  readonly key?: string;
  readonly to?: TestGateway;
  readonly headers?: Readonly<Record<string, string>>;
}

async function post(message: unknown, { key = '', to = gateway, headers = {} }: Posting = {}) {
  const response = await to.fetch('/mcp', {
    method: 'POST',
    headers: { ...HEADERS, ...(key && { Authorization: `Bearer ${key}` }), ...headers },
    body: typeof message === 'string' ? message : JSON.stringify(message),
  });
  const text = await response.text();
  // An answer to the older generation is a stream of one event.
  const json = /^data: (.*)$/m.exec(text)?.[1] ?? text;
  return { status: response.status, headers: response.headers, body: json === '' ? undefined : JSON.parse(json) };
}

const call = (name: string, args: object = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: args },
});

test('without a valid key the answer is 401, before anything is read; other methods are 405 for callers with a key', async () => {
  for (const key of ['', 'wgk_wrong']) expect((await post('not JSON', { key })).status).toBe(401);
  const { key } = await gateway.createKey();
  for (const method of ['GET', 'DELETE', 'PUT']) {
    const refused = await gateway.fetch('/mcp', { method });
    expect([method, refused.status]).toEqual([method, 401]);
    const answer = await gateway.fetch('/mcp', { method, headers: { Authorization: `Bearer ${key}` } });
    expect([method, answer.status, answer.headers.get('Allow')]).toEqual([method, 405, 'POST']);
  }
});

test('a body that is no message, or several, is 400, and one that is too large 413', async () => {
  const { key } = await gateway.createKey();
  expect(await post('{', { key })).toMatchObject({ status: 400 });
  expect(await post([call('list_sessions')], { key })).toMatchObject({
    status: 400,
    body: { id: null, error: { message: 'the body must be one JSON-RPC message, not a list' } },
  });
  expect(await post('"x"', { key })).toMatchObject({ status: 400 });
  expect(await post(`"${'x'.repeat(5 * 2 ** 20)}"`, { key })).toMatchObject({ status: 413 });
});

test('streams of notifications are refused, because the tools never change', async () => {
  const { key } = await gateway.createKey();
  const listen = {
    jsonrpc: '2.0',
    id: 1,
    method: 'subscriptions/listen',
    params: {
      notifications: { toolsListChanged: true },
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  };
  const headers = { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'subscriptions/listen' };
  const { body } = await post(listen, { key, headers });
  expect(body).toMatchObject({ error: { code: expect.any(Number) } });
});

test('a call pays the cost of its document and counts as one request of the key', async () => {
  const limited = await startTestGateway({ RATE_LIMIT_PER_MINUTE: '3' });
  // All in one minute.
  limited.setClock(new Date());
  try {
    const { key } = await limited.createKey();
    const answers = [];
    for (let index = 0; index < 4; index += 1) answers.push(await post(call('list_sessions'), { key, to: limited }));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(answers[0]?.headers.get('RateLimit-Remaining')).toBe('2');
  } finally {
    await limited.close();
  }
});

test('a document that costs more than the budget is an error result that names the code', async () => {
  const folder = await temporaryFolder();
  const nested = 'sessions(first: 100) { nodes { events(first: 1000) { nodes { eventType } } } }';
  await writeFile(
    join(folder, 'all_events.graphql'),
    `# Reads everything.\nquery all_events { viewer { organization { ${nested} } } }`,
  );
  const costly = await startTestGateway({ MCP_DOCUMENTS: folder });
  try {
    const { key } = await costly.createKey();
    const { body } = await post(call('all_events'), { key, to: costly });
    expect(body.result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^[A-Z_]+: .*cost/) }],
    });
  } finally {
    await costly.close();
  }
});

test("an operator's documents are tools too; typed errors of their mutations are error results", async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'below'));
  await writeFile(join(folder, 'who.graphql'), '# Says who calls.\nquery who_am_i { viewer { user { email } } }');
  await writeFile(
    join(folder, 'below/pin.gql'),
    `"""Pins a session."""
     mutation pin($input: PinSessionInput!) { pinSession(input: $input) { __typename ... on NotFoundError { code: message } } }`,
  );
  const own = await startTestGateway({ MCP_DOCUMENTS: folder, MCP_MUTATIONS: 'true' });
  try {
    const { key, email } = await own.createKey();
    const who = await post(call('who_am_i'), { key, to: own });
    expect(JSON.parse(who.body.result.content[0].text)).toEqual({ viewer: { user: { email } } });
    const input = { sessionId: '00000000-0000-4000-8000-000000000000', isPinned: true };
    const pinned = await post(call('pin', { input }), { key, to: own });
    expect(pinned.body.result).toEqual({
      isError: true,
      content: [{ type: 'text', text: 'NOT_FOUND: session not found' }],
    });
    const { body } = await post({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, { key, to: own });
    const { tools } = (body as { result: { tools: { name: string }[] } }).result;
    const pin = tools.find(({ name }) => name === 'pin');
    expect(pin).toMatchObject({
      description: 'Pins a session.',
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
      inputSchema: { required: ['input'], properties: { input: { required: ['sessionId'] } } },
    });
  } finally {
    await own.close();
  }
});

test("an error result means that nothing was changed; what an operator's document did although a part failed is no error", async () => {
  const folder = await temporaryFolder();
  const create = (title: string, selection: string) =>
    `createSession(input: { title: ${title} }) { ... on CreateSessionPayload { session { ${selection} } } }`;
  const documents = [
    `# Creates and reads.\nmutation create_and_read { ${create('"A"', 'description')} }`,
    `# Creates two.\nmutation create_two($a: String!, $b: String!) { ...Two }
     fragment Two on Mutation { a: ${create('$a', 'state { current }')} b: ${create('$b', 'state { current }')} }`,
    `# Not the description.

     # Lists
     # sessions.
     query list_titles(
       # How many.
       $first: Int = 1 # not of after
       $after: String
     ) { viewer { organization { sessions(first: $first, after: $after) { nodes { title } } } } }`,
  ];
  await Promise.all(documents.map((text, index) => writeFile(join(folder, `${index}.graphql`), text)));
  const own = await startTestGateway({ MCP_DOCUMENTS: folder, MCP_MUTATIONS: 'true' });
  try {
    const { key, organization } = await own.createKey();
    const { key: recorder } = await own.createKey({ organization, scopes: ['sessions.record'] });
    const resultOf = async (name: string, args: object, by: string) =>
      (await post(call(name, args), { key: by, to: own })).body.result;
    const read = await resultOf('create_and_read', {}, recorder);
    expect(read).toEqual({
      content: [
        { type: 'text', text: '{"createSession":{"session":{"description":null}}}' },
        { type: 'text', text: expect.stringMatching(/^A change was made, but [^\n]*\nFORBIDDEN: /) },
      ],
    });
    const two = await resultOf('create_two', { a: 'B', b: '' }, key);
    expect([two.isError, two.content[1].text]).toEqual([
      undefined,
      'A change was made, but not everything was done or read:\nINVALID_INPUT: title: must not be empty',
    ]);
    const none = await resultOf('create_two', { a: '', b: '' }, key);
    expect([none.isError, none.content.length]).toEqual([true, 1]);
    const listed = await resultOf('list_titles', { first: 10 }, key);
    expect(JSON.parse(listed.content[0].text).viewer.organization.sessions.nodes).toEqual([
      { title: 'B' },
      { title: 'A' },
    ]);
    const { body } = await post({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, { key, to: own });
    const { tools } = (body as { result: { tools: { name: string }[] } }).result;
    expect(tools.find(({ name }) => name === 'create_two')).toMatchObject({
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
    });
    expect(tools.find(({ name }) => name === 'list_titles')).toMatchObject({
      description: 'Lists sessions.',
      inputSchema: {
        properties: { first: { type: 'integer', default: 1, description: 'How many.' }, after: { type: 'string' } },
      },
    });
  } finally {
    await own.close();
  }
});

test('a tool that reads the organization is refused without one, instead of answering null', async () => {
  const { key: bound, organization, email } = await gateway.createKey();
  await gateway.createKey({ email });
  const { key } = await issueKey(gateway.dependencies, { email });
  expect((await post(call('list_sessions'), { key: bound })).body.result.isError).toBeUndefined();
  expect((await post(call('list_sessions'), { key })).body.result).toEqual({
    isError: true,
    content: [
      {
        type: 'text',
        text: 'INVALID_INPUT: missing required organization information; name the organization in the header X-Organization-Id',
      },
    ],
  });
  const headers = { 'X-Organization-Id': organization };
  expect((await post(call('list_sessions'), { key, headers })).body.result.isError).toBeUndefined();
});

sampled(test, 3).each([
  ['no description', 'query a { viewer { id } }', 'needs a comment'],
  ['no name', '# A.\n{ viewer { id } }', 'needs a name'],
  ['two operations', '# A.\nquery a { viewer { id } } query b { viewer { id } }', 'exactly one operation'],
  ['a subscription', '# A.\nsubscription a { sessionChanged { id } }', 'a subscription cannot be a tool'],
  ['an unknown field', '# A.\nquery a { nothing }', 'Cannot query field'],
  ['no GraphQL', 'query {', 'Syntax Error'],
  ['the name of a built-in tool', '# A.\nquery list_sessions { viewer { id } }', 'another document has the tool'],
  ['the name of one that is off', '# A.\nquery create_session { viewer { id } }', 'another document has the tool'],
])('a document with %s stops the start and is named', async (_, text, reason) => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'a.graphql'), text);
  await expect(startTestGateway({ MCP_DOCUMENTS: folder })).rejects.toThrow(
    expect.objectContaining({
      message: expect.stringMatching(new RegExp(`^MCP_DOCUMENTS: .*a\\.graphql: .*${reason}`)),
    }),
  );
});

test('a folder that is missing or empty stops the start', async () => {
  for (const folder of ['/nonexistent', await temporaryFolder()])
    await expect(startTestGateway({ MCP_DOCUMENTS: folder })).rejects.toThrow(/^MCP_DOCUMENTS: /);
});

test('a key that is revoked while its call is read changes and reads nothing', async () => {
  const { key, keyId } = await gateway.createKey();
  const { promise, resolve } = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      await promise;
      controller.enqueue(new TextEncoder().encode(JSON.stringify(call('list_sessions'))));
      controller.close();
    },
  });
  const request = new Request('http://gateway/mcp', {
    method: 'POST',
    headers: { ...HEADERS, Authorization: `Bearer ${key}` },
    body,
    duplex: 'half',
  } as RequestInit);
  gateway.statements.length = 0;
  const answer = gateway.fetch(request);
  await expect.poll(() => gateway.statements.some((statement) => statement.includes('api_key'))).toBe(true);
  await gateway.dependencies.sql.query('update api_key set revoked_at = now() where id = $1', [keyId]);
  resolve();
  expect((await answer).status).toBe(401);
});
