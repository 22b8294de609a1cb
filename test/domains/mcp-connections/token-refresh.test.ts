import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { visit } from '../../support/fixtures/mcp-connections.ts';
import { full } from '../../support/proof.ts';
import { type OAuthFixture, startOAuthFixture } from '../../support/peers/mcp-authorization-server.ts';
import { sampled } from '../../support/sample.ts';

/** The number of concurrent uses, spread over two gateways. */
const USES = full ? 100 : 30;

let one: TestGateway;
let two: TestGateway;
let fixture: OAuthFixture;
let key: string;
beforeAll(async () => {
  one = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
  two = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' }, { beside: one });
  key = (await one.createKey()).key;
});
afterAll(async () => {
  await two.close();
  await one.close();
});
afterEach(async () => {
  one.setClock(undefined);
  two.setClock(undefined);
  await fixture.stop();
});

async function connect(announcedLifetimeS?: number | null): Promise<string> {
  fixture = await startOAuthFixture();
  if (announcedLifetimeS !== undefined) fixture.announcedLifetimeS = announcedLifetimeS;
  const created = await one.rest<{ authorizationUrl: string; connection: { id: string } }>(
    'POST',
    '/v1/mcp-connections',
    {
      key,
      body: { name: fixture.serverUrl, serverUrl: fixture.serverUrl },
    },
  );
  const url = fixture.consent(created.body.authorizationUrl);
  expect((await visit(one, url)).status).toBe(200);
  return created.body.connection.id;
}

function advance(seconds: number): void {
  const at = new Date(Date.now() + seconds * 1000);
  one.setClock(at);
  two.setClock(at);
}

async function use(gateway: TestGateway, id: string): Promise<string> {
  const { data } = await gateway.graphql<{ testMcpServer: { __typename: string; message?: string } }>(
    key,
    'mutation ($id: ID!) { testMcpServer(input: { mcpServerId: $id }) { __typename ... on Error { message } } }',
    { id },
  );
  return data?.testMcpServer.message ?? data?.testMcpServer.__typename ?? 'no answer';
}

async function rowOf(id: string) {
  const [row] = await one.dependencies.sql.query<Record<string, unknown>>(
    'select status, status_reason, token_version, refresh_failures, refresh_lease_until, connected_at is null as "isCut" from mcp_connection where id = $1',
    [id],
  );
  return row;
}

/** The row of the connection and its sealed secrets, which any change of its tokens would change. */
async function storedOf(id: string) {
  const { sql } = one.dependencies;
  return {
    row: await rowOf(id),
    secrets: await sql.query('select field, sealed from secret where owner_id = $1 order by field', [id]),
  };
}

function refreshes(): number {
  return fixture.tokenRequests.filter((form) => form.get('grant_type') === 'refresh_token').length;
}

test.each([
  ['is about to expire', 3590],
  ['has expired', 3700],
])(
  'many concurrent uses through two gateways of a token that %s: the server gets exactly one refresh, and every use succeeds',
  async (_, seconds) => {
    const id = await connect();
    advance(seconds);
    const outcomes = await Promise.all(
      Array.from({ length: USES }, (__, index) => use(index % 2 === 0 ? one : two, id)),
    );
    expect(new Set(outcomes)).toEqual(new Set(['TestMcpServerPayload']));
    expect(refreshes()).toBe(1);
    expect(await rowOf(id)).toMatchObject({ status: 'CONNECTED', token_version: 2, refresh_lease_until: null });
  },
);

test('a rotated refresh token is stored, and the next refresh uses it', async () => {
  const id = await connect();
  advance(3700);
  expect(await use(one, id)).toBe('TestMcpServerPayload');
  advance(7500);
  expect(await use(two, id)).toBe('TestMcpServerPayload');
  const shown = fixture.tokenRequests.flatMap((form) => form.get('refresh_token') ?? []);
  expect(new Set(shown).size).toBe(2);
});

