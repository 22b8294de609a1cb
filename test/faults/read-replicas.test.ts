import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type GatewayProcess, call, endProcesses, issueKey, run, startGateway } from '../support/processes/process.ts';
import { GATEWAY } from '../support/processes/programs.ts';
import { full, proof } from '../support/proof.ts';
import { tail } from '../support/fixtures/sessions.ts';
import { type PrimaryWithStandby, startPrimaryWithStandby } from '../support/processes/standby.ts';
import { type TcpProxy, startTcpProxy } from '../support/peers/tcp-proxy.ts';

/** Two gateway processes on a primary with a real streaming standby. Tests write through one process and read through the other. */

let env: Record<string, string>;
let servers: PrimaryWithStandby;
let proxy: TcpProxy;
let key: string;
let one: GatewayProcess;
let two: GatewayProcess;

beforeAll(async () => {
  servers = await startPrimaryWithStandby();
  proxy = await startTcpProxy(servers.standbyUrl);
  env = {
    DATABASE_URL: servers.primaryUrl,
    DATABASE_REPLICA_URLS: proxy.url,
    ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    RATE_LIMIT_PER_MINUTE: '0',
    LOG_LEVEL: 'warn',
  };
  one = await startGateway(env);
  two = await startGateway(env);
  key = await issueKey(env, { email: `${randomBytes(6).toString('hex')}@example.com` });
});
afterAll(async () => {
  await endProcesses();
  await proxy.close();
  await servers.close();
});

const list = ({ url }: GatewayProcess) => call(url, key, 'GET', '/events/2026-03/event-definitions?limit=500');

async function isUsable({ url }: GatewayProcess): Promise<boolean> {
  return /^gateway_replica_usable\{.*\} 1$/m.test(await (await fetch(`${url}/metrics`)).text());
}

/** Waits until the gateway uses the replica. A gateway checks its replicas only after its first read. */
async function becomesUsable(gateway: GatewayProcess): Promise<void> {
  const read = async () => {
    expect((await list(gateway)).status).toBe(200);
    return isUsable(gateway);
  };
  await expect.poll(read, { interval: 50 }).toBe(true);
}

async function create({ url }: GatewayProcess, name: string): Promise<number> {
  const { status } = await call(url, key, 'POST', '/events/2026-03/event-definitions', {
    label: name,
    name,
    primaryObject: 'CONTACT',
  });
  return status;
}

async function rename({ url }: GatewayProcess, sessionId: string, title: string): Promise<number> {
  return (await call(url, key, 'PATCH', `/v1/sessions/${sessionId}`, { title })).status;
}

interface GraphQLBody<Data> {
  readonly data: Data;
  readonly errors?: unknown;
}

async function graphql<Data>({ url }: GatewayProcess, query: string, variables: object = {}): Promise<Data> {
  const { body } = await call(url, key, 'POST', '/graphql', { query, variables });
  const { data, errors } = body as GraphQLBody<Data>;
  expect(errors).toBe(undefined);
  return data;
}

async function createSession(gateway: GatewayProcess): Promise<string> {
  const query =
    'mutation { createSession(input: {title: "a"}) { ... on CreateSessionPayload { session { databaseId } } } }';
  const data = await graphql<{ createSession: { session: { databaseId: string } } }>(gateway, query);
  return data.createSession.session.databaseId;
}

const titleOf = async (gateway: GatewayProcess, sessionId: string) => {
  const query = 'query($id: ID!) { node(id: $id) { ... on Session { title } } }';
  const id = Buffer.from(`Session:${sessionId}`).toString('base64');
  return (await graphql<{ node: { title: string } | null }>(gateway, query, { id })).node?.title;
};

/** The statements that the standby has run since the last call. The last statement marks the end of its log. */
async function ranMeanwhile(): Promise<string[]> {
  const last = `select '${randomUUID()}'`;
  await servers.onStandby(last);
  await expect.poll(() => servers.statements).toContain(last);
  return servers.statements.splice(0).filter((text) => text !== last);
}

