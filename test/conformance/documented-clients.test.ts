import { readFile, readdir } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { startServedGateway } from '../support/fixtures/served-gateway.ts';
import { append, createSession, eventsOf, moveTo } from '../support/fixtures/sessions.ts';
import { SCHEMA, typeErrors } from './helpers/apps.ts';
import {
  EXAMPLES,
  type Examples,
  createThreeSessions,
  generateClientExamples,
  openExample,
} from './helpers/client-examples.ts';

/** The examples of docs/clients.md, unchanged, with a gateway. */

const gateway = await startServedGateway({ CORS_ORIGINS: 'http://localhost:5173' });
let folder: string;
let url: string;

const example = <File extends keyof Examples>(file: File) => openExample(folder, file);

beforeAll(async () => {
  url = `${gateway.url}/graphql`;
  folder = await generateClientExamples('clients');
});

test('the page links every example file, and their types fit', async () => {
  const page = await readFile(new URL('../../docs/clients.md', import.meta.url), 'utf8');
  const files = await readdir(EXAMPLES);
  const linked = [...page.matchAll(/\]\(examples\/clients\/([\w.-]+)\)/g)].map(([, file]) => file);
  expect(new Set(linked)).toEqual(new Set(files));
  // Relay compiles its own: `relay.test.ts`.
  const code = files
    .filter((file) => /^(?!relay-entries).*\.ts$/.test(file))
    .map((file) => `../generated/clients/${file}`);
  expect(await typeErrors(...code)).toEqual([]);
});

test('the configuration of the generator names every scalar of the schema', async () => {
  const { default: config } = await example('codegen.ts');
  const scalars = [...(await readFile(SCHEMA, 'utf8')).matchAll(/^scalar (\w+)/gm)].map(([, name]) => name);
  expect(new Set(Object.keys(config.config.scalars))).toEqual(new Set(scalars));
});

const titlesOf = async (items: AsyncIterable<{ title: string }>) => {
  const titles: string[] = [];
  for await (const { title } of items) titles.push(title);
  return titles;
};

test('urql: pages, typed errors in a form, events', async () => {
  const { key, ids } = await createThreeSessions(gateway);
  const urql = await example('urql.ts');
  const client = urql.createUrqlClient(url, key);
  expect(await titlesOf(urql.allSessions(client, 2))).toEqual(['Three', 'Two', 'One']);
  expect(await urql.renameSession(client, ids[1] ?? '', 'Renamed')).toEqual({ title: 'Renamed' });
  expect(await urql.renameSession(client, ids[1] ?? '', '')).toEqual({
    messages: new Map([['title', 'must not be empty']]),
  });
  const seen: number[] = [];
  await urql.followSession(client, ids[0] ?? '', (id) => seen.push(id));
  expect(seen).toEqual([1, 2, 3, 4, 5]);
});

describe('Apollo', () => {
  test('shows pages, and a change before its answer; reverts the change when it is refused', async () => {
    const { key } = await createThreeSessions(gateway);
    const apollo = await example('apollo.ts');
    const client = apollo.createApolloClient(url, key, await apollo.possibleTypesOf(url, key));
    const shown: string[][] = [];
    const list = apollo.watchSessions(client, 1, (titles) => shown.push(titles));
    await expect.poll(() => shown.at(-1)).toEqual(['Three']);
    expect(await Promise.all([list.loadMore(), list.loadMore()])).toEqual([true, true]);
    expect(shown.at(-1)).toEqual(['Three', 'Two']);
    while (await list.loadMore());
    expect(shown.at(-1)).toEqual(['Three', 'Two', 'One']);

    const session = Object.values(client.cache.extract()).find((one) => (one as { title?: string })?.title === 'Two');
    const renaming = apollo.renameSession(client, session, 'Renamed');
    expect(shown.at(-1)).toEqual(['Three', 'Renamed', 'One']);
    expect(await renaming).toEqual(new Map());
    const refusing = apollo.renameSession(client, session, 'x'.repeat(1001));
    expect(shown.at(-1)?.[1]).toHaveLength(1001);
    expect(await refusing).toEqual(new Map([['title', 'must be at most 1000 characters']]));
    await expect.poll(() => shown.at(-1)).toEqual(['Three', 'Renamed', 'One']);
    list.stop();
  });

  test('keeps partial data with the errors of missing fields, and follows events', async () => {
    const { key, organization, ids } = await createThreeSessions(gateway);
    const apollo = await example('apollo.ts');
    const possibleTypes = await apollo.possibleTypesOf(url, key);
    const member = await gateway.createKey({ organization });
    const asAdmin = apollo.createApolloClient(url, key, possibleTypes);
    const asMember = apollo.createApolloClient(url, member.key, possibleTypes);
    expect((await apollo.readOverview(asAdmin)).changes).toHaveLength(5);
    expect(await apollo.readOverview(asMember)).toEqual({
      name: expect.any(String),
      changes: null,
      refused: expect.stringContaining('only administrators'),
    });
    const seen: number[] = [];
    await apollo.followSession(asMember, ids[0] ?? '', (id) => seen.push(id));
    expect(seen).toEqual([1, 2, 3, 4, 5]);
  });
});

