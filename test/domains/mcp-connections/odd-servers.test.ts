import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { createConnection } from '../../support/fixtures/mcp-connections.ts';
import { Deadlines } from '../../support/fixtures/outbound.ts';
import { type Peer, mcpHandler, startPeer } from '../../support/peers/mcp-server.ts';
import {
  ALPHA,
  BETA,
  type Message,
  type OddServer,
  answering,
  oddMcpHandler,
} from '../../support/peers/odd-mcp-server.ts';
import { sampled } from '../../support/sample.ts';

/** MCP servers that break the specification, as people use them. */

let gateway: TestGateway;
const deadlines = new Deadlines();
let peer: Peer;
let key: string;
let count = 0;
beforeAll(async () => {
  gateway = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' }, { outbound: { deadlineAfter: deadlines.after } });
  peer = await startPeer(mcpHandler());
  key = (await gateway.createKey()).key;
});
afterAll(async () => {
  await peer.stop();
  await gateway.close();
});

async function connect(odd: OddServer): Promise<string> {
  peer.handler = oddMcpHandler(odd);
  count += 1;
  const created = await createConnection(gateway, key, { name: `odd ${count}`, serverUrl: `${peer.origin}/mcp` });
  expect({ status: created.status, error: created.body.error }).toEqual({ status: 201, error: undefined });
  return created.body.connection.id;
}

async function read<Tool = { name: string }>(id: string, fields = 'name'): Promise<Tool[]> {
  const query = `{ node(id: "${Buffer.from(`McpServer:${id}`).toString('base64')}") { ... on McpServer { tools { ${fields} } } } }`;
  const { data, errors } = await gateway.graphql<{ node: { tools: Tool[] } }>(key, query);
  expect(errors).toBeUndefined();
  return data?.node.tools ?? [];
}

const streamed = (odd: OddServer): OddServer => ({ ...odd, mediaType: 'text/event-stream' });
/** Pages of a number of tools. */
const pages = (tools: readonly unknown[], size: number) => (cursor: string | undefined) => {
  const from = Number(cursor ?? 0);
  const next = from + size;
  return { tools: tools.slice(from, next), ...(next < tools.length && { nextCursor: String(next) }) };
};
const many = (length: number, more: object = {}) =>
  Array.from({ length }, (_, index) => ({ ...ALPHA, name: `tool ${index}`, ...more }));

const ANSWERS: Readonly<Record<string, OddServer>> = {
  'a capability that is null': { initialize: { capabilities: { tools: {}, logging: null } } },
  'capabilities that are lists': { initialize: { capabilities: { tools: [], prompts: [] } } },
  'a capability that is true': { initialize: { capabilities: { tools: true } } },
  'no serverInfo, and null instructions': { initialize: { serverInfo: undefined, instructions: null } },
  'serverInfo with numbers and nulls': { initialize: { serverInfo: { name: null, version: 2, title: null } } },
  'capabilities that are missing': { initialize: { capabilities: undefined } },
  'capabilities that are a list': { initialize: { capabilities: [] } },
  'no protocolVersion': { initialize: { protocolVersion: null } },
  'members of other types in `initialize`': { initialize: { instructions: [], _meta: [], serverInfo: 'odd' } },
  'members of other types beside the tools': {
    page: () => ({ tools: [ALPHA, BETA], _meta: [], ttlMs: 'x', resultType: null, nextCursor: false }),
  },
  'error null beside the result': { sent: (message) => ({ error: null, ...message }) },
  'the id as text': { sent: (message) => ({ ...message, id: String(message['id']) }) },
  'the id of another request': { sent: (message) => ({ ...message, id: 4711 }) },
  'no id': { sent: (message) => ({ ...message, id: undefined }) },
  'no member jsonrpc': { sent: (message) => ({ ...message, jsonrpc: undefined }) },
  'JSON as text/plain': { mediaType: 'text/plain; charset=utf-8' },
  'a list of messages': { sent: (message) => [message] },
  'a list with 300 answers to others before it': {
    sent: (message) => [
      ...Array.from({ length: 300 }, (_, index) => ({ jsonrpc: '2.0', id: 9000 + index, result: {} })),
      message,
    ],
  },
  'nextCursor null': { page: () => ({ tools: [ALPHA, BETA], nextCursor: null }) },
  'nextCursor empty': { page: () => ({ tools: [ALPHA, BETA], nextCursor: '' }) },
  'nextCursor that stands still': { page: () => ({ tools: [ALPHA, BETA], nextCursor: 'again' }) },
  'nextCursor that is a number': {
    page: (cursor) => (cursor === '7' ? { tools: [BETA] } : { tools: [ALPHA], nextCursor: 7 }),
  },
  'a tool that is null': { tools: [ALPHA, null, BETA] },
};

