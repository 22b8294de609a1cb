import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WORK } from '../../../src/core/work-budget.ts';
import { type UseFixture, postTo, responseIn, startUseFixture, toolCall } from '../../support/fixtures/mcp-use.ts';

/** All connections that a caller may use, at one address. What it shares with the address of a session is tested there. */

let fixture: UseFixture;
beforeAll(async () => {
  fixture = await startUseFixture();
});
afterAll(() => fixture.stop());

const address = () => `${fixture.url}/v1/mcp`;

async function send(message: unknown, key = fixture.key) {
  const answer = await postTo(address(), key, message);
  return { status: answer.status, text: await responseIn(answer) };
}

interface Listed {
  readonly tools: { readonly name: string }[];
  readonly _meta?: { readonly 'workspace-gateway/notices'?: unknown[] };
}

async function list(key = fixture.key) {
  const { text } = await send({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, key);
  const { result } = JSON.parse(text) as { result: Listed };
  return { names: result.tools.map(({ name }) => name), notices: result._meta?.['workspace-gateway/notices'] };
}

test('the official client lists and calls the tools of shared connections and of those of the caller', async () => {
  const member = await fixture.gateway.createKey({ organization: fixture.organization, role: 'member' });
  await fixture.connect({ name: 'A shared one' });
  await fixture.connect({ name: 'Mine', visibility: 'personal' }, member.key);
  const { names } = await list();
  expect(names).toContain('a-shared-one__add');
  expect(names.filter((name) => name.startsWith('mine__'))).toEqual([]);
  const client = new Client({ name: 'test', version: '1' });
  const headers = { Authorization: `Bearer ${member.key}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(address()), { requestInit: { headers } }));
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual([...names, 'mine__add', 'mine__now'].toSorted());
  const { content } = await client.callTool({ name: 'mine__add', arguments: { a: 19, b: 23 } });
  expect(content).toEqual([{ type: 'text', text: '42' }]);
  await client.close();
  expect((await send(toolCall('mine__add'))).text).toContain('Unknown tool: mine__add');
});

test('another organization, a key without the scope and one that is wrong', async () => {
  const stranger = await fixture.gateway.createKey();
  const scopeless = await fixture.gateway.createKey({ organization: fixture.organization, scopes: ['sessions.read'] });
  expect((await list(stranger.key)).names).toEqual([]);
  expect(await send(toolCall('a-shared-one__add'), scopeless.key)).toMatchObject({ status: 403 });
  const refused = await send(toolCall('a-shared-one__add'), 'wgk_wrong');
  expect([refused.status, JSON.parse(refused.text)]).toMatchObject([401, { error: { message: expect.any(String) } }]);
  for (const method of ['GET', 'DELETE']) {
    const answer = await postTo(address(), fixture.key, '', {}, { method, body: null });
    expect([method, answer.status, answer.headers.get('allow')]).toEqual([method, 405, 'POST']);
  }
});

test('of more connections than are listed, the others are named in a notice', async () => {
  const many = await fixture.gateway.createKey();
  const stdio = async (index: number) => {
    const body = { type: 'stdio', name: `c${String(index).padStart(3, '0')}`, command: 'npx' };
    const { status } = await fixture.gateway.rest('POST', '/v1/mcp-connections', { key: many.key, body });
    expect(status).toBe(201);
  };
  for (let index = 0; index < WORK.offeredConnections; index++) await stdio(index);
  expect((await list(many.key)).notices).toHaveLength(WORK.offeredConnections);
  await stdio(WORK.offeredConnections);
  await stdio(WORK.offeredConnections + 1);
  const { notices } = await list(many.key);
  expect(notices).toHaveLength(WORK.offeredConnections + 1);
  expect(notices?.at(-1)).toEqual({
    handle: 'c100',
    message: 'only the first 100 connections are listed; the address of a session or of this connection has its tools',
  });
});
