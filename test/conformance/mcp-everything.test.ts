import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type ServedGateway, startServedGateway } from '../support/fixtures/served-gateway.ts';
import { postTo } from '../support/fixtures/mcp-use.ts';
import { freePort } from '../support/processes/ports.ts';
import { proof } from '../support/proof.ts';

/** The reference server of the Model Context Protocol in a separate process. It requires no authorization. */

const here = import.meta.dirname;
const everything = join(here, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js');

let gateway: ServedGateway;
let server: ChildProcess;
let serverUrl: string;
let output = '';

beforeAll(async () => {
  gateway = await startServedGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
  const port = await freePort();
  const { PATH = '' } = process.env;
  server = spawn(process.execPath, ['--import', join(here, 'loopback.ts'), everything, 'streamableHttp'], {
    env: { PATH, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [server.stdout, server.stderr]) stream?.on('data', (chunk) => (output += String(chunk)));
  await vi.waitUntil(() => output.includes(`listening on port ${port}`), { timeout: 90_000 });
  serverUrl = `http://127.0.0.1:${port}/mcp`;
});

afterAll(async () => {
  if (server.exitCode === null && server.kill('SIGKILL')) await new Promise((resolve) => server.once('close', resolve));
});

interface Created {
  authorizationUrl: string | null;
  connection: { id: string; connectedAt: string | null };
}

test('the reference server is connected immediately, and its tools are listed with its descriptions', async () => {
  const { key } = await gateway.createKey();
  const { status, body } = await gateway.rest<Created>('POST', '/v1/mcp-connections', {
    key,
    body: { name: 'everything', serverUrl },
  });
  expect({ status, url: body.authorizationUrl, connected: body.connection.connectedAt }).toEqual({
    status: 201,
    url: null,
    connected: expect.any(String),
  });
  const { data, errors } = await gateway.graphql<{
    node: { status: string; tools: { name: string; description: string; inputSchema: { type: string } }[] };
  }>(key, 'query ($id: ID!) { node(id: $id) { ... on McpServer { status tools { name description inputSchema } } } }', {
    id: Buffer.from(`McpServer:${body.connection.id}`).toString('base64'),
  });
  expect(errors).toBeUndefined();
  expect(data?.node.status).toBe('CONNECTED');
  const tools = data?.node.tools ?? [];
  expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['echo', 'get-sum']));
  for (const tool of tools)
    expect(tool).toMatchObject({ description: expect.stringMatching(/./), inputSchema: { type: 'object' } });
  // The gateway has ended every session that it opened.
  const count = (pattern: RegExp) => output.match(pattern)?.length ?? 0;
  await expect.poll(() => count(/session termination request/gi)).toBeGreaterThanOrEqual(2);
  const tested = await gateway.graphql<{ testMcpServer: { info: { name: string } } }>(
    key,
    'mutation ($id: ID!) { testMcpServer(input: { mcpServerId: $id }) { ... on TestMcpServerPayload { info { name version protocolVersion } } } }',
    { id: body.connection.id },
  );
  expect(tested.data?.testMcpServer.info).toMatchObject({ name: expect.stringContaining('everything') });
  proof('MCP reference server', { figures: { 'tools listed': tools.length } });
});

/** An address of the server, and the headers that it needs. */
interface Address {
  readonly url: string;
  readonly key: string;
}

/** The address of the server, and its address behind the gateway. */
async function addresses(name: string): Promise<[direct: Address, through: Address]> {
  const { key } = await gateway.createKey();
  const { body } = await gateway.rest<Created>('POST', '/v1/mcp-connections', { key, body: { name, serverUrl } });
  const url = `${gateway.url}/v1/mcp-connections/${body.connection.id}/mcp`;
  return [
    { url: serverUrl, key: '' },
    { url, key },
  ];
}

test.each(['auto', 'legacy'] as const)(
  'the official client (%s) gets the same answers of the reference server through the gateway as without it',
  async (mode) => {
    const answers = async ({ url, key }: Address) => {
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
      const requestInit = { headers: { Authorization: `Bearer ${key}` } };
      await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
      const progress: unknown[] = [];
      const call = (tool: string, args: Record<string, unknown> = {}) =>
        client.callTool({ name: tool, arguments: args });
      const found = {
        version: client.getNegotiatedProtocolVersion(),
        server: client.getServerVersion(),
        capabilities: client.getServerCapabilities(),
        instructions: client.getInstructions(),
        tools: await client.listTools(),
        resources: await client.listResources(),
        templates: await client.listResourceTemplates(),
        prompts: await client.listPrompts(),
        prompt: await client.getPrompt({ name: 'simple-prompt' }),
        echo: await call('echo', { message: 'größe' }),
        sum: await call('get-sum', { a: 19, b: 23 }),
        structured: await call('get-structured-content', { location: 'Chicago' }),
        image: await call('get-tiny-image'),
        annotated: await call('get-annotated-message', { messageType: 'error', includeImage: true }),
        links: await call('get-resource-links', { count: 3 }),
        unknown: await call('no-such-tool').catch(String),
        long: await client.callTool(
          { name: 'trigger-long-running-operation', arguments: { duration: 0.3, steps: 3 } },
          { onprogress: (made) => void progress.push(made) },
        ),
        progress,
      };
      await client.close();
      return found;
    };
    const [direct, through] = await addresses(`official client, ${mode}`);
    const expected = await answers(direct);
    expect(expected.progress).toHaveLength(3);
    expect(await answers(through)).toEqual(expected);
  },
);

test('its answers pass byte for byte, but for the id of the session', async () => {
  const answers = async ({ url, key }: Address) => {
    const send = (message: object, headers: Record<string, string> = {}) =>
      postTo(url, key, { jsonrpc: '2.0', ...message }, headers);
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    const initialized = await send({ id: 0, method: 'initialize', params });
    const session = { 'Mcp-Session-Id': initialized.headers.get('mcp-session-id') ?? '' };
    const texts = [await initialized.text()];
    await send({ method: 'notifications/initialized' }, session);
    const messages = [
      { id: 1, method: 'tools/list' },
      { id: 'two', method: 'tools/call', params: { name: 'echo', arguments: { message: '𝄞' } } },
      { id: 3, method: 'tools/call', params: { name: 'no-such-tool' } },
      { id: 4, method: 'resources/list' },
      { id: 5, method: 'no/such/method' },
    ];
    for (const message of messages) texts.push(await (await send(message, session)).text());
    // The ids of events are random.
    return texts.map((text) => text.replaceAll(/^id: .*$/gm, 'id'));
  };
  const [direct, through] = await addresses('bytes');
  const expected = await answers(direct);
  expect(expected.map((text) => text.includes('data: {'))).toEqual(Array.from({ length: 6 }, () => true));
  expect(await answers(through)).toEqual(expected);
});
