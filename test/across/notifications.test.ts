// Changes by another process reach live tails and subscriptions: immediately by notifications, or by polling if notifications are lost.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { userDeletionJob } from '../../src/domains/user-deletions/deletion-job.ts';
import { DELETION_STEPS } from '../../src/gateway/background-jobs.ts';
import { workContext } from '../../src/gateway/contexts.ts';
import { createGateway } from '../../src/gateway/gateway.ts';
import { type RunningServer, serve } from '../../src/gateway/http/server.ts';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import { NOTIFICATIONS_ONLY, POLLING_ONLY, startListening } from '../support/fixtures/notifications.ts';
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
import { sampled } from '../support/sample.ts';

interface Gateways {
  /** Serves the streams that the tests follow. It receives notifications through the proxy. */
  readonly reader: TestGateway;
  readonly server: RunningServer;
  /** Makes all changes. It has its own database connections, like another process. */
  readonly writer: TestGateway;
  readonly proxy: TcpProxy;
}

const open = new Set<EventStream>();

async function closedAfterTest(opening: Promise<EventStream>): Promise<EventStream> {
  const stream = await opening;
  open.add(stream);
  return stream;
}

async function startGateways(timing: typeof NOTIFICATIONS_ONLY | typeof POLLING_ONLY): Promise<Gateways> {
  const writer = await startTestGateway();
  const proxy = await startTcpProxy(writer.databaseUrl);
  const reader = await startTestGateway({}, { beside: writer, timing, listenUrl: proxy.url });
  await startListening(reader);
  const server = await serve(createGateway(reader.dependencies), { host: '127.0.0.1', port: 0 });
  return { reader, server, writer, proxy };
}

/** Sends requests to the reader over real sockets. */
const clientOf = ({ server }: Gateways) => ({
  fetch: (path: string, init?: RequestInit) => fetch(`${server.url}${path}`, init),
});

interface Api {
  readonly name: string;
  readonly follow: (gateways: Gateways, key: string, sessionId: string) => Promise<EventStream>;
  /** The id of an event, `end`, or the error that ends the stream. */
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
    follow: (gateways, key, sessionId) => closedAfterTest(tail(clientOf(gateways), key, sessionId)),
    read({ id, event, data = '' } = {}) {
      if (event === 'end') return event;
      return event === 'error' ? (JSON.parse(data) as { error: string }).error : id;
    },
  },
  {
    name: 'the GraphQL subscription',
    follow: (gateways, key, id) => closedAfterTest(subscribe(clientOf(gateways), key, FOLLOW, { id })),
    read({ event, data = '' } = {}) {
      if (event === 'complete') return 'end';
      const { data: result, errors } = JSON.parse(data) as Result;
      return errors?.[0]?.message ?? String(result?.sessionEvents.databaseId);
    },
  },
];

interface Followed {
  readonly gateways: Gateways;
  readonly sessionId: string;
  /** The key that created the session. */
  readonly admin: string;
  /** Follows the session, but did not create it. */
  readonly member: Awaited<ReturnType<TestGateway['createKey']>>;
}

/** What happens to a followed session, and what its followers read next. */
const ENDINGS: readonly [what: string, act: (followed: Followed) => Promise<unknown>, outcome: string][] = [
  [
    'the end of the session',
    ({ gateways, admin, sessionId }) => moveTo(gateways.writer, admin, sessionId, 'CANCELLED'),
    'end',
  ],
  [
    'the deletion of the session',
    ({ gateways, admin, sessionId }) => gateways.writer.rest('DELETE', `/v1/sessions/${sessionId}`, { key: admin }),
    'end',
  ],
  [
    'a session that becomes private',
    ({ gateways, admin, sessionId }) =>
      gateways.writer.rest('PATCH', `/v1/sessions/${sessionId}`, { key: admin, body: { visibility: 'private' } }),
    'session not found',
  ],
  [
    'the revocation of the key',
    ({ gateways, admin, member }) => gateways.writer.rest('DELETE', `/v1/api-keys/${member.keyId}`, { key: admin }),
    'missing or invalid API key',
  ],
  [
    'the removal of the member',
    ({ gateways, admin, member }) =>
      mutate(gateways.writer, admin, 'removeOrganizationMember', { userId: member.userId }),
    'missing or invalid API key',
  ],
  [
    'the removal of a member whose key has no organization',
    async ({ gateways: { writer }, admin, member }) => {
      const unbind = 'update api_key set organization_id = null where id = $1';
      await writer.dependencies.sql.query(unbind, [member.keyId]);
      await mutate(writer, admin, 'removeOrganizationMember', { userId: member.userId });
    },
    'missing required organization information',
  ],
  [
    'the deletion of the account',
    async ({ gateways: { writer }, member }) => {
      const { dependencies } = writer;
      const asked = await writer.rest<object>('DELETE', `/v1/users/${member.userId}`, { key: member.key });
      const { signal } = new AbortController();
      // Runs the job directly: the queue takes seconds to start its first job in a new database.
      await userDeletionJob(DELETION_STEPS).run(
        { ...workContext(dependencies), log: dependencies.log, signal },
        asked.body,
        crypto.randomUUID(),
      );
    },
    'missing or invalid API key',
  ],
];

const SERVER =
  'subscription($id: ID!) { mcpServerChanged(mcpServerId: $id) { ... on McpServerChanged { mcpServer { name } } ... on McpServerDeleted { deletedId } } }';
