// What another process changes reaches live tails and subscriptions: at once by notification, and without any by polling.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { userDeletionJob } from '../../src/domains/user-deletions/deletion-job.ts';
import { workContext } from '../../src/gateway/contexts.ts';
import { createGateway } from '../../src/gateway/gateway.ts';
import { type RunningServer, serve } from '../../src/gateway/http/server.ts';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import { NOTIFIED_ONLY, POLLED, startListening } from '../support/fixtures/notifications.ts';
import {
  type EventStream,
  type Message,
  append,
  createSession,
  eventsOf,
  moveTo,
  mutate,
  subscribe,
  tail,
} from '../support/fixtures/sessions.ts';
import { type TcpProxy, startTcpProxy } from '../support/peers/tcp-proxy.ts';

interface World {
  /** Serves the followers. Its notifications come through the proxy. */
  readonly reader: TestGateway;
  readonly server: RunningServer;
  /** A gateway with its own connections, as another process has: everything is changed here. */
  readonly writer: TestGateway;
  readonly proxy: TcpProxy;
}

const open = new Set<EventStream>();

async function kept(opening: Promise<EventStream>): Promise<EventStream> {
  const stream = await opening;
  open.add(stream);
  return stream;
}

async function startWorld(timing: typeof NOTIFIED_ONLY | typeof POLLED): Promise<World> {
  const writer = await startTestGateway();
  const proxy = await startTcpProxy(writer.databaseUrl);
  const reader = await startTestGateway({}, { beside: writer, timing, listenUrl: proxy.url });
  await startListening(reader);
  const server = await serve(createGateway(reader.dependencies), { host: '127.0.0.1', port: 0 });
  return { reader, server, writer, proxy };
}

/** Over real sockets, as followers come. */
const clientOf = ({ server }: World) => ({
  fetch: (path: string, init?: RequestInit) => fetch(`${server.url}${path}`, init),
});

interface Api {
  readonly name: string;
  readonly follow: (world: World, key: string, sessionId: string) => Promise<EventStream>;
  /** The id of an event, `end`, or why there are no more. */
  readonly read: (message: Message | undefined) => string | undefined;
}

const FOLLOW = 'subscription($id: ID!) { sessionEvents(sessionId: $id) { databaseId } }';

interface Result {
  readonly data?: { readonly sessionEvents: { readonly databaseId: number } } | null;
  readonly errors?: readonly { readonly message: string }[];
}

const APIS: readonly Api[] = [
  {
    name: 'the REST stream',
    follow: (world, key, sessionId) => kept(tail(clientOf(world), key, sessionId)),
    read({ id, event, data = '' } = {}) {
      return event === 'error' ? (JSON.parse(data) as { error: string }).error : (id ?? event);
    },
  },
  {
    name: 'the GraphQL subscription',
    follow: (world, key, id) => kept(subscribe(clientOf(world), key, FOLLOW, { id })),
    read({ event, data = '' } = {}) {
      if (event === 'complete') return 'end';
      const { data: result, errors } = JSON.parse(data) as Result;
      return errors?.[0]?.message ?? String(result?.sessionEvents.databaseId);
    },
  },
];

interface Scene {
  readonly world: World;
  readonly sessionId: string;
  /** Created the session. */
  readonly admin: string;
  /** The follower, a member without a part in the session. */
  readonly member: Awaited<ReturnType<TestGateway['createKey']>>;
}

/** What happens, and what a follower reads after it. */
const ENDINGS: readonly [what: string, act: (scene: Scene) => Promise<unknown>, outcome: string][] = [
  [
    'the end of the session',
    ({ world, admin, sessionId }) => moveTo(world.writer, admin, sessionId, 'CANCELLED'),
    'end',
  ],
  [
    'a session that turns private',
    ({ world, admin, sessionId }) =>
      world.writer.rest('PATCH', `/v1/sessions/${sessionId}`, { key: admin, body: { visibility: 'private' } }),
    'session not found',
  ],
  [
    'the revocation of the key',
    ({ world, admin, member }) => world.writer.rest('DELETE', `/v1/api-keys/${member.keyId}`, { key: admin }),
    'missing or invalid API key',
  ],
  [
    'the removal of the member',
    ({ world, admin, member }) => mutate(world.writer, admin, 'removeOrganizationMember', { userId: member.userId }),
    'missing or invalid API key',
  ],
  [
    'the removal of a member whose key has no organization',
    async ({ world: { writer }, admin, member }) => {
      const unbind = 'update api_key set organization_id = null where id = $1';
      await writer.dependencies.sql.query(unbind, [member.keyId]);
      await mutate(writer, admin, 'removeOrganizationMember', { userId: member.userId });
    },
    'missing required organization information',
  ],
  [
    'the deletion of the account',
    async ({ world: { writer }, member }) => {
      const { dependencies } = writer;
      const asked = await writer.rest<object>('DELETE', `/v1/users/${member.userId}`, { key: member.key });
      const { signal } = new AbortController();
      // Without the queue, whose first job in a new database takes seconds to come.
      await userDeletionJob.run({ ...workContext(dependencies), log: dependencies.log, signal }, asked.body);
    },
    'missing or invalid API key',
  ],
];

