import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import { freePort } from '../support/processes/ports.ts';
import { proof } from '../support/proof.ts';

/** The reference server of the Model Context Protocol in a separate process. It requires no authorization. */

const here = import.meta.dirname;
const everything = join(here, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js');

let gateway: TestGateway;
let server: ChildProcess;
let serverUrl: string;
let output = '';

beforeAll(async () => {
  gateway = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
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
  await gateway.close();
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