const NOT_STREAMED = new Set(['the id of another request']);
const eventOf = (message: object, eol = '\n') => `event: message${eol}data: ${JSON.stringify(message)}${eol}${eol}`;
const asText = (type: string, textOf: (message: object) => string): OddServer => ({
  answer: ({ response, message }) => {
    if (message.id === undefined || message.method === 'server/discover') return false;
    const result =
      message.method === 'initialize'
        ? { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'odd', version: '1' } }
        : { tools: [ALPHA, BETA], nextCursor: null };
    response.writeHead(200, { 'Content-Type': type }).end(textOf({ jsonrpc: '2.0', id: message.id, result }));
    return true;
  },
});
const STREAMS: Readonly<Record<string, OddServer>> = {
  'that says it is JSON': asText('application/json', (message) => eventOf(message)),
  'that says it is text': asText('text/plain', (message) => eventOf(message)),
  'with CRLF': asText('text/event-stream', (message) => eventOf(message, '\r\n')),
  'whose last event has no end': asText('text/event-stream', (message) => eventOf(message).trimEnd()),
  'with a message in several lines': asText('text/event-stream', (message) =>
    JSON.stringify(message, null, 1).replaceAll(/^/gm, 'data: ').concat('\n\n'),
  ),
};

describe('answers', () => {
  sampled(test, 2).each(Object.entries(STREAMS))('a stream %s: the tools are listed', async (_, odd) => {
    expect(await read(await connect(odd))).toEqual([{ name: 'alpha' }, { name: 'beta' }]);
  });

  test('a server that announces tools and does not know their list has none', async () => {
    const { id, ...error } = { id: 0, code: -32_601, message: 'Method not found' };
    const odd = answering('tools/list', ({ response, message }) =>
      response
        .writeHead(200, { 'Content-Type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id: message.id ?? id, error })),
    );
    expect(await read(await connect(odd))).toEqual([]);
  });

  sampled(test, 1).each([400, 404, 405, 500])(
    'notifications answered with HTTP %d: the tools are listed',
    async (code) => {
      const odd: OddServer = {
        answer: ({ response, message }) => {
          const isNotification = message.method?.startsWith('notifications/') === true;
          if (isNotification) response.writeHead(code).end();
          return isNotification;
        },
      };
      expect(await read(await connect(odd))).toHaveLength(2);
    },
  );

  sampled(test, 6).each(Object.entries(ANSWERS))(
    '%s: the server is connected and its tools are listed',
    async (_, odd) => {
      expect(await read(await connect(odd))).toEqual([{ name: 'alpha' }, { name: 'beta' }]);
    },
  );

  sampled(test, 4).each(
    Object.entries(ANSWERS).filter(([name, odd]) => odd.mediaType === undefined && !NOT_STREAMED.has(name)),
  )('as a stream, %s: the server is connected and its tools are listed', async (_, odd) => {
    expect(await read(await connect(streamed(odd)))).toEqual([{ name: 'alpha' }, { name: 'beta' }]);
  });

  test('more than 16 pages of tools are listed', async () => {
    const tools = many(500);
    expect(await read(await connect({ tools, page: pages(tools, 20) }))).toHaveLength(500);
  });

  test('a list is cut at 2,000 tools, and at 4 MiB', async () => {
    const tools = many(2_100);
    expect(await read(await connect({ page: pages(tools, 1_050) }))).toHaveLength(2_000);
    const large = many(9, { description: 'x'.repeat(500_000) });
    let listed = 0;
    const id = await connect({ page: (cursor) => ((listed += 1), pages(large, 3)(cursor)) });
    listed = 0;
    const query = `query ($id: ID!) { node(id: $id) { ... on McpServer { toolsNotice tools { name } } } }`;
    const { data } = await gateway.graphql<{ node: { toolsNotice: string; tools: object[] } }>(key, query, {
      id: Buffer.from(`McpServer:${id}`).toString('base64'),
    });
    expect(data?.node.tools).toHaveLength(8);
    expect(data?.node.toolsNotice).toBe(
      'the server has more tools: only the first 8 are listed, because a list has at most 2000 tools, 100 pages and 4 MiB',
    );
    // Both fields are answered by one use of the server.
    expect(listed).toBe(3);
  });

  test.each([[[ALPHA]], [[]]])('a list without end (pages of %j) is cut at 100 pages, which is said', async (tools) => {
    let listed = 0;
    const id = await connect({
      page: (cursor) => ({
        tools: tools.map((tool) => ({ ...tool, name: `t${cursor}` })),
        nextCursor: String((listed += 1)),
      }),
    });
    listed = 0;
    const query = `query ($id: ID!) { node(id: $id) { ... on McpServer { toolsNotice tools { name } } } }`;
    const { data } = await gateway.graphql<{ node: { toolsNotice: string; tools: object[] } }>(key, query, {
      id: Buffer.from(`McpServer:${id}`).toString('base64'),
    });
    expect([listed, data?.node.tools.length]).toEqual([100, 100 * tools.length]);
    expect(data?.node.toolsNotice).toMatch(/^the server has more tools: only the first \d+ are listed/);
  });

  test('`authorize` of a server that needs no authorization and publishes no metadata connects it, and asks nobody', async () => {
    const query = `mutation ($id: ID!) { authorizeMcpServer(input: { mcpServerId: $id }) {
      __typename ... on AuthorizeMcpServerPayload { authorizationUrl mcpServer { authType status statusReason nextAction issuer } } } }`;
    const { data } = await gateway.graphql(key, query, { id: await connect({}) });
    expect(data).toEqual({
      authorizeMcpServer: {
        __typename: 'AuthorizeMcpServerPayload',
        authorizationUrl: null,
        mcpServer: { authType: 'OAUTH', status: 'CONNECTED', statusReason: null, nextAction: 'NONE', issuer: null },
      },
    });
  });

  test('an answer with tools may have more than 1 MiB', async () => {
    expect(await read(await connect({ tools: many(3, { description: 'x'.repeat(500_000) }) }))).toHaveLength(3);
  });
});

const UNREADABLE = { title: null, description: null, outputSchema: null, annotations: null, icons: null };
const TOOL_FIELDS = 'name title description inputSchema outputSchema annotations icons problem';
const ODD_TOOLS: [string, unknown, object][] = [
  [
    'nothing odd',
    { ...ALPHA, annotations: { readOnlyHint: true }, icons: [{ src: 'x' }], outputSchema: {} },
    {
      ...UNREADABLE,
      ...ALPHA,
      annotations: { readOnlyHint: true },
      icons: [{ src: 'x' }],
      outputSchema: {},
      problem: null,
    },
  ],
  ['nulls', { ...ALPHA, ...UNREADABLE, _meta: null }, { ...UNREADABLE, ...ALPHA, description: null, problem: null }],
  [
    'no type in the schema',
    { ...ALPHA, inputSchema: { $schema: 'draft-07' } },
    {
      ...UNREADABLE,
      ...ALPHA,
      inputSchema: { $schema: 'draft-07' },
      problem: 'inputSchema.type: must be "object"',
    },
  ],
  [
    'a schema with anyOf',
    { ...ALPHA, inputSchema: { anyOf: [{}] } },
    {
      ...UNREADABLE,
      ...ALPHA,
      inputSchema: { anyOf: [{}] },
      problem: 'inputSchema.type: must be "object"',
    },
  ],
  [
    'a schema that is null',
    { ...ALPHA, inputSchema: null },
    {
      ...UNREADABLE,
      ...ALPHA,
      inputSchema: {},
      problem: 'inputSchema: is missing',
    },
  ],
  [
    'a schema that is text',
    { ...ALPHA, inputSchema: '{}' },
    {
      ...UNREADABLE,
      ...ALPHA,
      inputSchema: '{}',
      problem: 'inputSchema: must be an object',
    },
  ],
  [
    'several members of other types',
    { name: 7, title: 1, description: [], annotations: 'x', icons: {}, outputSchema: 3 },
    {
      name: '',
      title: null,
      description: null,
      inputSchema: {},
      annotations: 'x',
      icons: {},
      outputSchema: 3,
      problem:
        'name: must be a text; title: must be a text; description: must be a text; inputSchema: is missing; outputSchema: must be an object; annotations: must be an object; icons: must be a list',
    },
  ],
  ['no object', 'alpha', { ...UNREADABLE, name: '', inputSchema: {}, problem: 'the tool must be an object' }],
];

sampled(test, 3).each(ODD_TOOLS)(
  'a tool with %s is listed with what can be read, and so are the others',
  async (_, tool, expected) => {
    const tools = await read<object>(await connect({ tools: [ALPHA, tool, BETA] }), TOOL_FIELDS);
    const plain = { ...UNREADABLE, problem: null };
    expect(tools).toEqual([{ ...plain, ...ALPHA }, expected, { ...plain, ...BETA }]);
  },
);

const status = (code: number, body = '', headers = {}) =>
  answering('server/discover', ({ response }) => response.writeHead(code, headers).end(body));
const inBody = (body: (message: Message) => object) =>
  answering('server/discover', ({ response, message }) =>
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body(message))),
  );