test('over WebSocket: Apollo and urql read, change, get typed errors, and follow events', async () => {
  const { key, ids } = await createThreeSessions(gateway);
  const [apollo, urql] = [await example('apollo.ts'), await example('urql.ts')];
  const overApollo = (await example('apollo-websocket.ts')).createApolloSocketClient(url, key);
  const overUrql = (await example('urql-websocket.ts')).createUrqlSocketClient(url, key);
  const requests = vi.spyOn(globalThis, 'fetch');
  expect(await titlesOf(urql.allSessions(overUrql, 2))).toEqual(['Three', 'Two', 'One']);
  expect(await urql.renameSession(overUrql, ids[1] ?? '', 'Renamed')).toEqual({ title: 'Renamed' });
  expect(await urql.renameSession(overUrql, ids[1] ?? '', '')).toEqual({
    messages: new Map([['title', 'must not be empty']]),
  });
  expect((await apollo.readOverview(overApollo)).changes).toHaveLength(5);
  const seen: [number[], number[]] = [[], []];
  await Promise.all([
    apollo.followSession(overApollo, ids[0] ?? '', (id) => seen[0].push(id)),
    urql.followSession(overUrql, ids[0] ?? '', (id) => seen[1].push(id)),
  ]);
  expect(seen).toEqual([
    [1, 2, 3, 4, 5],
    [1, 2, 3, 4, 5],
  ]);
  expect(requests).not.toHaveBeenCalled();
  requests.mockRestore();
});

test('urql and Apollo show what people read of a running session, as it changes', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key);
  await moveTo(gateway, key, id, 'IN_PROGRESS');
  const said = (data: object) => eventsOf(1, { data });
  const call = { itemId: 'call', toolName: 'Bash' };
  await append(gateway, key, id, [
    ...said({ source: 'user', accumulatedText: 'Go' }),
    ...said({ ...call, accumulatedText: 'npm test' }),
  ]);
  const [apollo, urql] = [await example('apollo.ts'), await example('urql.ts')];
  const { lineOf } = await example('session-entries.ts');
  const overApollo = apollo.createApolloClient(url, key, await apollo.possibleTypesOf(url, key));
  const shown: string[][][] = [[], []];
  const keep = (which: number) => (entries: readonly object[]) => shown[which]?.push(entries.map(lineOf));
  const ended = Promise.all([
    apollo.followEntries(overApollo, id, keep(0)),
    urql.followEntries(urql.createUrqlClient(url, key), id, keep(1)),
  ]);
  await expect.poll(() => shown.map((lists) => lists.length > 0)).toEqual([true, true]);
  await append(gateway, key, id, [
    ...said({ ...call, toolResult: { status: 'error', output: 'one failed' } }),
    ...said({ source: 'assistant', accumulatedText: 'It fails.' }),
  ]);
  await moveTo(gateway, key, id, 'COMPLETED');
  await ended;
  for (const lists of shown) {
    expect(lists[0]).toEqual(['1 UserMessage: Go', '1 ToolCall: Bash npm test …']);
    expect(lists.at(-1)).toEqual([
      '1 UserMessage: Go',
      '1 ToolCall: Bash npm test (failed)',
      '1 AgentMessage: It fails.',
    ]);
  }
});

test('graphql-sse: follows events, and gets a refusal as an event', async () => {
  const { key, ids } = await createThreeSessions(gateway);
  const { followSession } = await example('graphql-sse.ts');
  const seen: [number, string][] = [];
  await followSession(url, key, ids[0] ?? '', (...event) => seen.push(event));
  expect(seen).toEqual([1, 2, 3, 4, 5].map((id) => [id, 'text']));
  await expect(followSession(url, 'wgk_nothing', ids[0] ?? '', () => {})).rejects.toMatchObject({
    response: { status: 401 },
  });
});

