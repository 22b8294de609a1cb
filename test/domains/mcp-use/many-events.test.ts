import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type UseFixture,
  post,
  postTo,
  responseIn,
  startUseFixture,
  toolCall,
  toolCallers,
} from '../../support/fixtures/mcp-use.ts';
import { createSession } from '../../support/fixtures/sessions.ts';
import { oddMcpHandler } from '../../support/peers/odd-mcp-server.ts';
import { sampled } from '../../support/sample.ts';

/** Streams of a server with very many events, or very many bytes in few. */

let fixture: UseFixture;
beforeAll(async () => {
  fixture = await startUseFixture();
});
afterAll(() => fixture.stop());

const { rest } = toolCallers(
  () => fixture,
  () => fixture.connectionId,
);

const RESULT = { content: [{ type: 'text', text: 'done' }], tools: [{ name: 'add', inputSchema: { type: 'object' } }] };

/** Answers calls and lists of tools by a stream that begins with a text. */
function streamAfter(before: string, end = '\n'): void {
  fixture.peer.handler = oddMcpHandler({
    answer: ({ response, message: { id, method } }) => {
      if (method?.startsWith('tools/') !== true) return false;
      const data = JSON.stringify({ jsonrpc: '2.0', id, result: RESULT });
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end(`${before}data: ${data}${end}${end}`);
      return true;
    },
  });
}

/** Lists the tools of a new connection, because lists are cached. */
async function listedTools() {
  const serve = fixture.peer.handler;
  fixture.peer.handler = oddMcpHandler();
  const id = Buffer.from(`McpServer:${await fixture.connect()}`).toString('base64');
  fixture.peer.handler = serve;
  const query = `{ node(id: "${id}") { ... on McpServer { tools { name } } } }`;
  const { data, errors } = await fixture.gateway.graphql<{ node: { tools: { name: string }[] } }>(fixture.key, query);
  return errors?.[0]?.message ?? data?.node.tools;
}

const TOO_MANY = 'the answer of the MCP server has more than 50000 events';

sampled(test, 1).each([
  ['data', 'data: 1\n\n'],
  ['comments', ':\n\n'],
  ['carriage returns', 'data: 1\r\r'],
])('an answer of more than 50,000 events is refused with an error that says so (%s)', async (_, event) => {
  streamAfter(event.repeat(50_001));
  const called = await rest({ name: 'add', arguments: {} });
  expect([called.status, called.body.error]).toEqual([502, TOO_MANY]);

  const error = { code: -32000, message: TOO_MANY, data: { code: 'ANSWER_TOO_LARGE' } };
  const passed = await responseIn(await post(fixture, toolCall()));
  expect(JSON.parse(passed)).toEqual({ jsonrpc: '2.0', id: 1, error });

  const sessionId = await createSession(fixture.gateway, fixture.key, { mcpServers: [fixture.connectionId] });
  const address = `${fixture.url}/v1/sessions/${sessionId}/mcp`;
  const ofSession = await postTo(address, fixture.key, toolCall('server-1__add'));
  expect([ofSession.status, await ofSession.json()]).toEqual([502, { jsonrpc: '2.0', id: 1, error }]);

  expect(await listedTools()).toBe('the MCP server failed: it answers with more than 50000 events');
});

sampled(test, 2).each([
  ['line feeds', '\n'.repeat(3_900_000), '\n'],
  ['carriage returns', '\r'.repeat(3_900_000), '\r'],
  ['both', '\r\n'.repeat(1_950_000), '\r\n'],
  ['lines of an event', `event: x\n${'a\n'.repeat(1_000_000)}\n`, '\n'],
  ['lines of data', `${'data\n'.repeat(500_000)}\n`, '\n'],
  ['one line', `data: ${'a'.repeat(3_900_000)}\n\n`, '\n'],
  ['a byte order mark', '\uFEFF', '\r\n'],
])('a response after %s is found', async (_, before, end) => {
  streamAfter(before, end);
  const called = await rest({ name: 'add', arguments: {} });
  expect([called.status, called.body.content]).toEqual([200, RESULT.content]);
  const passed = await (await post(fixture, toolCall())).text();
  expect(passed.length).toBeGreaterThanOrEqual(before.length - 1);
  expect(await listedTools()).toEqual([{ name: 'add' }]);
});