const PROBES: Readonly<Record<string, OddServer>> = {
  'HTTP 401': status(401, '', { 'WWW-Authenticate': 'Bearer' }),
  'HTTP 403': status(403, 'not allowed'),
  'HTTP 404': status(404),
  'a redirect': status(302, '', { Location: '/sign-in' }),
  'HTTP 500': status(500),
  'a web page': status(200, '<h1>hello</h1>', { 'Content-Type': 'text/html' }),
  'an empty body': status(200),
  'a closed connection': answering('server/discover', ({ request }) => request.socket.destroy()),
  'an error without id': inBody(() => ({ jsonrpc: '2.0', id: null, error: { code: -32_600, message: 'Missing ID' } })),
  'the error of another code': inBody(({ id }) => ({ jsonrpc: '2.0', id, error: { code: 1, message: 'no' } })),
  'a result of another kind': inBody(({ id }) => ({ jsonrpc: '2.0', id, result: { hello: 1 } })),
  // Not answered until the time of the probe has passed.
  silence: answering('server/discover', () => deadlines.passThoseAfter(3_000)),
  'a stream that keeps silent': answering('server/discover', ({ response }) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
    response.write(': hello\n\n', () => setImmediate(() => deadlines.passThoseAfter(3_000)));
  }),
};

describe('the version probe', () => {
  sampled(test, 4).each(Object.entries(PROBES))('answered with %s: `initialize` decides', async (_, odd) => {
    expect(await read(await connect(odd))).toEqual([{ name: 'alpha' }, { name: 'beta' }]);
  });

  test('a failure of `initialize` after it is not repeated', async () => {
    let initialized = 0;
    peer.handler = oddMcpHandler({
      answer: ({ response, message }) => {
        if (message.method === 'initialize') initialized += 1;
        response.writeHead(503).end();
        return true;
      },
    });
    const created = await createConnection(gateway, key, { name: 'down', serverUrl: `${peer.origin}/mcp` });
    expect({ status: created.status, initialized }).toEqual({ status: 502, initialized: 1 });
  });
});