test('REST: reads whole lists, reads and changes an object, and repeats no write that is sent again', async () => {
  const { key, ids } = await createThreeSessions(gateway);
  const rest = await example('rest.ts');
  const client = rest.createRest(gateway.url, key);
  expect(await titlesOf(rest.allSessions(client, 2))).toEqual(['Three', 'Two', 'One']);
  const events: number[] = [];
  for await (const { id } of rest.storedEvents(client, ids[0] ?? '', 2)) events.push(id);
  expect(events).toEqual([1, 2, 3, 4, 5]);
  expect([await rest.raiseLevel(client, ids[1] ?? ''), await rest.raiseLevel(client, ids[1] ?? '')]).toEqual([1, 2]);
  // Discards the first answer of each write, after the gateway has executed it.
  const lost = new Set<string>();
  const real = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    const response = await real(input, init);
    const idempotencyKey = input instanceof Request ? input.headers.get('Idempotency-Key') : null;
    if (idempotencyKey === null || lost.has(idempotencyKey)) return response;
    lost.add(idempotencyKey);
    throw new TypeError('the connection was lost');
  };
  try {
    const created = await client.POST('/v1/sessions', { body: { title: 'Once' } });
    expect([created.response.status, created.response.headers.get('Idempotent-Replayed')]).toEqual([201, 'true']);
  } finally {
    globalThis.fetch = real;
  }
  expect(lost.size).toBe(1);
  expect((await titlesOf(rest.allSessions(client, 100))).filter((title) => title === 'Once')).toHaveLength(1);
});

test('REST: the live tail returns each event once', async () => {
  const { key, ids } = await createThreeSessions(gateway);
  const { liveTail } = await example('live-tail.ts');
  const seen: number[] = [];
  for await (const { id } of liveTail(gateway.url, key, ids[0] ?? '')) seen.push(id);
  expect(seen).toEqual([1, 2, 3, 4, 5]);
  const refused = async () => {
    for await (const event of liveTail(gateway.url, 'wgk_nothing', ids[0] ?? '')) seen.push(event.id);
  };
  await expect(refused()).rejects.toThrow('missing or invalid API key');
});

test('a proxy hides the key from the page, and forwards requests, refusals and live tails', async () => {
  const { key, ids } = await createThreeSessions(gateway);
  const { createProxy } = await example('proxy.ts');
  const proxy = createProxy(gateway.url, ({ headers }) => (headers.cookie === 'session=1' ? key : undefined));
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const through = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  try {
    const send = (cookie: string, accept: string) =>
      fetch(`${through}/v1/sessions/${ids[0]}/events`, { headers: { Cookie: cookie, Accept: accept } });
    expect((await send('session=2', 'application/json')).status).toBe(401);
    expect(((await (await send('session=1', 'application/json')).json()) as { items: object[] }).items).toHaveLength(5);
    const stream = await send('session=1', 'text/event-stream');
    expect([stream.headers.get('cache-control'), stream.headers.get('x-accel-buffering')]).toEqual(['no-store', 'no']);
    expect((await stream.text()).match(/^data: \{"id":\d/gm)).toHaveLength(5);
    // The reader of rest.ts follows `Link`, so it reads every page only if the proxy forwards the headers of answers.
    const rest = await example('rest.ts');
    const client = rest.createRest(through, 'unused');
    client.use({ onRequest: ({ request }) => (request.headers.set('Cookie', 'session=1'), request) });
    const events: number[] = [];
    for await (const { id } of rest.storedEvents(client, ids[0] ?? '', 2)) events.push(id);
    expect(events).toEqual([1, 2, 3, 4, 5]);
    const elsewhere = await fetch(`${through}/v1/sessions`, {
      headers: { Cookie: 'session=1', 'X-Organization-Id': 'another', 'X-Request-Id': 'through-the-proxy' },
    });
    expect([elsewhere.status, elsewhere.headers.get('x-request-id')]).toEqual([400, 'through-the-proxy']);
    const query = await fetch(`${through}/graphql`, {
      method: 'POST',
      headers: { Cookie: 'session=1', 'Content-Type': 'application/json' },
      body: JSON.stringify({ query: '{ viewer { apiKey { preview } } }' }),
    });
    expect([query.status, await query.text()]).toEqual([200, expect.not.stringContaining(key)]);
  } finally {
    proxy.closeAllConnections();
    proxy.close();
  }
});

test('CORS: pages of a listed origin can send requests, pages of other origins cannot', async () => {
  const preflight = (origin: string) =>
    fetch(url, {
      method: 'OPTIONS',
      headers: {
        Origin: origin,
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'authorization',
      },
    });
  const allowed = await preflight('http://localhost:5173');
  expect([allowed.status, allowed.headers.get('Access-Control-Allow-Origin')]).toEqual([204, 'http://localhost:5173']);
  expect((await preflight('http://localhost:5174')).headers.get('Access-Control-Allow-Origin')).toBeNull();
});
