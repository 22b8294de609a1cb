import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type TestGateway, startTestGateway, useTestGateway } from '../../support/fixtures/gateway.ts';
import { checkout } from '../../support/processes/programs.ts';
import { sampled } from '../../support/sample.ts';

const gateway = useTestGateway();

const NAVIGATION = { Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
const navigate = (path: string) => gateway.fetch(path, { headers: NAVIGATION, redirect: 'manual' });

/** Every HTML page with its status. */
const PAGES = [
  ['/graphql', 200],
  ['/graphql?query=%7B__typename%7D', 200],
  ['/docs', 200],
  ['/sign-in', 200],
  ['/sign-in?token=unknown', 401],
  ['/nowhere', 404],
  ['/assets/nothing.js', 404],
  ['/table-storage/v2', 410],
  ['/v1/mcp-connections/oauth/callback?state=unknown&code=x', 400],
] as const;

sampled(describe, 4).each(PAGES)('%s', (path, status) => {
  test('is a page that loads scripts only from the gateway and cannot be framed', async () => {
    const page = await navigate(path);
    expect([page.status, page.headers.get('content-type')]).toEqual([status, 'text/html; charset=utf-8']);
    // Every 401 must contain the authentication scheme (RFC 9110, section 15.5.2).
    expect(page.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null);
    const policy = new Map(
      (page.headers.get('content-security-policy') ?? '').split('; ').map((directive) => {
        const [name = '', ...sources] = directive.split(' ');
        return [name, sources];
      }),
    );
    // Otherwise forms over plain http would be sent with `Origin: null`.
    expect(page.headers.get('referrer-policy')).toBe('same-origin');
    expect(policy.get('frame-ancestors')).toEqual(["'none'"]);
    expect(policy.get('default-src')).toEqual(["'none'"]);
    expect(policy.get('script-src') ?? ["'self'"]).toEqual(["'self'"]);
    const html = await page.text();
    expect(html).not.toMatch(/<script(?![^>]* src=")[^>]*>|<[^>]+ on[a-z]+=|javascript:/i);
    expect(
      [...html.matchAll(/(?:src|href)="([^"]*)"/g)].filter(([, address]) => /^(?:https?:)?\/\//.test(address ?? '')),
    ).toEqual([]);
    for (const [, address = ''] of html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g))
      expect([address, (await gateway.fetch(address)).status]).toEqual([address, 200]);
  });
});

test('a client that does not accept HTML gets the same errors as JSON', async () => {
  for (const path of ['/nowhere', '/assets/nothing.js', '/table-storage/v2'])
    expect((await gateway.fetch(path)).headers.get('content-type')).toBe('application/json');
  const asked = await gateway.fetch('/graphql?query=%7B__typename%7D', { headers: { Accept: 'application/json' } });
  expect([asked.status, asked.headers.get('content-type')]).toEqual([401, 'application/json']);
});

test('an error page shows the requested path only as text', async () => {
  const html = await (await navigate('/%3Cscript%3Ealert(1)%3C/script%3E"><img src=x onerror=alert(1)>')).text();
  expect(html).not.toMatch(/<script|<img src=x/);
});

test('the schema can be read without a key', async () => {
  const answer = await gateway.fetch('/schema.graphql');
  expect(await answer.text()).toBe(await readFile(join(checkout, 'schema.graphql'), 'utf8'));
});

test('the gateway serves an icon for browsers', async () => {
  const icon = await gateway.fetch('/favicon.ico');
  expect([icon.status, icon.headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
});

test('files are sent in an accepted encoding, and get 304 if the client already has them', async () => {
  const ask = async (headers: Record<string, string>) => {
    const { status, headers: sent, ...rest } = await gateway.fetch('/schema.graphql', { headers });
    return { status, encoding: sent.get('content-encoding'), etag: sent.get('etag'), vary: sent.get('vary'), ...rest };
  };
  const plain = await ask({});
  expect(plain).toMatchObject({ status: 200, encoding: null, vary: 'Accept-Encoding' });
  expect(await ask({ 'Accept-Encoding': 'gzip' })).toMatchObject({ status: 200, encoding: 'gzip' });
  expect(await ask({ 'Accept-Encoding': 'gzip, deflate, br' })).toMatchObject({ status: 200, encoding: 'br' });
  expect(await ask({ 'Accept-Encoding': 'br;q=0, gzip;q=0.5' })).toMatchObject({ status: 200, encoding: 'gzip' });
  expect(await ask({ 'Accept-Encoding': 'identity' })).toMatchObject({ status: 200, encoding: null });
  expect(await ask({ 'If-None-Match': `"other", ${plain.etag}` })).toMatchObject({ status: 304 });
  expect(await ask({ 'If-None-Match': '"other"' })).toMatchObject({ status: 200 });
});

test('pages allow GET and HEAD, and the sign-in page also POST', async () => {
  const allowOf = async (path: string) => (await gateway.fetch(path, { method: 'DELETE' })).headers.get('allow');
  expect(await allowOf('/docs')).toBe('GET, HEAD');
  expect(await allowOf('/sign-in')).toBe('GET, HEAD, POST');
  expect(await allowOf('/sign-out')).toBe('POST');
  const head = await gateway.fetch('/docs', { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
});

test('the sign-in page has the command for a key of this gateway, and says why the console has led there', async () => {
  const elsewhere = await startTestGateway({ DATA_DIR: "/srv/it's <here>" });
  const commandOf = async (site: TestGateway) =>
    /<pre>(.*)<\/pre>/.exec(await (await site.fetch('/sign-in', { headers: NAVIGATION })).text())?.[1];
  expect(await commandOf(elsewhere)).toBe(
    String.raw`DATA_DIR=&#39;/srv/it&#39;\&#39;&#39;s &lt;here&gt;&#39; npm run --silent cli -- keys create --email demo@example.com --organization demo`,
  );
  await elsewhere.close();
  const words = async (ended: string) =>
    /<p class="notice"[^>]*>(.*)<\/p>/.exec(await (await navigate(`/sign-in?ended=${ended}`)).text())?.[1];
  expect([await words('account'), await words('organization'), await words('<script>')]).toEqual([
    'Your account is being deleted. Its API keys no longer work.',
    'The organization is being deleted. Its API keys no longer work.',
    undefined,
  ]);
});
