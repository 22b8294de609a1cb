// Measures the refreshes of ten honest servers beside a server that never gives a valid token and one that is slow, with two gateways.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { TEST_CONNECTION, type ConnectionAnswer, visit } from '../support/fixtures/mcp-connections.ts';
import { type OAuthFixture, startOAuthFixture } from '../support/peers/mcp-authorization-server.ts';
import {
  type GatewayProcess,
  call,
  endProcesses,
  freshDatabase,
  graphqlApi,
  issueKey,
  startGateway,
} from '../support/processes/process.ts';
import { full, proof } from '../support/proof.ts';

const MEASURED_MS = (full ? 10 : 6) * 60_000;
const HONEST = 10;
/** Due 180 to 240 s after it was issued. The job runs once a minute. */
const LIFETIME_S = 300;
/** For each connection, whatever its server says. */
const LEAST_GAP_MS = 10_000;
const SLOW_MS = 25_000;

const fixtures: OAuthFixture[] = [];
afterAll(async () => {
  await endProcesses();
  for (const fixture of fixtures) await fixture.stop();
});

interface Watched {
  readonly id: string;
  readonly name: string;
  /** When tokens were asked for. */
  readonly times: number[];
}

async function connect(gateway: GatewayProcess, key: string, name: string, change: (fixture: OAuthFixture) => void) {
  const fixture = await startOAuthFixture();
  fixtures.push(fixture);
  fixture.tokenLifetimeS = LIFETIME_S;
  const times: number[] = [];
  fixture.onToken = (_, __, answer) => {
    times.push(performance.now());
    answer();
  };
  const { status, body } = await call(gateway.url, key, 'POST', '/v1/mcp-connections', {
    name,
    serverUrl: fixture.serverUrl,
  });
  expect([name, status]).toEqual([name, 201]);
  const { authorizationUrl, connection } = body as ConnectionAnswer;
  const pages = {
    fetch: (target: string | Request, init?: RequestInit) =>
      fetch(typeof target === 'string' ? gateway.url + target : target, init),
  };
  expect((await visit(pages, fixture.consent(authorizationUrl ?? ''))).status).toBe(200);
  change(fixture);
  return { fixture, watched: { id: connection.id, name, times } satisfies Watched };
}

const gapsOf = ({ times }: Watched) => times.slice(1).map((time, index) => time - (times[index] ?? 0));

test('refreshes of honest servers are on time, and no server is asked too often', async () => {
  const database = await freshDatabase();
  const env = { ...database, ALLOW_PRIVATE_NETWORK: 'true', RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'warn' };
  const gateways = [await startGateway(env), await startGateway(env)];
  const [first] = gateways;
  if (!first) throw new Error('no gateway');
  const keys: string[] = [];
  for (const organization of ['acme', 'others'])
    keys.push(await issueKey(database, { email: `ann@${organization}.example`, organization }));
  const [key = '', other = ''] = keys;
  const misbehaving = await connect(first, key, 'misbehaving', (fixture) => {
    // Each token has expired when it arrives, and says that it lives for a millisecond.
    fixture.tokenLifetimeS = -1;
    fixture.announcedLifetimeS = 0.001;
    fixture.rotates = false;
  });
  const slow = await connect(first, key, 'slow', (fixture) => {
    const { onToken } = fixture;
    fixture.onToken = (request, response, answer) =>
      onToken?.(request, response, () => void setTimeout(answer, SLOW_MS));
  });
  const honest: Watched[] = [];
  for (let index = 0; index < HONEST; index += 1)
    honest.push((await connect(first, index % 2 ? key : other, `honest ${index}`, () => undefined)).watched);

  // Both gateways also use the connection whose server misbehaves, as an agent would.
  const until = performance.now() + MEASURED_MS;
  let uses = 0;
  await Promise.all(
    gateways.map(async ({ url }) => {
      while (performance.now() < until) {
        await graphqlApi(url).graphql(key, TEST_CONNECTION, { id: misbehaving.watched.id });
        uses += 1;
        await delay(500);
      }
    }),
  );
  const gaps = honest.flatMap(gapsOf);
  const late = honest.filter(({ times }) => (times.at(-1) ?? 0) < performance.now() - LIFETIME_S * 1000);
  const seconds = (ms: number) => Math.round(ms / 100) / 10;
  const least = (watched: Watched) => Math.min(...gapsOf(watched));
  const worst = Math.min(...[misbehaving.watched, slow.watched, ...honest].map(least));
  expect(worst).toBeGreaterThan(LEAST_GAP_MS * 0.95);
  expect(honest.filter(({ times }) => times.length < 2)).toEqual([]);
  const lateRefreshes = gaps.filter((gap) => gap > LIFETIME_S * 1000).length + late.length;
  expect(lateRefreshes).toBe(0);
  proof('Token refreshes beside a misbehaving server', {
    figures: {
      gateways: gateways.length,
      minutes: MEASURED_MS / 60_000,
      'uses of the connection whose server misbehaves': uses,
      'token requests to it, and smallest gap, s': `${misbehaving.watched.times.length}, ${seconds(least(misbehaving.watched))}`,
      'token requests to the slow server, and smallest gap, s': `${slow.watched.times.length}, ${seconds(least(slow.watched))}`,
      'token requests to ten honest servers': gaps.length + HONEST,
      'smallest and largest gap of one of them, s': `${seconds(Math.min(...gaps))}, ${seconds(Math.max(...gaps))}`,
      'lifetime of their tokens, s': LIFETIME_S,
      'refreshes after the token had expired': lateRefreshes,
    },
  });
}, 900_000);
