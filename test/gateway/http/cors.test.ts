import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../../src/core/config.ts';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { sampled } from '../../support/sample.ts';

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

/** The status, the text and the CORS headers of an answer. */
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
  'X-Request-Id, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, Idempotent-Replayed, WWW-Authenticate, Allow, Deprecation, Link, Location, Mcp-Session-Id';
const VARY = 'Accept, Authorization, Cookie, X-Organization-Id';
const allowed = (origin: string, vary = `${VARY}, Origin`) => ({
  vary,
  'access-control-allow-origin': origin,
  'access-control-expose-headers': EXPOSED,
});

describe.each(['/graphql', DEFINITIONS, '/v1/organizations'])('%s', (path) => {
  test('CORS is off by default: no answer has CORS headers, and a preflight gets 405 like any other OPTIONS request', async () => {
    expect(await ask(closed, 'OPTIONS', path, preflightFrom(APP))).toMatchObject({ status: 405, corsHeaders: {} });
    expect(await ask(closed, 'POST', path, { Origin: APP })).toMatchObject({
      status: 401,
      corsHeaders: { vary: VARY },
    });
  });

  test('a listed origin can send the headers of tracing libraries; a malformed list is not repeated', async () => {
    const allowedFor = async (names: string) =>
      (await ask(open, 'OPTIONS', path, { ...preflightFrom(APP), 'Access-Control-Request-Headers': names }))
        .corsHeaders['access-control-allow-headers'];
    for (const names of ['traceparent', 'authorization,sentry-trace, baggage', 'x-requested-with, cache-control'])
      expect(await allowedFor(names)).toBe(names);
    for (const names of ['', 'a b', 'a,,b', '"a"', 'a;b']) expect(await allowedFor(names)).toBeUndefined();
  });

  test.each([APP, LOCAL])('a preflight of %s is answered without a key, and nothing runs', async (origin) => {
    expect(await ask(open, 'OPTIONS', path, preflightFrom(origin))).toEqual({
      status: 204,
      text: '',
      corsHeaders: {
        ...allowed(origin, 'Origin'),
        'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
        'access-control-allow-headers': 'authorization, content-type',
        'access-control-max-age': '7200',
      },
    });
  });

  test('a listed origin can also read refusals', async () => {
    expect(await ask(open, 'POST', path, { Origin: APP })).toMatchObject({ status: 401, corsHeaders: allowed(APP) });
    const withKey = { Origin: APP, Authorization: `Bearer ${key}` };
    expect(await ask(open, 'PUT', path, withKey)).toMatchObject({ status: 405, corsHeaders: allowed(APP) });
  });

  sampled(test, 5).each([
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
  ])('the origin %j is not listed: it is not allowed, and the answer has `Vary`', async (origin) => {
    expect(await ask(open, 'OPTIONS', path, preflightFrom(origin))).toMatchObject({
      status: 405,
      corsHeaders: { vary: `${VARY}, Origin` },
    });
    expect((await ask(open, 'POST', path, { Origin: origin })).corsHeaders).toEqual({ vary: `${VARY}, Origin` });
  });
});

test('answers to requests with a key have the CORS headers of a listed origin; without an origin they have `Vary`', async () => {
  const headers = { Authorization: `Bearer ${key}`, Accept: 'application/json' };
  for (const path of [DEFINITIONS, '/graphql?query={__typename}', '/graphql?query={']) {
    expect(await ask(open, 'GET', path, { ...headers, Origin: LOCAL })).toMatchObject({
      status: 200,
      corsHeaders: allowed(LOCAL),
    });
    expect(await ask(open, 'GET', path, headers)).toMatchObject({
      status: 200,
      corsHeaders: { vary: `${VARY}, Origin` },
    });
  }
});

test('every answer has the security headers: pages, documents, refusals and preflights', async () => {
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
      referrer: expect.stringMatching(/^(?:no-referrer|same-origin)$/),
      resource: 'same-origin',
      policy: [true, true],
    });
  }
});

sampled(test, 4).each([
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
])('the gateway does not start with CORS_ORIGINS=%s', (value) => {
  expect(() => readConfig({ CORS_ORIGINS: value })).toThrow(
    'CORS_ORIGINS: must be origins as browsers send them, such as https://app.example.com, separated by commas',
  );
});
