import { beforeEach, expect, test } from 'vitest';
import { createClientLimits } from '../../../src/gateway/admission/client-limits.ts';
import { startTestGateway, useOwnGateway } from '../../support/fixtures/gateway.ts';
import { sampled } from '../../support/sample.ts';

/** Limits of a client address without a valid API key: 60 requests of each kind per minute. */

const AT = new Date('2026-03-01T10:20:40.000Z');
const later = (ms: number) => new Date(AT.getTime() + ms);
const CALLBACK = '/v1/mcp-connections/oauth/callback?state=none&code=none';

const gateway = useOwnGateway({ TRUSTED_PROXIES: '10.0.0.0/8' });

let client = 0;
beforeEach(() => {
  gateway.setClock(AT);
  gateway.logged.length = 0;
  client += 1;
});

interface Sent {
  readonly from?: string;
  readonly path?: string;
  readonly init?: RequestInit;
}

/** Sends a request, by default from an address that no earlier test has used. */
function send({ from = `198.51.100.${client}`, path = '/v1/sessions', init }: Sent = {}): Promise<Response> {
  const request = new Request(new URL(path, 'http://gateway'), init);
  return gateway.fetch(Object.assign(request, { peerAddress: from, hasArrived: true }));
}

async function statusesOf(count: number, sent?: Sent): Promise<number[]> {
  const answers = await Promise.all(Array.from({ length: count }, () => send(sent)));
  return answers.map(({ status }) => status);
}

const times = (count: number, status: number) => Array.from({ length: count }, () => status);

const unknownKey = { headers: { Authorization: 'Bearer wgk_000000000000000000000000000000000000' } };
const graphql = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"query":"{ __typename }"}' };
const signIn = (body: string, headers = {}) => ({ method: 'POST', body, headers });

sampled(test, 3).each<[string, Sent]>([
  ['REST without a key', {}],
  ['REST with an unknown key', { init: unknownKey }],
  ['GraphQL', { path: '/graphql', init: graphql }],
  ['an unknown path', { path: '/nothing' }],
  ['a sign-in with a wrong key', { path: '/sign-in', init: signIn('{"key":"wrong"}') }],
  [
    'the form of the sign-in',
    {
      path: '/sign-in',
      init: signIn('key=wrong', { 'Content-Type': 'application/x-www-form-urlencoded', Accept: 'text/html' }),
    },
  ],
  ['an invalid sign-in link', { path: '/sign-in?token=guess' }],
])('a client gets at most 60 answers with 401 per minute: %s', async (_, sent) => {
  expect((await statusesOf(62, sent)).toSorted((one, other) => one - other)).toEqual([
    ...times(60, 401),
    ...times(2, 429),
  ]);
  const refused = await send(sent);
  expect([refused.status, refused.headers.get('Retry-After')]).toEqual([429, '60']);
  gateway.setClock(later(59_500));
  expect((await send(sent)).headers.get('Retry-After')).toBe('1');
  gateway.setClock(later(60_000));
  expect(await statusesOf(1, sent)).toEqual([401]);
});

test('a client can send 60 requests per minute to the OAuth callback, GET and POST together; HEAD requests do not count', async () => {
  const callback = { path: CALLBACK };
  await statusesOf(10, { path: CALLBACK, init: { method: 'HEAD' } });
  const [first, ...others] = await statusesOf(59, callback);
  expect(others).toEqual(times(58, first ?? 0));
  const form = { method: 'POST', body: 'state=none', headers: { 'Sec-Fetch-Site': 'same-origin' } };
  expect(await statusesOf(2, { path: CALLBACK, init: form })).not.toEqual(times(2, 429));
  const refused = await send(callback);
  expect([refused.status, refused.headers.get('Retry-After')]).toEqual([429, '60']);
  expect(await refused.json()).toEqual({
    error: 'rate limit exceeded: 60 requests per minute without a valid API key from this address; try again in 60 s',
  });
});

test('a client can accept 60 invitations without a key per minute', async () => {
  const accept = {
    path: '/v1/invitations/accept',
    init: {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ token: `wgi_${'0'.repeat(43)}` }),
    },
  };
  expect((await statusesOf(61, accept)).toSorted((one, other) => one - other)).toEqual([...times(60, 404), 429]);
});

test('an address over the limit is still served with a valid key, and other addresses are not affected', async () => {
  const { key } = await gateway.createKey();
  await statusesOf(70);
  expect(await statusesOf(1, { init: { headers: { Authorization: `Bearer ${key}` } } })).toEqual([200]);
  expect(await statusesOf(1, { from: '203.0.113.77' })).toEqual([401]);
});

test('each client of a trusted proxy has its own limit; X-Forwarded-For of other peers is ignored', async () => {
  const through = (proxy: string, forwardedFor: string) => ({
    from: proxy,
    init: { headers: { 'X-Forwarded-For': forwardedFor } },
  });
  await statusesOf(60, through('10.0.0.1', '1.2.3.4, 198.51.100.200'));
  expect(await statusesOf(1, through('10.0.0.2', '5.6.7.8, 198.51.100.200, 10.0.0.1'))).toEqual([429]);
  expect(await statusesOf(1, through('10.0.0.1', '198.51.100.201'))).toEqual([401]);
  const answers = await Promise.all(
    Array.from({ length: 61 }, (_, index) => send(through('203.0.113.5', `1.2.3.${index}`))),
  );
  expect(answers.at(-1)?.status).toBe(429);
});

test('requests that are refused with 401 or 429 are logged with the client address; requests with a valid key are logged without it', async () => {
  const { key } = await gateway.createKey();
  await statusesOf(61, { from: '10.0.0.1', init: { headers: { 'X-Forwarded-For': '2001:db8::1' } } });
  await statusesOf(1, { init: { headers: { Authorization: `Bearer ${key}` } } });
  const lines = gateway.logged
    .map((line) => JSON.parse(line) as { status?: number; clientAddress?: string })
    .filter(({ status }) => status !== undefined)
    .map(({ status, clientAddress }) => [status, clientAddress]);
  expect(lines).toEqual([
    ...Array.from({ length: 60 }, () => [401, '2001:db8::1']),
    [429, '2001:db8::1'],
    [200, undefined],
  ]);
});

test('readiness and metrics have no limit', async () => {
  expect(await statusesOf(100, { path: '/health/ready' })).toEqual(times(100, 200));
  expect(await statusesOf(100, { path: '/metrics' })).toEqual(times(100, 200));
  const guarded = await startTestGateway({ METRICS_TOKEN: 'a-token-of-a-scraper' }, { beside: gateway });
  const asked = Array.from({ length: 70 }, () =>
    guarded.fetch(Object.assign(new Request('http://gateway/metrics'), { peerAddress: '198.51.100.9' })),
  );
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(times(70, 401));
  await guarded.close();
});

test('after the clock is set back, no client is refused for longer than a minute', () => {
  let at = AT;
  const limits = createClientLimits({ now: () => at, limit: 1 });
  limits.count('any', '198.51.100.1');
  expect(limits.count('any', '198.51.100.1')?.status).toBe(429);
  at = later(-3_600_000);
  expect(limits.count('any', '198.51.100.1')).toBeUndefined();
});
