import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { CALLS_OF_PERSON } from '../../../src/core/pools.ts';
import { type UseFixture, postTo, responseIn, startUseFixture, toolCall } from '../../support/fixtures/mcp-use.ts';
import { type ListingServer, listingServer, tool } from '../../support/peers/listing-server.ts';
import { type Peer, startPeer } from '../../support/peers/mcp-server.ts';

/** What the servers of one answer may send and take together, and what one person has of the calls of a process. */

let fixture: UseFixture;
let peer: Peer;
/** By the path of the address. */
let servers: Map<string, ListingServer>;
beforeAll(async () => {
  // A busy machine needs longer than the default for what servers send.
  fixture = await startUseFixture({ timing: { upstreamListMs: 120_000, slotWaitMs: 100 } });
  peer = await startPeer((request, response) => servers.get(request.url ?? '')?.handler(request, response));
});
afterAll(async () => {
  await fixture.stop();
  await peer.stop();
});
beforeEach(() => {
  servers = new Map();
});

/** An administrator of an organization with connections to these servers. */
async function organizationWith(given: Readonly<Record<string, ListingServer>>) {
  const created = await fixture.gateway.createKey();
  for (const [name, server] of Object.entries(given)) {
    const path = `/${created.organization}/${name}`;
    servers.set(path, listingServer());
    await fixture.connect({ name, serverUrl: peer.origin + path }, created.key);
    servers.set(path, server);
  }
  return created;
}

async function list(key: string, method = 'tools/list') {
  const answer = await postTo(`${fixture.url}/v1/mcp`, key, { jsonrpc: '2.0', id: 1, method });
  const { result } = JSON.parse(await responseIn(answer)) as {
    result: {
      tools: { name: string }[];
      _meta?: { 'workspace-gateway/notices'?: { handle: string; message: string }[] };
    };
  };
  return { names: result.tools.map(({ name }) => name), notices: result._meta?.['workspace-gateway/notices'] };
}

const large = (mebibytes: number) => [tool('large', { description: 'x'.repeat(mebibytes * 1024 * 1024) })];

test('when all servers together send more than 8 MiB, those that have sent most are left out and named; also of lists that were kept', async () => {
  const hogs = {
    a: listingServer({ tools: large(3.5) }),
    b: listingServer({ tools: large(3.5) }),
    c: listingServer({ tools: large(3.5) }),
  };
  const { key } = await organizationWith({
    ...hogs,
    d: listingServer(),
    e: listingServer({ tools: [tool('find', { description: 'y'.repeat(900_000) })] }),
  });
  const first = await list(key);
  expect(first.notices).toEqual([
    {
      handle: expect.stringMatching(/^[abc]$/),
      message: 'it is left out: all servers together have sent more than 8388608 bytes (8 MiB), and it most',
    },
  ]);
  expect(first.names).toHaveLength(4);
  expect(first.names).toEqual(expect.arrayContaining(['d__search', 'e__find']));
  // What was not read to its end is asked for again, and what was kept is not.
  const again = await list(key);
  expect(again.notices).toMatchObject([{ handle: expect.stringMatching(/^[abc]$/) }]);
  expect(again.names).toHaveLength(4);
  const asked = Object.values(hogs).flatMap((server) => server.asked.filter((method) => method === 'tools/list'));
  expect(asked.length).toBeLessThanOrEqual(4);
});

test('servers that do not answer are named when the time of all is over, however many, and the others are there', async () => {
  const patient = fixture;
  fixture = await startUseFixture({ timing: { upstreamListMs: 4_000 } });
  onTestFinished(async () => {
    await fixture.stop();
    fixture = patient;
  });
  const silent = () => listingServer({ answer: ({ method }) => method === 'tools/list' });
  const hanging = Object.fromEntries(Array.from({ length: 7 }, (_, index) => [`a${index}`, silent()]));
  const { key } = await organizationWith({ ...hanging, z: listingServer() });
  const { names, notices } = await list(key);
  expect(names).toEqual(['z__search']);
  const message = 'the MCP server did not finish within 4 s';
  expect(notices).toEqual(Object.keys(hanging).map((handle) => ({ handle, message })));
  // They have failed, so the next list does not wait for them.
  const asked = Object.values(hanging).map((server) => server.asked.length);
  expect(await list(key)).toEqual({ names, notices });
  expect(Object.values(hanging).map((server) => server.asked.length)).toEqual(asked);
});

test('one person has at most half of the calls of a process, with whatever keys, and another person calls meanwhile', async () => {
  const ofConnection = 20;
  const waiting = Promise.withResolvers<void>();
  let open = 0;
  const held: (() => void)[] = [];
  const holding = () =>
    listingServer({
      answer: ({ method, id }, response) => {
        if (method !== 'tools/call') return false;
        const result = { content: [{ type: 'text', text: 'done' }] };
        held.push(() => response.end(JSON.stringify({ jsonrpc: '2.0', id, result })));
        if ((open += 1) === CALLS_OF_PERSON) waiting.resolve();
        return true;
      },
    });
  const connections = Array.from({ length: Math.ceil(CALLS_OF_PERSON / ofConnection) + 1 }, (_, index) => `h${index}`);
  const { key, email, organization } = await organizationWith(
    Object.fromEntries(connections.map((name) => [name, holding()])),
  );
  const keys = [key];
  while (keys.length * 10 < CALLS_OF_PERSON + 1) {
    const more = await fixture.gateway.createKey({ email, organization });
    keys.push(more.key);
  }
  const call = (index: number) =>
    postTo(
      `${fixture.url}/v1/mcp`,
      keys[Math.floor(index / 10)] ?? '',
      toolCall(`${connections[Math.floor(index / ofConnection)]}__search`, {}),
      { Accept: 'application/json' },
    );
  const calls = Array.from({ length: CALLS_OF_PERSON }, (_, index) => call(index));
  await waiting.promise;
  expect((await call(CALLS_OF_PERSON)).status).toBe(429);
  const other = await organizationWith({ a: listingServer() });
  const answer = await postTo(`${fixture.url}/v1/mcp`, other.key, toolCall('a__search', {}));
  expect(await responseIn(answer)).toContain('"text":"search"');
  for (const release of held) release();
  expect(new Set((await Promise.all(calls)).map(({ status }) => status))).toEqual(new Set([200]));
});