test('reads of both APIs run on the standby; writes, their reads and the lookup of keys run on the primary', async () => {
  await becomesUsable(two);
  await ranMeanwhile();
  const ran: string[] = [];
  const read = async () => {
    await list(two);
    await graphql(two, '{ viewer { organization { sessions(first: 5) { nodes { title } } } } }');
    ran.push(...(await ranMeanwhile()));
    return ['from "event_definition"', 'from "session"'].map((part) => ran.some((text) => text.includes(part)));
  };
  // The primary serves a read if the standby has not yet replayed the latest write.
  await expect.poll(read).toEqual([true, true]);
  const sessionId = await createSession(two);
  expect(await rename(two, sessionId, 'b')).toBe(200);
  expect(await create(two, 'written')).toBe(201);
  expect(await ranMeanwhile()).toEqual([]);
  await expect.poll(async () => (await list(two), await ranMeanwhile())).not.toEqual([]);
});

test('a write through one process is visible to the next read through the other, also while the standby does not replay', async () => {
  const sessionId = await createSession(one);
  const reads = { replaying: 0, paused: 0 };
  const rounds = full ? 1000 : 50;
  servers.statements.length = 0;
  for (let round = 0; round < rounds; round += 1) {
    const title = `replaying ${round}`;
    expect(await rename(one, sessionId, title)).toBe(200);
    expect(await titleOf(two, sessionId)).toBe(title);
    reads.replaying += 1;
  }
  const onStandby = servers.statements.filter((text) => text.includes('from "session"')).length;
  expect(onStandby).toBeGreaterThan(0);

  await servers.onStandby('select pg_wal_replay_pause()');
  const stream = await tail({ fetch: (path, init) => fetch(two.url + path, init) }, key, sessionId);
  for (let round = 0; round < 20; round += 1) {
    const title = `paused ${round}`;
    expect(await rename(one, sessionId, title)).toBe(200);
    expect(await titleOf(two, sessionId)).toBe(title);
    reads.paused += 1;
  }
  await expect.poll(() => isUsable(two)).toBe(false);
  // Live tails receive events that the replica does not have yet.
  const input = { sessionId, events: [{ eventType: 'text', provider: 'anthropic', eventData: { type: 'text' } }] };
  await graphql(
    one,
    'mutation($input: AppendSessionEventsInput!) { appendSessionEvents(input: $input) { __typename } }',
    {
      input,
    },
  );
  expect(await stream.nextData()).toMatchObject({ id: '1' });
  await stream.close();

  await servers.onStandby('select pg_wal_replay_resume()');
  await becomesUsable(two);
  expect(await titleOf(two, sessionId)).toBe('paused 19');
  proof('Read replicas', {
    figures: {
      'reads right after a write in another process': reads.replaying + reads.paused,
      'of them stale': 0,
      'of them on the standby while it replays': `${onStandby} of ${reads.replaying}`,
      'while its replay is paused': `0 of ${reads.paused}`,
    },
  });
});

test('requests are answered while the standby is killed or does not respond, and it is used again afterwards', async () => {
  let isDone = false;
  const statuses = new Map<number, number>();
  const read = async () => {
    while (!isDone) {
      const { status } = await list(two);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  const readers = [read(), read(), read(), read()];
  const away = async () => {
    await expect.poll(() => isUsable(two)).toBe(false);
  };

  await servers.killStandby();
  await away();
  await servers.startStandby();
  await becomesUsable(two);

  proxy.stopForwarding();
  await away();
  // Readers that waited for the standby continue.
  const before = statuses.get(200) ?? 0;
  await expect.poll(() => statuses.get(200) ?? 0).toBeGreaterThan(before + 20);
  proxy.resumeForwarding();
  await becomesUsable(two);

  proxy.cut();
  await becomesUsable(two);
  servers.statements.length = 0;
  await expect.poll(() => servers.statements.length).toBeGreaterThan(10);
  isDone = true;
  await Promise.all(readers);
  expect([...statuses.keys()]).toEqual([200]);
});

test('a gateway does not start with a standby as its primary, and prints one line about it', async () => {
  const command = [GATEWAY, 'start'];
  expect(await run(command, { ...env, PORT: '0', DATABASE_URL: servers.standbyUrl })).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'DATABASE_URL: the server is a standby, which cannot be written to; name the primary here, and standbys in DATABASE_REPLICA_URLS\n',
  });
});
