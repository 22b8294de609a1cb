import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { mcpRefreshJob } from '../../../src/domains/mcp-connections/authorization/token-refresh-job.ts';
import { workContext } from '../../../src/gateway/contexts.ts';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { TEST_CONNECTION, createConnection, visit } from '../../support/fixtures/mcp-connections.ts';
import { Deadlines } from '../../support/fixtures/outbound.ts';
import { type OAuthFixture, startOAuthFixture } from '../../support/peers/mcp-authorization-server.ts';

/** No server can hold up the refreshes of others, and servers that cost requests are counted and logged. */

let gateway: TestGateway;
const deadlines = new Deadlines();
const fixtures: OAuthFixture[] = [];
beforeAll(async () => {
  gateway = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' }, { outbound: { deadlineAfter: deadlines.after } });
});
afterAll(() => gateway.close());
afterEach(async () => {
  gateway.setClock(undefined);
  await gateway.dependencies.sql.query('delete from mcp_connection', []);
  for (const one of fixtures.splice(0)) await one.stop();
});

async function start(): Promise<OAuthFixture> {
  const fixture = await startOAuthFixture();
  fixtures.push(fixture);
  return fixture;
}

async function connect(fixture: OAuthFixture, key: string, name = 'connection'): Promise<string> {
  const created = await createConnection(gateway, key, { name, serverUrl: fixture.serverUrl });
  expect((await visit(gateway, fixture.consent(created.body.authorizationUrl ?? ''))).status).toBe(200);
  return created.body.connection.id;
}

function runJob(): Promise<void> {
  const { signal } = new AbortController();
  return mcpRefreshJob.run(
    { ...workContext(gateway.dependencies), log: gateway.dependencies.log, signal },
    {},
    crypto.randomUUID(),
  );
}

const advance = (seconds: number) => gateway.setClock(new Date(Date.now() + seconds * 1000));
const refreshes = ({ tokenRequests }: OAuthFixture) =>
  tokenRequests.filter((form) => form.get('grant_type') === 'refresh_token').length;
const use = (key: string, id: string) => gateway.graphql(key, TEST_CONNECTION, { id });

const SILENT = 9;

async function counts(): Promise<Record<string, number>> {
  const text = await gateway.dependencies.metrics.registry.metrics();
  const lines = text.split('\n').filter((line) => line.startsWith('gateway_mcp_'));
  return Object.fromEntries(lines.map((line) => [line.split(' ')[0], Number(line.split(' ')[1])]));
}

test('connections whose servers keep silent do not hold up those of another organization', async () => {
  const [silent, honest] = [await start(), await start()];
  const many = (await gateway.createKey()).key;
  for (let index = 0; index < SILENT; index += 1) await connect(silent, many, `silent ${index}`);
  await connect(honest, (await gateway.createKey()).key);
  const held: (() => void)[] = [];
  silent.onToken = (_, __, answer) => void held.push(answer);
  advance(3590);
  const running = runJob();
  // Two of the organization at a time, although there is room for more.
  await expect.poll(() => [refreshes(honest), refreshes(silent)]).toEqual([1, 2]);
  // The requests of the job have their own, shorter time.
  deadlines.passThoseAfter(10_000);
  silent.onToken = undefined;
  await running;
  expect(refreshes(silent)).toBe(SILENT);
});

test('each connection has one turn in a run, whatever its server answers', async () => {
  const fixture = await start();
  const { key } = await gateway.createKey();
  await connect(fixture, key);
  fixture.announcedLifetimeS = 0.001;
  advance(3590);
  await runJob();
  await runJob();
  expect(refreshes(fixture)).toBe(1);
});

test('a server that issues tokens of less than 10 seconds, or refuses new tokens, is counted each time and logged once', async () => {
  const before = await counts();
  // The clock stands still, because the first use can take 10 seconds.
  advance(0);
  const fixture = await start();
  fixture.announcedLifetimeS = 0;
  const { key } = await gateway.createKey();
  const id = await connect(fixture, key);
  const { host } = new URL(fixture.issuer.origin);
  const serve = fixture.mcp.handler;
  fixture.mcp.handler = (_, response) => void response.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end();
  await use(key, id);
  advance(11);
  await use(key, id);
  fixture.mcp.handler = serve;
  const after = await counts();
  const added = Object.entries(after).map(([series, count]) => [series, count - (before[series] ?? 0)]);
  expect(Object.fromEntries(added)).toMatchObject({
    'gateway_mcp_token_refreshes_total{outcome="refreshed"}': 2,
    // The authorization and two refreshes.
    'gateway_mcp_server_problems_total{problem="lifetime"}': 3,
    'gateway_mcp_server_problems_total{problem="refusal"}': 2,
  });
  const lines = gateway.logged.filter((line) => line.includes(id)).map((line) => JSON.parse(line) as unknown);
  expect(lines).toMatchObject([
    {
      connectionId: id,
      host,
      problem: 'lifetime',
      msg: `${host} issues tokens with a lifetime of less than 10 seconds, which are refreshed once in 10 seconds at most`,
    },
    {
      connectionId: id,
      problem: 'refusal',
      msg: expect.stringMatching(/refuses an access token that was issued a moment ago$/),
    },
  ]);
});
