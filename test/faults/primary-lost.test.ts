import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type GatewayProcess, call, endProcesses, issueKey, startGateway } from '../support/processes/process.ts';
import { type PrimaryWithStandby, startPrimaryWithStandby } from '../support/processes/standby.ts';
import { query } from '../support/processes/embedded-postgres.ts';
import { type TcpProxy, startTcpProxy } from '../support/peers/tcp-proxy.ts';
import { superuserUrl } from '../support/processes/embedded-postgres.ts';

/** A gateway with the URLs of all servers of a cluster. The primary is lost, and the standby takes over. */

let servers: PrimaryWithStandby;
let proxy: TcpProxy;
let gateway: GatewayProcess;
let key: string;

beforeAll(async () => {
  servers = await startPrimaryWithStandby();
  // Like the proxy of a cluster, it connects clients to the current primary.
  proxy = await startTcpProxy(servers.primaryUrl);
  await servers.onPrimary(`alter system set synchronous_standby_names = '*'`);
  await servers.onPrimary('select pg_reload_conf()');
  const env = {
    DATABASE_URL: proxy.url,
    DATABASE_REPLICA_URLS: `${servers.primaryUrl},${servers.standbyUrl}`,
    ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    RATE_LIMIT_PER_MINUTE: '10000',
    RUN_JOBS: 'false',
  };
  gateway = await startGateway(env);
  key = await issueKey(env);
});
afterAll(async () => {
  await endProcesses();
  await proxy.close();
  await servers.close();
});

const DEFINITIONS = '/events/2026-03/event-definitions';

async function ask(method: string, path: string, body?: unknown) {
  const response = await fetch(`${gateway.url}${path}`, {
    method,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, retryAfter: response.headers.get('retry-after'), text: await response.text() };
}

const create = (name: string) => ask('POST', DEFINITIONS, { label: name, name, primaryObject: 'CONTACT' });
const names = async () => {
  const { status, body } = await call(gateway.url, key, 'GET', `${DEFINITIONS}?limit=500`);
  return { status, names: (body as { results: { name: string }[] }).results.map(({ name }) => name) };
};
const QUERY = '{ viewer { organization { eventDefinitions(first: 100) { nodes { name } } } } }';
const CREATE = 'mutation { createSession(input: {title: "a"}) { __typename } }';

async function usableAfterRead(): Promise<number> {
  await names();
  return usable();
}

/** The number of servers that the gateway currently uses as read replicas. */
async function usable(): Promise<number> {
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  return [...text.matchAll(/^gateway_replica_usable\{.*\} 1$/gm)].length;
}

test('a commit whose wait for the standby is canceled is not acknowledged, although PostgreSQL reports it as done', async () => {
  // The first request writes the last use of the key, so that later requests do not.
  expect((await names()).status).toBe(200);
  await servers.onPrimary(`alter system set synchronous_standby_names = 'nobody'`);
  await servers.onPrimary('select pg_reload_conf()');
  const waiting = `select count(*)::int as count from pg_stat_activity where wait_event = 'SyncRep'`;
  const cancel = `select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`;
  for (const write of [() => create('unconfirmed'), () => ask('POST', '/graphql', { query: CREATE })]) {
    const writing = write();
    // Only a superuser can see what other sessions wait for.
    await expect.poll(() => query(superuserUrl(servers.primaryUrl), waiting)).toEqual([{ count: 1 }]);
    await servers.onPrimary(cancel);
    expect(await writing).toMatchObject({ status: 503, retryAfter: '1' });
  }
  await servers.onPrimary(`alter system set synchronous_standby_names = '*'`);
  await servers.onPrimary('select pg_reload_conf()');
  expect((await create('unconfirmed')).status).toBe(409);
});

test('the standby serves reads, also without a primary, and accepts writes after its promotion', async () => {
  expect((await create('before')).status).toBe(201);
  const present = (await names()).names;
  await expect.poll(usableAfterRead).toBe(1);

  // The standby has all acknowledged writes.
  for (let round = 0; round < 20; round += 1) expect((await create(`written_${round}`)).status).toBe(201);
  const written = Array.from({ length: 20 }, (_, round) => `written_${round}`);
  await servers.stopPrimary();

  for (let round = 0; round < 5; round += 1) {
    const read = await names();
    expect(read.status).toBe(200);
    expect(read.names.toSorted()).toEqual([...present, ...written].toSorted());
    const graphql = await ask('POST', '/graphql', { query: QUERY });
    expect(graphql.text).toContain('"name":"written_19"');
    expect(graphql.text).not.toContain('"errors"');
    expect(await create('refused')).toMatchObject({ status: 503, retryAfter: '1' });
    expect(await ask('POST', '/graphql', { query: CREATE })).toMatchObject({ status: 503, retryAfter: '1' });
  }
  expect(await ask('GET', '/health/ready')).toMatchObject({
    status: 200,
    text: expect.stringContaining('"read-only"'),
  });
  // Unknown keys are also refused on the standby.
  expect(
    (await call(gateway.url, `${key.slice(0, -1)}${key.endsWith('x') ? 'y' : 'x'}`, 'GET', DEFINITIONS)).status,
  ).toBe(401);

  await servers.onStandby('select pg_promote()');
  proxy.setTarget(servers.standbyUrl);
  await expect.poll(async () => (await create('after')).status, { interval: 100 }).toBe(201);
  expect((await names()).names).toContain('after');
  await expect.poll(async () => (await ask('GET', '/health/ready')).text).toContain('"ready"');
  // The promoted server is no longer a standby.
  await expect.poll(usableAfterRead).toBe(0);
});
