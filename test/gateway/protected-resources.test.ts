import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import { sampled } from '../support/sample.ts';

/** The protected resources (RFC 9728), and the challenges of refused requests (RFC 6750). */

const PUBLIC_URL = 'https://gateway.example';
const WELL_KNOWN = '/.well-known/oauth-protected-resource';
const RECORD_AND_USE = ['mcp_connections.use', 'sessions.record'];
const OWN_TOOLS = ['sessions.read', 'behavioral_events.event_definitions.read_write', 'mcp_connections.read'];

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ PUBLIC_URL, CORS_ORIGINS: 'https://app.example' });
});
afterAll(() => gateway.close());

const resources: readonly (readonly [path: string, scopes: readonly string[]])[] = [
  ['/mcp', OWN_TOOLS],
  ['/v1/mcp', ['mcp_connections.use']],
  [`/v1/mcp-connections/${randomUUID()}/mcp`, ['mcp_connections.use']],
  ['/v1/mcp-connections/no-id/mcp', ['mcp_connections.use']],
  [`/v1/sessions/${randomUUID()}/mcp`, RECORD_AND_USE],
  ['/v1/sessions', ['sessions.record', 'sessions.read']],
];

/** Its 401 say nothing of the metadata, as before there was any. */
const ofFrontEnds: typeof resources = [
  [
    '/graphql',
    [
      'mcp_connections.read',
      'mcp_connections.write',
      'mcp_connections.use',
      'api_keys.read',
      'sessions.read',
      'sessions.write',
      'sessions.record',
      'behavioral_events.event_definitions.read_write',
      'analytics.behavioral_events.send',
    ],
  ],
];

test.each([...resources, ...ofFrontEnds])(
  'the metadata of %s follow from the path alone, for pages of any origin',
  async (path, scopes) => {
    gateway.statements.length = 0;
    for (const Origin of ['https://anywhere.example', 'https://app.example']) {
      const answer = await gateway.fetch(WELL_KNOWN + path, { headers: { Origin } });
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json']);
      expect(['*', Origin]).toContain(answer.headers.get('access-control-allow-origin'));
      const { scopes_supported: supported, ...metadata } = (await answer.json()) as { scopes_supported: string[] };
      expect(supported.toSorted()).toEqual(scopes.toSorted());
      expect(metadata).toEqual({
        resource: `${PUBLIC_URL}${path}`,
        authorization_servers: [PUBLIC_URL],
        bearer_methods_supported: ['header'],
        resource_name: 'Workspace Gateway',
      });
    }
    expect(gateway.statements).toEqual([]);
  },
);

test('a preflight of the metadata allows the header that MCP clients send; other methods are 405', async () => {
  const headers = {
    Origin: 'https://anywhere.example',
    'Access-Control-Request-Method': 'GET',
    'Access-Control-Request-Headers': 'mcp-protocol-version',
  };
  const preflight = await gateway.fetch(`${WELL_KNOWN}/mcp`, { method: 'OPTIONS', headers });
  expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([204, '*']);
  const posted = await gateway.fetch(`${WELL_KNOWN}/mcp`, { method: 'POST' });
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
});

sampled(test, 3).each([
  '',
  '/',
  '/graphql/',
  '/v1',
  '/v1/mcp-connections',
  '/v1/sessions/x',
  '/mcp/x',
  '/v1/sessions/a/b/mcp',
])('404: there is no resource at %s, also for callers without a key', async (path) => {
  const { status, headers } = await gateway.fetch(WELL_KNOWN + path);
  expect([status, headers.get('access-control-allow-origin')]).toEqual([404, '*']);
});

test('the address with a slash at the end is the same resource', async () => {
  const answer = await gateway.fetch(`${WELL_KNOWN}/v1/mcp/`);
  expect(await answer.json()).toMatchObject({ resource: `${PUBLIC_URL}/v1/mcp` });
});

/** The challenge, whose parameters are sorted. */
async function challenge(path: string, authorization?: string, method = 'POST') {
  const headers = { 'Content-Type': 'application/json', ...(authorization && { Authorization: authorization }) };
  const answer = await gateway.fetch(path, { method, headers, ...(method === 'POST' && { body: '{}' }) });
  return [answer.status, answer.headers.get('www-authenticate')];
}

test.each(resources.filter(([path]) => path.endsWith('mcp')))(
  '401: a request to %s without credentials names the metadata and the scopes',
  async (path, scopes) => {
    for (const method of ['POST', 'GET', 'DELETE']) {
      const [status, header] = await challenge(path, undefined, method);
      const [, metadata, listed = ''] = /^Bearer resource_metadata="(.*)", scope="(.*)"$/.exec(String(header)) ?? [];
      expect([status, metadata]).toEqual([401, `${PUBLIC_URL}${WELL_KNOWN}${path}`]);
      expect(listed.split(' ').toSorted()).toEqual(scopes.toSorted());
    }
  },
);

test.each(['/mcp', '/v1/mcp', `/v1/sessions/${randomUUID()}/mcp`])(
  'a request to %s with a key, even a wrong one, never starts an authorization',
  async (path) => {
    const { key } = await gateway.createKey({ scopes: ['users.delete'] });
    for (const wrong of ['Bearer wgk_wrong', 'Bearer ', 'Bearer', 'Basic dTpw', 'Bearer key', `Bearer x${key}`])
      expect([wrong, await challenge(path, wrong)]).toEqual([wrong, [401, 'Bearer']]);
    const [status, header] = await challenge(path, `Bearer ${key}`);
    expect(status).not.toBe(401);
    expect(header).toBeNull();
  },
);

test.each(resources)('401: a token of no grant is invalid at %s, and the challenge says so', async (path) => {
  const [status, header] = await challenge(path, 'Bearer wgo_unknown');
  expect(status).toBe(401);
  const where = `${PUBLIC_URL}${WELL_KNOWN}${path}`;
  expect(String(header)).toMatch(/^Bearer error="invalid_token", resource_metadata="([^"]*)", scope="[^"]+"$/);
  expect(String(header)).toContain(`resource_metadata="${where}"`);
});

test('other addresses start no authorization', async () => {
  for (const path of ['/graphql', '/v1/sessions', '/v1/organizations', '/v1/nothing'])
    expect([path, await challenge(path)]).toEqual([path, [401, 'Bearer']]);
  for (const path of ['/graphql', '/v1/organizations'])
    expect(await challenge(path, 'Bearer wgo_unknown')).toEqual([401, 'Bearer error="invalid_token"']);
});

test('403 names all scopes that a key lacks', async () => {
  const { key } = await gateway.createKey({ scopes: ['sessions.read'] });
  const { status, body } = await gateway.rest<{ error: { message: string } }>(
    'POST',
    `/v1/sessions/${randomUUID()}/mcp`,
    { key, body: {} },
  );
  expect([status, body.error.message]).toEqual([
    403,
    'the API key lacks the scopes mcp_connections.use, sessions.record',
  ]);
});
