import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { enqueueJob, startJobWorker } from '../../../src/core/jobs.ts';
import { mcpRefreshJob } from '../../../src/domains/mcp-connections/authorization/token-refresh-job.ts';
import { workContext } from '../../../src/gateway/contexts.ts';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { visit } from '../../support/fixtures/mcp-connections.ts';
import { type OAuthFixture, startOAuthFixture } from '../../support/peers/mcp-authorization-server.ts';
import { mcpHandler } from '../../support/peers/mcp-server.ts';

let one: TestGateway;
let two: TestGateway;
let fixture: OAuthFixture;
let key: string;
beforeAll(async () => {
  one = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
  two = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' }, { beside: one });
});
afterAll(async () => {
  await two.close();
  await one.close();
});
afterEach(async () => {
  advance(undefined);
  await one.dependencies.sql.query('delete from mcp_connection', []);
  await fixture.stop();
});

interface Created {
  authorizationUrl: string;
  connection: { id: string };
}

async function begin(): Promise<Created> {
  key = (await one.createKey()).key;
  fixture = await startOAuthFixture();
  const { body } = await one.rest<Created>('POST', '/v1/mcp-connections', {
    key,
    body: { name: 'idle', serverUrl: fixture.serverUrl },
  });
  return body;
}

async function complete(authorizationUrl: string): Promise<void> {
  const back = fixture.consent(authorizationUrl);
  expect((await visit(one, back)).status).toBe(200);
}

async function connect(): Promise<string> {
  const { authorizationUrl, connection } = await begin();
  await complete(authorizationUrl);
  return connection.id;
}

function advance(seconds: number | undefined): void {
  const at = seconds === undefined ? undefined : new Date(Date.now() + seconds * 1000);
  one.setClock(at);
  two.setClock(at);
}

function refreshIdle(gateway = one): Promise<void> {
  const { signal } = new AbortController();
  return mcpRefreshJob.run(
    { ...workContext(gateway.dependencies), log: gateway.dependencies.log, signal },
    {},
    crypto.randomUUID(),
  );
}

function startWorker({ databaseUrl, dependencies }: TestGateway) {
  return startJobWorker({
    url: databaseUrl,
    handlers: [mcpRefreshJob],
    contextOf: (signal) => ({ ...workContext(dependencies), log: dependencies.log, signal }),
    log: dependencies.log,
    pollMs: 500,
  });
}

async function readStatus(id: string) {
  const { data } = await one.graphql<{ node: unknown }>(
    key,
    'query ($id: ID!) { node(id: $id) { ... on McpServer { status statusReason nextAction } } }',
    { id: Buffer.from(`McpServer:${id}`).toString('base64') },
  );
  return data?.node;
}

const refreshes = () => fixture.tokenRequests.filter((form) => form.get('grant_type') === 'refresh_token').length;
test('the token of an unused connection is refreshed before it expires, once, by one of several workers, and not again before it is due', async () => {
  await connect();
  await refreshIdle();
  expect(refreshes()).toBe(0);
  advance(3590);
  await Promise.all([refreshIdle(one), refreshIdle(two), refreshIdle(one), refreshIdle(two)]);
  expect(refreshes()).toBe(1);
  await refreshIdle(two);
  expect(refreshes()).toBe(1);
  // The next refresh sends the refresh token that the last one returned.
  advance(7150);
  await refreshIdle(two);
  const shown = fixture.tokenRequests.flatMap((form) => form.get('refresh_token') ?? []);
  expect({ refreshes: refreshes(), distinct: new Set(shown).size }).toEqual({ refreshes: 2, distinct: 2 });
});

