import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../../src/core/config.ts';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';

const APP = 'https://app.example.com';
const LOCAL = 'http://localhost:5173';
const DEFINITIONS = '/events/2026-03/event-definitions';

let open: TestGateway;
let closed: TestGateway;
let key: string;
beforeAll(async () => {
  open = await startTestGateway({ CORS_ORIGINS: `${APP},${LOCAL}`, RATE_LIMIT_PER_MINUTE: '1000' });
  closed = await startTestGateway({}, { beside: open });
  ({ key } = await open.createKey());
});
afterAll(async () => {
  await closed.close();
  await open.close();
});

/** Status and what is said of origins. */
async function ask(gateway: TestGateway, method: string, path: string, headers: Record<string, string>) {
  const answer = await gateway.fetch(path, { method, headers });
  const text = await answer.text();
  const corsHeaders = [...answer.headers].filter(([name]) => name === 'vary' || name.startsWith('access-control'));
  return { status: answer.status, text, corsHeaders: Object.fromEntries(corsHeaders) };
}
const preflightFrom = (Origin: string, method = 'PATCH') => ({
  Origin,
  'Access-Control-Request-Method': method,
  'Access-Control-Request-Headers': 'authorization, content-type',
});
const EXPOSED =
  'X-Request-Id, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, Idempotent-Replayed, WWW-Authenticate, Allow, Deprecation, Link';
const allowed = (origin: string) => ({
  vary: 'Origin',
  'access-control-allow-origin': origin,
  'access-control-expose-headers': EXPOSED,
});

describe.each(['/graphql', DEFINITIONS, '/v1/organizations'])('%s', (path) => {
  test('off by default: no answer speaks of origins, and a preflight is any other OPTIONS, 405', async () => {
    expect(await ask(closed, 'OPTIONS', path, preflightFrom(APP))).toMatchObject({ status: 405, corsHeaders: {} });
    expect(await ask(closed, 'POST', path, { Origin: APP })).toMatchObject({ status: 401, corsHeaders: {} });
  });

  test.each([APP, LOCAL])('a preflight of %s is answered without a key, and nothing runs', async (origin) => {
    expect(await ask(open, 'OPTIONS', path, preflightFrom(origin))).toEqual({
      status: 204,
      text: '',
      corsHeaders: {
        ...allowed(origin),
        'access-control-allow-methods': 'GET, POST, PATCH, DELETE',
        'access-control-allow-headers':
          'Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Organization-Id, X-Request-Id',
        'access-control-max-age': '7200',
      },
    });
  });

  test('refusals can be read by a listed origin, too', async () => {
    expect(await ask(open, 'POST', path, { Origin: APP })).toMatchObject({ status: 401, corsHeaders: allowed(APP) });
    const withKey = { Origin: APP, Authorization: `Bearer ${key}` };
    expect(await ask(open, 'PUT', path, withKey)).toMatchObject({ status: 405, corsHeaders: allowed(APP) });
  });

  test.each([
    'null',
    '*',
    '',
    'https://app.example.com.evil.example',
    'https://evil-app.example.com',
    'https://evil.example/https://app.example.com',
    'https://app.example.com@evil.example',
    'https://APP.example.com',
    'HTTPS://app.example.com',
    'http://app.example.com',
    'https://app.example.com:443',
    'https://app.example.com:8443',
    'https://app.example.com/',
    'https://app.example.com.',
    'https://app.example.com, https://evil.example',
    'http://localhost',
    'http://localhost:51730',
    'http://127.0.0.1:5173',
  ])('the origin %j is none of the listed ones: nothing is allowed, and caches get `Vary`', async (origin) => {
    expect(await ask(open, 'OPTIONS', path, preflightFrom(origin))).toMatchObject({
      status: 405,
      corsHeaders: { vary: 'Origin' },
    });
    expect((await ask(open, 'POST', path, { Origin: origin })).corsHeaders).toEqual({ vary: 'Origin' });
  });
});

test('answers to a key say what the origin may see of them; without an origin they say that it matters', async () => {
  const headers = { Authorization: `Bearer ${key}`, Accept: 'application/json' };
  for (const path of [DEFINITIONS, '/graphql?query={__typename}', '/graphql?query={']) {
    expect(await ask(open, 'GET', path, { ...headers, Origin: LOCAL })).toMatchObject({
      status: 200,
      corsHeaders: allowed(LOCAL),
    });
    expect(await ask(open, 'GET', path, headers)).toMatchObject({ status: 200, corsHeaders: { vary: 'Origin' } });
  }
});

test('every answer carries the security headers: pages of both kinds, documents, refusals, preflights', async () => {
  const pages = [
    '/graphql',
    '/docs',
    '/docs/swagger-ui.css',
    '/openapi.json',
    '/health/live',
    '/metrics',
    '/nothing',
    DEFINITIONS,
  ];
  for (const [method, path] of [...pages.map((page) => ['GET', page] as const), ['OPTIONS', '/graphql'] as const]) {
    const { headers } = await open.fetch(path, { method, headers: { ...preflightFrom(APP), Accept: 'text/html' } });
    const policy = headers.get('content-security-policy') ?? '';
    expect({
      path,
      nosniff: headers.get('x-content-type-options'),
      referrer: headers.get('referrer-policy'),
      resource: headers.get('cross-origin-resource-policy'),
      policy: ["default-src 'none'", "frame-ancestors 'none'"].map((rule) => policy.split('; ').includes(rule)),
    }).toEqual({
      path,
      nosniff: 'nosniff',
      referrer: 'no-referrer',
      resource: 'same-origin',
      policy: [true, true],
    });
  }
});

test.each([
  '*',
  'null',
  'app.example.com',
  'https://app.example.com/',
  'https://APP.example.com',
  'https://a.example:443',
  'ftp://a.example',
  'https://u@a.example',
  `${APP},`,
  `${APP}, ${LOCAL}`,
])('CORS_ORIGINS=%s stops the start', (value) => {
  expect(() => readConfig({ CORS_ORIGINS: value })).toThrow(
    'CORS_ORIGINS: must be origins as browsers send them, such as https://app.example.com, separated by commas',
  );
});
