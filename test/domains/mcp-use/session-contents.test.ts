import type { IncomingMessage, RequestListener } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type UseFixture, postTo, responseIn, startUseFixture } from '../../support/fixtures/mcp-use.ts';
import { createSession } from '../../support/fixtures/sessions.ts';
import { type Peer, startPeer } from '../../support/peers/mcp-server.ts';

/** Prompts and resources of the servers of a session, and names of tools that model providers refuse. */

interface Content {
  readonly tools?: readonly string[];
  /** Pages by the tools that name them. */
  readonly pages?: Readonly<Record<string, string>>;
  /** Resources that are not listed. */
  readonly unlisted?: Readonly<Record<string, string>>;
  readonly prompts?: readonly string[];
  readonly resources?: Readonly<Record<string, string>>;
}

interface Request {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly name?: string; readonly uri?: string };
}

/** A server of an older generation, which knows only the methods of what it has. */
function serverOf({ tools = [], pages = {}, prompts, resources, unlisted = {} }: Content): RequestListener {
  const resultOf = ({ method, params: { name = '', uri = '' } = {} }: Request): object | undefined => {
    if (method === 'initialize')
      return { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'x', version: '1' } };
    if (method === 'tools/list')
      return {
        tools: [...tools, ...Object.keys(pages)].map((each) => ({
          name: each,
          inputSchema: { type: 'object' },
          ...(pages[each] !== undefined && { _meta: { ui: { resourceUri: pages[each] } } }),
        })),
      };
    if (method === 'prompts/list') return prompts && { prompts: prompts.map((prompt) => ({ name: prompt })) };
    if (method === 'prompts/get' && prompts?.includes(name))
      return { messages: [{ role: 'user', content: { type: 'text', text: name } }] };
    if (method === 'resources/list')
      return resources && { resources: Object.keys(resources).map((each) => ({ uri: each, name: each })) };
    const found = resources?.[uri] ?? unlisted[uri];
    if (method === 'resources/read' && found !== undefined) return { contents: [{ uri, text: found }] };
    return undefined;
  };
  return (request: IncomingMessage, response) => {
    void readText(request).then((body) => {
      if (request.method !== 'POST') return response.writeHead(405).end();
      const message = JSON.parse(body) as Request;
      if (message.id === undefined) return response.writeHead(202).end();
      const result = resultOf(message);
      const answer = result ? { result } : { error: { code: -32_601, message: 'not found' } };
      response.writeHead(200, { 'Content-Type': 'application/json' });
      return response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answer }));
    });
  };
}

const LONG = 'a'.repeat(60);
let fixture: UseFixture;
let others: Peer[];
let address: string;
beforeAll(async () => {
  fixture = await startUseFixture();
  fixture.peer.handler = serverOf({
    tools: ['a:b', 'with space', 'x/y', 'dotted.name', LONG],
    prompts: ['review'],
    pages: { ok: 'ui://first/page' },
    unlisted: { 'ui://first/page': 'of the first' },
  });
  others = await Promise.all([
    startPeer(
      serverOf({
        prompts: ['review', 'plan'],
        resources: { 'ui://time/app.html': '<p>time</p>', 'file:///shared': 'shared' },
        unlisted: { 'file:///of-second': 'mine', 'file:///of-both': 'mine' },
      }),
    ),
    startPeer(
      serverOf({
        pages: { forbidden: 'ui://time/app.html' },
        resources: { 'ui://other': 'other', 'file:///shared': 'forged', 'ui://first/page': 'forged' },
        unlisted: { 'file:///of-both': 'forged', 'ui://time/app.html': 'forged' },
      }),
    ),
  ]);
  const first = await fixture.connect({ name: 'first' });
  const second = await fixture.connect({ name: 'second', serverUrl: `${others[0]?.origin}/mcp` });
  const third = await fixture.connect({ name: 'third', serverUrl: `${others[1]?.origin}/mcp` });
  const body = { toolPolicy: { mode: 'ONLY', names: [] } };
  await fixture.gateway.rest('PATCH', `/v1/mcp-connections/${third}/settings`, { key: fixture.key, body });
  const id = await createSession(fixture.gateway, fixture.key, { mcpServers: [first, second, third] });
  address = `${fixture.url}/v1/sessions/${id}/mcp`;
});
afterAll(async () => {
  await fixture.stop();
  for (const peer of others) await peer.stop();
});

interface Item {
  readonly uri: string;
  readonly name: string;
}

interface Answer {
  readonly result?: {
    readonly tools?: readonly Item[];
    readonly resources?: readonly Item[];
    readonly _meta?: { readonly 'workspace-gateway/notices': readonly { readonly message: string }[] };
  };
  readonly error?: { readonly code: number; readonly message: string; readonly data?: object };
}