test('the refresh job is scheduled every minute, and two processes that queue and run it refresh a token once', async () => {
  await connect();
  advance(3590);
  const { sql } = one.dependencies;
  // Queues the job as the schedule of each process does every minute.
  const enqueue = async () => {
    for (const { database, newId } of [one.dependencies, two.dependencies])
      await database.em
        .fork()
        .transactional((em) => enqueueJob(em, 'mcp-refresh', { id: newId(), data: {}, delaySeconds: 0 }));
  };
  const jobs = (state: string) =>
    sql.query(`select 1 from pgboss.job where name = 'mcp-refresh' and state::text = $1`, [state]);
  await enqueue();
  expect(await jobs('created')).toHaveLength(1);
  const workers = await Promise.all([startWorker(one), startWorker(two)]);
  try {
    await expect.poll(async () => (await jobs('completed')).length).toBeGreaterThanOrEqual(1);
    expect(refreshes()).toBe(1);
    // The next run finds nothing that is due.
    await enqueue();
    await expect.poll(async () => (await jobs('completed')).length).toBeGreaterThanOrEqual(2);
    expect(refreshes()).toBe(1);
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
  }
  expect(await sql.query(`select cron, timezone from pgboss.schedule where name = 'mcp-refresh'`, [])).toEqual([
    { cron: '* * * * *', timezone: 'UTC' },
  ]);
});

test('after a new authorization that is not completed, the old tokens work again', async () => {
  const id = await connect();
  fixture.requiredScope = 'more';
  const use = () =>
    one.graphql<{ testMcpServer: { __typename: string } }>(
      key,
      'mutation ($id: ID!) { testMcpServer(input: { mcpServerId: $id }) { __typename } }',
      { id },
    );
  await use();
  await one.rest('POST', `/v1/mcp-connections/${id}/authorize`, { key });
  expect(await readStatus(id)).toMatchObject({ status: 'PENDING_AUTHORIZATION' });
  fixture.requiredScope = undefined;
  advance(601);
  expect((await use()).data?.testMcpServer).toEqual({ __typename: 'TestMcpServerPayload' });
  expect(await readStatus(id)).toMatchObject({ status: 'CONNECTED', statusReason: null });
});

test('a refresh token that the server refuses permanently changes the status before the connection is used', async () => {
  const id = await connect();
  fixture.revokeAll();
  advance(3590);
  await refreshIdle();
  await refreshIdle();
  expect(refreshes()).toBe(1);
  expect(await readStatus(id)).toEqual({
    status: 'AUTHORIZATION_REQUIRED',
    statusReason:
      'the authorization server no longer accepts the refresh token (invalid_grant): it has expired or was revoked',
    nextAction: 'AUTHORIZE',
  });
});

test('an access token without a refresh token works until it expires; then the connection requires an authorization', async () => {
  const { authorizationUrl, connection } = await begin();
  fixture.onToken = (_, response) =>
    void response
      .writeHead(200, { 'Content-Type': 'application/json' })
      .end(JSON.stringify({ access_token: 'short', token_type: 'Bearer', expires_in: 3600 }));
  // This MCP server accepts any token.
  fixture.mcp.handler = mcpHandler();
  await complete(authorizationUrl);
  advance(3590);
  await refreshIdle();
  expect(await readStatus(connection.id)).toMatchObject({ status: 'CONNECTED' });
  advance(3601);
  await refreshIdle();
  expect(await readStatus(connection.id)).toMatchObject({
    status: 'AUTHORIZATION_REQUIRED',
    statusReason: 'the access token has expired, and there is no refresh token',
  });
});

test('a temporary failure is retried later, not at every run of the job, and then the connection is connected again', async () => {
  const id = await connect();
  fixture.onToken = (_, response) => void response.writeHead(503).end('later');
  advance(3601);
  await refreshIdle();
  await refreshIdle();
  expect(refreshes()).toBe(1);
  expect(await readStatus(id)).toMatchObject({ status: 'UNREACHABLE' });
  fixture.onToken = undefined;
  advance(3700);
  await refreshIdle();
  expect(await readStatus(id)).toEqual({ status: 'CONNECTED', statusReason: null, nextAction: 'NONE' });
});