describe('sessions and revisions', () => {
  test('a session that the server has lost is begun anew, once', async () => {
    let sessions = 0;
    const server = (losses: number): OddServer => ({
      answer: ({ request, response, message }) => {
        if (message.method === 'initialize') response.setHeader('Mcp-Session-Id', `session ${(sessions += 1)}`);
        const isLost = message.method === 'tools/list' && sessions <= losses;
        if (isLost) response.writeHead(404).end();
        if (request.method === 'DELETE') response.writeHead(200).end();
        return isLost || request.method === 'DELETE';
      },
    });
    expect(await read(await connect(server(1)))).toHaveLength(2);
    sessions = 0;
    peer.handler = oddMcpHandler(server(9));
    const created = await createConnection(gateway, key, { name: 'lossy', serverUrl: `${peer.origin}/mcp` });
    expect({ status: created.status, sessions }).toEqual({ status: 502, sessions: 2 });
  });

  test.each<[number, string, boolean]>([
    [410, 'Gone', false],
    [
      400,
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}',
      false,
    ],
    [400, 'session expired', false],
    [200, 'Session not found', true],
  ])('a lost session that is answered with HTTP %d and %s is begun anew', async (code, text, isRpc) => {
    let sessions = 0;
    const odd: OddServer = {
      answer: ({ response, message: { id, method } }) => {
        if (method === 'initialize') response.setHeader('Mcp-Session-Id', `session ${(sessions += 1)}`);
        if (method !== 'tools/list' || sessions > 1) return false;
        const error = JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_001, message: text } });
        response.writeHead(code, { 'Content-Type': 'application/json' }).end(isRpc ? error : text);
        return true;
      },
    };
    expect(await read(await connect(odd))).toHaveLength(2);
  });

  test('a server that refuses each revision without naming one gets the oldest at last', async () => {
    const asked: unknown[] = [];
    const odd: OddServer = {
      initialize: { protocolVersion: '2024-11-05' },
      answer: ({ response, message: { method, params } }) => {
        if (method !== 'initialize') return false;
        asked.push(params?.protocolVersion);
        if (params?.protocolVersion === '2024-11-05') return false;
        response.writeHead(400).end(`Unsupported protocol version: ${params?.protocolVersion}`);
        return true;
      },
    };
    await connect(odd);
    expect(asked.slice(0, 4)).toEqual(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']);
  });

  test.each<[string, OddServer['answer']]>([
    [
      'HTTP 400 and text',
      ({ response, message }) => {
        const isNew = message.method === 'initialize' && message.params?.protocolVersion !== '2025-03-26';
        if (isNew) response.writeHead(400).end('Unsupported protocol version (supported: 2025-03-26, 2024-11-05)');
        return isNew;
      },
    ],
    [
      'an error of JSON-RPC',
      ({ response, message }) => {
        const isNew = message.method === 'initialize' && message.params?.protocolVersion !== '2025-03-26';
        const error = { code: -32_602, message: 'Unsupported', data: { supported: ['2025-03-26'] } };
        if (isNew)
          response
            .writeHead(200, { 'Content-Type': 'application/json' })
            .end(JSON.stringify({ jsonrpc: '2.0', id: message.id, error }));
        return isNew;
      },
    ],
  ])('a server that refuses the newest revision with %s gets one that it lists', async (_, answer = () => false) => {
    expect(await read(await connect({ answer, initialize: { protocolVersion: '2025-03-26' } }))).toHaveLength(2);
  });
});