const SERVER =
  'subscription($id: ID!) { mcpServerChanged(mcpServerId: $id) { ... on McpServerChanged { mcpServer { name } } ... on McpServerDeleted { deletedId } } }';
const changed = (name: string) => ({ data: { mcpServerChanged: { mcpServer: { name } } } });

/** A follower of an MCP connection, behind its present state, and the connection. */
async function followConnection(world: World) {
  const { writer } = world;
  const admin = await writer.createKey();
  const member = await writer.createKey({ organization: admin.organization });
  const { mcpServer } = await mutate<{ mcpServer: { id: string } }>(
    writer,
    admin.key,
    'createMcpServer',
    { stdio: { name: 'files', visibility: 'SHARED', command: 'true' } },
    'mcpServer { id }',
  );
  const stream = await kept(subscribe(clientOf(world), member.key, SERVER, { id: mcpServer.id }));
  const next = async () => {
    const { event, data = 'null' } = (await stream.nextData()) ?? {};
    return event === 'complete' ? event : (JSON.parse(data) as unknown);
  };
  expect(await next()).toEqual(changed('files'));
  return { admin: admin.key, member, mcpServerId: mcpServer.id, next };
}

test('polls come every 5 s, for whatever is followed, unless a test says otherwise', async () => {
  const gateway = await startTestGateway();
  expect(gateway.dependencies.timing).toMatchObject({
    livePollMs: 5_000,
    appendWaitMs: 10_000,
  });
  await gateway.close();
});

describe.each([
  { how: 'only notifications, without a poll within the hour', timing: NOTIFIED_ONLY, isLost: false },
  { how: 'only polls, when every notification is lost', timing: POLLED, isLost: true },
])('$how', ({ timing, isLost }) => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld(timing);
    if (isLost) world.proxy.fallSilent();
  });
  afterEach(async () => {
    await Promise.all([...open].map((stream) => stream.close()));
    open.clear();
  });
  afterAll(async () => {
    await world.server.stop(0);
    await world.proxy.close();
    await world.reader.close();
    await world.writer.close();
  });

  /** A follower of a public session, behind its first event. */
  async function start({ follow, read }: Api) {
    const admin = await world.writer.createKey();
    const member = await world.writer.createKey({ organization: admin.organization });
    const sessionId = await createSession(world.writer, admin.key, { visibility: 'PUBLIC' });
    await append(world.writer, admin.key, sessionId, eventsOf(1));
    const stream = await follow(world, member.key, sessionId);
    const next = async () => read(await stream.nextData());
    expect(await next()).toBe('1');
    return { world, sessionId, admin: admin.key, member, next };
  }

  describe.each(APIS)('bring $name', (api) => {
    test('every append of another process', async () => {
      const { admin, sessionId, next } = await start(api);
      for (const id of ['2', '3', '4', '5', '6']) {
        await append(world.writer, admin, sessionId, eventsOf(1));
        expect(await next()).toBe(id);
      }
    });

    test.each(ENDINGS)('%s', async (_, act, outcome) => {
      const scene = await start(api);
      await act(scene);
      expect(await scene.next()).toBe(outcome);
    });
  });

  test('bring a subscription every change of an MCP connection, and its deletion', async () => {
    const { admin, mcpServerId, next } = await followConnection(world);
    for (const name of ['renamed', 'renamed again']) {
      await mutate(world.writer, admin, 'updateMcpServer', { mcpServerId, name });
      expect(await next()).toEqual(changed(name));
    }
    await mutate(world.writer, admin, 'deleteMcpServer', { mcpServerId });
    expect(await next()).toEqual({ data: { mcpServerChanged: { deletedId: mcpServerId } } });
    expect(await next()).toBe('complete');
  });

  test('end a subscription to an MCP connection when the key is revoked', async () => {
    const { admin, member, next } = await followConnection(world);
    await world.writer.rest('DELETE', `/v1/api-keys/${member.keyId}`, { key: admin });
    expect(await next()).toMatchObject({ errors: [{ message: 'missing or invalid API key' }] });
  });
});