test('after a temporary failure the tokens are kept, the refresh waits before it is retried, and then succeeds', async () => {
  const id = await connect();
  fixture.onToken = (_, response) => void response.writeHead(503).end('later');
  const reason = `the authorization server answered with HTTP 503 at ${new URL(fixture.issuer.origin).host}/token`;
  advance(3590);
  // The access token is still valid.
  expect(await use(one, id)).toBe('TestMcpServerPayload');
  expect(await use(two, id)).toBe('TestMcpServerPayload');
  expect(refreshes()).toBe(1);
  expect(await rowOf(id)).toMatchObject({ status: 'CONNECTED', refresh_failures: 1, token_version: 1 });
  advance(3700);
  expect(await use(one, id)).toBe(reason);
  expect(await use(two, id)).toBe(reason);
  expect(refreshes()).toBe(2);
  expect(await rowOf(id)).toMatchObject({
    status: 'UNREACHABLE',
    status_reason: reason,
    refresh_failures: 2,
    isCut: false,
  });
  fixture.onToken = undefined;
  advance(3800);
  expect(await use(two, id)).toBe('TestMcpServerPayload');
  expect(await rowOf(id)).toMatchObject({ status: 'CONNECTED', status_reason: null, refresh_failures: 0 });
});

test('invalid_grant changes the status to AUTHORIZATION_REQUIRED, deletes the tokens, and is not followed by another refresh', async () => {
  const id = await connect();
  fixture.revokeAll();
  advance(3700);
  const reason =
    'the authorization server no longer accepts the refresh token (invalid_grant): it has expired or was revoked';
  const outcomes = await Promise.all(Array.from({ length: 20 }, (_, index) => use(index % 2 === 0 ? one : two, id)));
  // The last use begins after the tokens were deleted, and still gets the same reason.
  expect(new Set([...outcomes, await use(one, id)])).toEqual(
    new Set([`the MCP connection must be authorized: ${reason}`]),
  );
  expect(refreshes()).toBe(1);
  expect(await rowOf(id)).toMatchObject({ status: 'AUTHORIZATION_REQUIRED', status_reason: reason, isCut: true });
  expect(
    await one.dependencies.sql.query(`select 1 from secret where owner_id = $1 and field = 'tokens'`, [id]),
  ).toEqual([]);
});

test('if a gateway dies during a refresh, other gateways refresh when its lease has ended', async () => {
  const id = await connect();
  const setLease = (seconds: number) =>
    one.dependencies.sql.query(
      'update mcp_connection set refresh_lease_until = now() + make_interval(secs => $1) where id = $2',
      [seconds, id],
    );
  await setLease(3_600);
  advance(3700);
  const attempts = () => two.statements.filter((text) => text.includes('set "refresh_lease_until"')).length;
  const before = attempts();
  const used = use(two, id);
  // It has found the lease taken, and looks again.
  await expect.poll(attempts).toBeGreaterThan(before + 1);
  expect(refreshes()).toBe(0);
  await setLease(-1);
  expect(await used).toBe('TestMcpServerPayload');
  expect(refreshes()).toBe(1);
});

test('a token that the server refuses before it expires is refreshed once', async () => {
  const id = await connect();
  const handleRequest = fixture.mcp.handler;
  let refused = 0;
  const [first] = fixture.tokenRequests;
  expect(first?.get('grant_type')).toBe('authorization_code');
  let old: string | undefined;
  fixture.mcp.handler = (request, response) => {
    old ??= request.headers.authorization;
    if (request.headers.authorization !== old) return handleRequest(request, response);
    refused += 1;
    response.writeHead(401, { 'WWW-Authenticate': `Bearer error="invalid_token"` }).end();
  };
  expect(await use(one, id)).toBe('TestMcpServerPayload');
  // The version probe and `initialize`.
  expect({ refused, refreshes: refreshes() }).toEqual({ refused: 2, refreshes: 1 });
});

const LATE_RESPONSES: Readonly<Record<string, [status: number, body: object]>> = {
  'new tokens': [200, { access_token: 'stale', token_type: 'Bearer', expires_in: 3600, refresh_token: 'stale too' }],
  invalid_grant: [400, { error: 'invalid_grant' }],
  invalid_client: [401, { error: 'invalid_client' }],
  'a temporary failure': [503, { error: 'temporarily_unavailable' }],
};

sampled(test, 2).each(Object.entries(LATE_RESPONSES))(
  'a refresh that ends after the connection was authorized again changes nothing: %s',
  async (_, [status, body]) => {
    const id = await connect();
    const begun = Promise.withResolvers<void>();
    const responseAllowed = Promise.withResolvers<void>();
    fixture.onToken = (__, response, answer) => {
      if (fixture.tokenRequests.at(-1)?.get('grant_type') !== 'refresh_token') return answer();
      begun.resolve();
      void responseAllowed.promise.then(() =>
        response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body)),
      );
    };
    advance(3590);
    const used = use(one, id);
    await begun.promise;
    // The server no longer accepts the old tokens, so that the connection can be authorized again.
    fixture.revokeAll();
    const again = await two.rest<{ authorizationUrl: string }>('POST', `/v1/mcp-connections/${id}/authorize`, { key });
    const url = fixture.consent(again.body.authorizationUrl);
    expect((await visit(two, url)).status).toBe(200);
    const authorized = await storedOf(id);
    expect(authorized.row).toMatchObject({ status: 'CONNECTED', token_version: 2 });
    responseAllowed.resolve();
    expect(await used).toBe('TestMcpServerPayload');
    expect(await storedOf(id)).toEqual(authorized);
    expect(await use(two, id)).toBe('TestMcpServerPayload');
    expect(refreshes()).toBe(1);
  },
);