const changed = (name: string) => ({ data: { mcpServerChanged: { mcpServer: { name } } } });

/** Subscribes to a new MCP connection, and reads its current state. */
async function followConnection(gateways: Gateways) {
  const { writer } = gateways;
  const admin = await writer.createKey();
  const member = await writer.createKey({ organization: admin.organization });
  const { mcpServer } = await mutate<{ mcpServer: { id: string } }>(
    writer,
    admin.key,
    'createMcpServer',
    { stdio: { name: 'files', visibility: 'SHARED', command: 'true' } },
    'mcpServer { id }',
  );
  const stream = await closedAfterTest(subscribe(clientOf(gateways), member.key, SERVER, { id: mcpServer.id }));
  const next = async () => {
    const { event, data = 'null' } = (await stream.nextData()) ?? {};
    return event === 'complete' ? event : (JSON.parse(data) as unknown);
  };
  expect(await next()).toEqual(changed('files'));
  return { admin: admin.key, member, mcpServerId: mcpServer.id, next };
}

test('by default, streams poll every 5 s and a concurrent append waits at most 10 s', async () => {
  const gateway = await startTestGateway();
  expect(gateway.dependencies.timing).toMatchObject({
    livePollMs: 5_000,
    appendWaitMs: 10_000,
  });
  await gateway.close();
});

describe.each([
  { how: 'only notifications, without a poll within the hour', timing: NOTIFICATIONS_ONLY, isLost: false },
  { how: 'only polls, when every notification is lost', timing: POLLING_ONLY, isLost: true },
])('$how', ({ timing, isLost }) => {
  let gateways: Gateways;
  beforeAll(async () => {
    gateways = await startGateways(timing);
    if (isLost) gateways.proxy.stopForwarding();
  });
  afterEach(async () => {
    await Promise.all([...open].map((stream) => stream.close()));
    open.clear();
  });
  afterAll(async () => {
    await gateways.server.stop(0);
    await gateways.proxy.close();
    await gateways.reader.close();
    await gateways.writer.close();
  });

  /** Follows a new public session, and reads its first event. */
  async function start({ follow, read }: Api) {
    const admin = await gateways.writer.createKey();
    const member = await gateways.writer.createKey({ organization: admin.organization });
    const sessionId = await createSession(gateways.writer, admin.key, { visibility: 'PUBLIC' });
    await append(gateways.writer, admin.key, sessionId, eventsOf(1));
    const stream = await follow(gateways, member.key, sessionId);
    const next = async () => read(await stream.nextData());
    expect(await next()).toBe('1');
    return { gateways, sessionId, admin: admin.key, member, next };
  }

  describe.each(APIS)('bring $name', (api) => {
    test('every append of another process', async () => {
      const { admin, sessionId, next } = await start(api);
      for (const id of ['2', '3', '4', '5', '6']) {
        await append(gateways.writer, admin, sessionId, eventsOf(1));
        expect(await next()).toBe(id);
      }
    });

    sampled(test, 2).each(ENDINGS)('%s', async (_, act, outcome) => {
      const followed = await start(api);
      await act(followed);
      expect(await followed.next()).toBe(outcome);
    });
  });

  test('bring a list of sessions what is held, released and deleted', async () => {
    const { writer } = gateways;
    const { key } = await writer.createKey();
    const sessionId = await createSession(writer, key);
    const query = `subscription { sessionChange { ... on SessionChanged { session { hold { reason } } } ... on SessionLeft { sessionId } } }`;
    const stream = await closedAfterTest(subscribe(clientOf(gateways), key, query, {}));
    const next = async () => (JSON.parse((await stream.nextData())?.data ?? 'null') as { data: unknown }).data;
    // The first change that comes shows that the list is followed.
    await writer.rest('PATCH', `/v1/sessions/${sessionId}`, { key, body: { title: 'Followed' } });
    expect(await next()).toEqual({ sessionChange: { session: { hold: null } } });
    await writer.rest('PUT', `/v1/sessions/${sessionId}/hold`, { key, body: { reason: 'Evidence' } });
    expect(await next()).toEqual({ sessionChange: { session: { hold: { reason: 'Evidence' } } } });
    await writer.rest('DELETE', `/v1/sessions/${sessionId}/hold`, { key });
    expect(await next()).toEqual({ sessionChange: { session: { hold: null } } });
    await writer.rest('DELETE', `/v1/sessions/${sessionId}`, { key });
    expect(await next()).toEqual({ sessionChange: { sessionId: expect.any(String) } });
  });

  test('bring a subscription every change of an MCP connection, and its deletion', async () => {
    const { admin, mcpServerId, next } = await followConnection(gateways);
    for (const name of ['renamed', 'renamed again']) {
      await mutate(gateways.writer, admin, 'updateMcpServer', { mcpServerId, name });
      expect(await next()).toEqual(changed(name));
    }
    await mutate(gateways.writer, admin, 'deleteMcpServer', { mcpServerId });
    expect(await next()).toEqual({ data: { mcpServerChanged: { deletedId: mcpServerId } } });
    expect(await next()).toBe('complete');
  });

  test('end a subscription to an MCP connection when the key is revoked', async () => {
    const { admin, member, next } = await followConnection(gateways);
    await gateways.writer.rest('DELETE', `/v1/api-keys/${member.keyId}`, { key: admin });
    expect(await next()).toMatchObject({ errors: [{ message: 'missing or invalid API key' }] });
  });
});
