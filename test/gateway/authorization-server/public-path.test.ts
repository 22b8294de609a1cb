import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createGateway } from '../../../src/gateway/gateway.ts';
import { serve } from '../../../src/gateway/http/server.ts';
import { CookieJar } from '../../support/fixtures/company-sign-in.ts';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { type ClientHost, fieldsOf, onwardOf, startClientHost } from '../../support/fixtures/oauth-flow.ts';
import { Application, type Mode, connectWith } from '../../support/fixtures/official-client.ts';
import { type PathProxy, startPathProxy } from '../../support/peers/path-proxy.ts';

/** A gateway whose public address has a path, behind both kinds of proxies. */

const PATH = '/teams/tools';
const SERVER = '/.well-known/oauth-authorization-server';
const OPENID = '/.well-known/openid-configuration';
const RESOURCE = '/.well-known/oauth-protected-resource';

describe.each([
  ['removes', true],
  ['keeps', false],
])('behind a proxy that %s the path', (_, removesPath) => {
  let proxy: PathProxy;
  let gateway: TestGateway;
  let server: Awaited<ReturnType<typeof serve>>;
  let host: ClientHost;
  beforeAll(async () => {
    proxy = await startPathProxy(PATH, { removesPath });
    gateway = await startTestGateway({ PUBLIC_URL: proxy.url, ALLOW_PRIVATE_NETWORK: 'true' });
    server = await serve(createGateway(gateway.dependencies), { host: '127.0.0.1', port: 0 });
    proxy.setTarget(server.url);
    host = await startClientHost();
    host.document['redirect_uris'] = ['http://127.0.0.1/callback'];
  });
  afterAll(async () => {
    await proxy.stop();
    await server.stop(0);
    await gateway.close();
    await host.stop();
  });
  const read = async (path: string) => {
    const answer = await fetch(new URL(path, proxy.url));
    return { status: answer.status, document: await answer.json() };
  };

  test('the metadata are at every address at which MCP clients look', async () => {
    for (const path of [SERVER + PATH, OPENID + PATH, PATH + OPENID, PATH + SERVER, SERVER, OPENID])
      expect([path, await read(path)]).toEqual([
        path,
        {
          status: 200,
          document: expect.objectContaining({
            issuer: proxy.url,
            authorization_endpoint: `${proxy.url}/oauth/authorize`,
            token_endpoint: `${proxy.url}/oauth/token`,
            device_authorization_endpoint: `${proxy.url}/oauth/device/authorize`,
            jwks_uri: `${proxy.url}/oauth/keys`,
          }),
        },
      ]);
    for (const resource of ['/mcp', '/v1/mcp', '/v1/mcp-connections/any/mcp', '/v1/sessions/any/mcp', '/v1/sessions'])
      for (const path of [RESOURCE + PATH + resource, PATH + RESOURCE + resource])
        expect([path, await read(path)]).toEqual([
          path,
          {
            status: 200,
            document: expect.objectContaining({
              resource: proxy.url + resource,
              authorization_servers: [proxy.url],
            }),
          },
        ]);
    for (const path of [`${SERVER}/teams`, `${SERVER}${PATH}x`, `${SERVER}${PATH}/more`, `${RESOURCE}${PATH}x/mcp`])
      expect([path, (await fetch(new URL(path, proxy.url))).ok]).toEqual([path, false]);
  });

  /** A browser that knows only the proxy, and follows what the pages say. The person signs in on the way. */
  const consentWith = (key: string) => async (url: URL) => {
    const jar = new CookieJar({
      fetch: (path, init) => fetch(typeof path === 'string' ? new URL(path, proxy.url) : path, init),
    });
    const redirected = async (path: string, init?: RequestInit) =>
      (await jar.open(path, init)).headers.get('location') ?? '';
    const page = async (path: string, init?: RequestInit) => (await jar.open(path, init)).text();
    const actionOf = (html: string) => /<form method="post" action="([^"]+)"/.exec(html)?.[1] ?? '';
    const consent = await redirected(url.pathname + url.search);
    const signIn = await redirected(onwardOf(await page(consent)));
    const form = await page(signIn);
    const body = fieldsOf(form);
    body.set('key', key);
    const asked = await redirected(actionOf(form), { method: 'POST', body });
    const question = await page(asked);
    const decision = fieldsOf(question);
    decision.set('decision', 'allow');
    const decided = await page(actionOf(question), { method: 'POST', body: decision });
    return new URL(await redirected(onwardOf(decided))).searchParams;
  };

  test.each<Mode>(['auto', 'legacy'])('the official client (%s) connects, calls a tool and refreshes', async (mode) => {
    const { key } = await gateway.createKey();
    const application = new Application(consentWith(key), host.clientId);
    const client = await connectWith(application, mode, `${proxy.url}/mcp`);
    const first = application.stored?.access_token;
    gateway.setClock(new Date(Date.now() + 3_700_000));
    const called = await client.callTool({ name: 'list_sessions', arguments: {} });
    expect(called.content).toEqual([{ type: 'text', text: expect.stringContaining('"sessions"') }]);
    expect([application.stored?.access_token === first, application.consents]).toEqual([false, 1]);
    await client.close();
    gateway.setClock(undefined);
    expect(proxy.others).toEqual([]);
  });

  test('both APIs and WebSockets are below the path, and answers name it', async () => {
    const { key } = await gateway.createKey();
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const created = await fetch(`${proxy.url}/v1/sessions`, { method: 'POST', headers, body: '{"title": "Run"}' });
    const { id, htmlUrl } = (await created.json()) as { id: string; htmlUrl: string };
    expect([created.status, htmlUrl]).toEqual([201, `${proxy.url}/sessions/${id}`]);
    const body = JSON.stringify({ query: '{ __typename }' });
    const asked = await fetch(`${proxy.url}/graphql`, { method: 'POST', headers, body });
    expect(await asked.json()).toMatchObject({ data: { __typename: 'Query' } });
    for (const path of ['/graphql', `${PATH}/graphql`]) {
      const socket = new WebSocket(server.url.replace('http', 'ws') + path, 'graphql-transport-ws');
      await new Promise((resolve, reject) => {
        socket.addEventListener('open', resolve);
        socket.addEventListener('error', () => reject(new Error(path)));
      });
      socket.close();
    }
  });

  test('pages, their files and what they link to are below the path', async () => {
    for (const path of ['/sign-in', '/oauth/device', '/sign-in/oidc/callback', '/oauth/consent/unknown']) {
      const answer = await fetch(proxy.url + path, { redirect: 'manual', headers: { Accept: 'text/html' } });
      const html = await answer.text();
      const addresses = [...html.matchAll(/(?:href|src|action)="(\/[^"]*)"/g)].map(([, address = '']) => address);
      const location = answer.headers.get('location');
      const given = [...addresses, ...(location === null ? [] : [location])];
      expect(given.length).toBeGreaterThan(0);
      expect(given.filter((address) => !address.startsWith(`${PATH}/`))).toEqual([]);
      for (const file of addresses.filter((address) => address.includes('/assets/')))
        expect([file, (await fetch(new URL(file, proxy.url))).status]).toEqual([file, 200]);
    }
  });
});