test('a refresh token is not sent to another authorization server to which the MCP server has changed', async () => {
  const id = await connect();
  const next = await startOAuthFixture();
  try {
    fixture.revokeAll();
    fixture.resourceMetadata = { authorization_servers: [next.issuer.origin] };
    const again = await one.rest<{ authorizationUrl: string }>('POST', `/v1/mcp-connections/${id}/authorize`, { key });
    expect(again.body.authorizationUrl).toContain(`${next.issuer.origin}/authorize?`);
    for (const seconds of [3590, 3700]) {
      advance(seconds);
      expect(await use(two, id)).toMatch(/^the MCP connection must be authorized: /);
    }
    expect([next.tokenRequests, refreshes()]).toEqual([[], 0]);
  } finally {
    await next.stop();
  }
});

test.each([0, -5, null, 0.001])(
  'a lifetime of %s s does not make the gateway refresh more than once in 10 seconds',
  async (seconds) => {
    // The clock stands still, because the uses can take 10 seconds.
    advance(0);
    const id = await connect(seconds);
    for (let count = 0; count < 3; count += 1) expect(await use(one, id)).toBe('TestMcpServerPayload');
    expect(refreshes()).toBe(0);
    advance(11);
    for (let count = 0; count < 3; count += 1) expect(await use(two, id)).toBe('TestMcpServerPayload');
    // A lifetime of 0, less or null is unknown.
    expect(refreshes()).toBe(seconds === 0.001 ? 1 : 0);
  },
);

test('a server that refuses each token once is not asked for others more than once in 10 seconds; who uses it meanwhile waits', async () => {
  const id = await connect();
  advance(0);
  const serve = fixture.mcp.handler;
  const seen: (string | undefined)[] = [];
  let onRefusal: (() => void) | undefined;
  fixture.mcp.handler = (request, response) => {
    const token = request.headers.authorization;
    if (!seen.includes(token)) seen.push(token);
    const isFirst = token === seen[0];
    // The token of the authorization, and the one of the first refresh when it is used again.
    if (!isFirst && (token !== seen[1] || !onRefusal)) return serve(request, response);
    if (!isFirst) onRefusal?.();
    response.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end();
  };
  expect(await use(one, id)).toBe('TestMcpServerPayload');
  expect(refreshes()).toBe(1);
  const again = new Promise<void>((resolve) => (onRefusal = resolve));
  const second = use(two, id);
  await again;
  // It looks at the connection again and again. One that does not wait has asked for a token before the third time.
  two.statements.length = 0;
  const looks = () => two.statements.filter((text) => /^select .*"mcp_connection"/s.test(text)).length;
  await expect.poll(looks).toBeGreaterThan(2);
  expect(refreshes()).toBe(1);
  advance(11);
  expect(await second).toBe('TestMcpServerPayload');
  expect(refreshes()).toBe(2);
});

test('an empty new refresh token keeps the old one, and null members count as absent', async () => {
  const id = await connect();
  const given: (string | null)[] = [];
  fixture.onAnswer = (answer) => ({ ...answer, refresh_token: '', token_type: undefined, scope: null });
  fixture.rotates = false;
  for (const seconds of [3700, 7500]) {
    advance(seconds);
    expect(await use(one, id)).toBe('TestMcpServerPayload');
    given.push(fixture.tokenRequests.at(-1)?.get('refresh_token') ?? null);
  }
  expect(given).toEqual([given[0], given[0]]);
  expect(given[0]).toMatch(/./);
});

test('while many use two gateways, a refresh that fails is not repeated by another caller before its pause has passed', async () => {
  const id = await connect();
  fixture.onToken = (_, response) => void response.writeHead(503).end('later');
  advance(3700);
  await Promise.all(Array.from({ length: USES }, (_, index) => use(index % 2 === 0 ? one : two, id)));
  expect(refreshes()).toBe(1);
});