async function ask(method: string, params: object = {}, to = address): Promise<Answer> {
  const answer = await postTo(to, fixture.key, { jsonrpc: '2.0', id: 7, method, params });
  const { id, ...rest } = JSON.parse(await responseIn(answer)) as Answer & { readonly id: unknown };
  expect(id).toBe(7);
  return rest;
}

test('prompts are listed and got under the handle of their server', async () => {
  const { result } = await ask('prompts/list');
  expect(result).toEqual({
    prompts: [{ name: 'first__review' }, { name: 'second__review' }, { name: 'second__plan' }],
  });
  expect((await ask('prompts/get', { name: 'second__plan' })).result).toEqual({
    messages: [{ role: 'user', content: { type: 'text', text: 'plan' } }],
  });
  expect((await ask('prompts/get', { name: 'fourth__plan' })).error).toMatchObject({ code: -32_602 });
  expect((await ask('prompts/get', { name: 'first__plan' })).error).toMatchObject({ code: -32_601 });
});

test('a resource is read from the only server that lists it, or has it; one of several is refused, and named in a notice of the list', async () => {
  const { result } = await ask('resources/list');
  expect(result?.resources?.map(({ uri }) => uri)).toEqual([
    'ui://time/app.html',
    'file:///shared',
    'ui://other',
    'file:///shared',
    'ui://first/page',
  ]);
  expect(result?._meta?.['workspace-gateway/notices']).toEqual([
    { handle: 'third', message: 'the address file:///shared cannot be read: second and third list it' },
  ]);
  const read = async (uri: string) => {
    const { result: found, error } = await ask('resources/read', { uri });
    return found ? { result: found } : { error };
  };
  const contentsOf = (uri: string, text: string) => ({ result: { contents: [{ uri, text }] } });
  expect(await read('ui://other')).toEqual(contentsOf('ui://other', 'other'));
  const ambiguous = (uri: string, message: string) => ({
    error: {
      code: -32_000,
      message: `the address ${uri} is of several connections: ${message}`,
      data: { code: 'AMBIGUOUS_RESOURCE' },
    },
  });
  expect(await read('file:///shared')).toEqual(ambiguous('file:///shared', 'second and third'));
  // No server lists them.
  expect(await read('file:///of-second')).toEqual(contentsOf('file:///of-second', 'mine'));
  expect(await read('file:///of-both')).toEqual(ambiguous('file:///of-both', 'second and third'));
  expect((await read('ui://none')).error).toBeDefined();
});

test('a page that the tools of one server alone name is read from it, whoever lists it', async () => {
  const read = async (uri: string) => (await ask('resources/read', { uri })).result;
  // The third lists it, and the first names it.
  expect(await read('ui://first/page')).toEqual({ contents: [{ uri: 'ui://first/page', text: 'of the first' }] });
  // A tool that may not be used names nothing.
  expect(await read('ui://time/app.html')).toEqual({ contents: [{ uri: 'ui://time/app.html', text: '<p>time</p>' }] });
});

test('tools with names that clients refuse, also because of the handle before them, are left out and named', async () => {
  const { result } = await ask('tools/list');
  expect(result?.tools?.map(({ name }) => name)).toEqual(['first__ok']);
  const notices = result?._meta?.['workspace-gateway/notices'] ?? [];
  const letters = 'clients take only letters, digits, _ and - in names';
  expect(notices.map(({ message }) => message)).toEqual([
    ...['a:b', 'with space', 'x/y', 'dotted.name'].map((name) => `the tool ${name} is left out: ${letters}`),
    `the tool ${LONG} is left out: with its handle its name has 67 characters, and clients take at most 64; a shorter handle can help`,
  ]);
});

test('an address with a slash at the end is the same', async () => {
  expect((await ask('prompts/list', {}, `${address}/`)).result).toBeDefined();
  expect((await ask('tools/list', {}, `${fixture.url}/mcp/`)).result).toBeDefined();
  const connection = `${fixture.url}/v1/mcp-connections/${fixture.connectionId}/mcp/`;
  expect((await ask('tools/list', {}, connection)).result).toBeDefined();
});

test('a server without a stream of messages answers GET with 405, whatever its own status; in a session its 404 is passed on', async () => {
  for (const status of [404, 406, 405]) {
    fixture.peer.handler = (request, response) => {
      request.resume();
      response.writeHead(status, { 'Content-Type': 'text/plain' }).end('no');
    };
    const to = `${fixture.url}/v1/mcp-connections/${fixture.connectionId}/mcp`;
    const headers = { Authorization: `Bearer ${fixture.key}`, Accept: 'text/event-stream' };
    expect((await fetch(to, { headers })).status).toBe(405);
  }
});
