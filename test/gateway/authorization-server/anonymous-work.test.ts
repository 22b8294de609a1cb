import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestGateway, useOwnGateway } from '../../support/fixtures/gateway.ts';
import {
  type ClientHost,
  authorizationQuery,
  connect,
  decide,
  onwardOf,
  openAuthorization,
  pkce,
  refresh,
  sendForm,
  signedInBrowser,
  startClientHost,
} from '../../support/fixtures/oauth-flow.ts';

// What callers without a grant can make the gateway do.

const ENV = { ALLOW_PRIVATE_NETWORK: 'true', OAUTH_REGISTRATION: 'true' };
const gateway = useOwnGateway(ENV);
let client: ClientHost;
beforeAll(async () => void (client = await startClientHost()));
afterAll(() => client.stop());

const forgetDocuments = () =>
  gateway.dependencies.sql.query(`delete from oauth_artifact where kind = 'ClientDocument'`, []);

describe('documents of clients', () => {
  test.each(['/oauth/token', '/oauth/revoke', '/oauth/device/authorize'])(
    'that %s makes the gateway fetch are counted for each address',
    async (path) => {
      const limited = await startTestGateway(ENV, { beside: gateway, bounds: { requestsOfClient: 2 } });
      const statuses = [];
      client.requests.length = 0;
      for (let number = 0; number < 4; number += 1) {
        client.document['client_id'] = `${client.clientId}?${path}=${number}`;
        const fields = { client_id: String(client.document['client_id']), token: 'x', grant_type: 'refresh_token' };
        const request = new Request(`http://gateway${path}`, { method: 'POST', body: new URLSearchParams(fields) });
        statuses.push((await limited.fetch(Object.assign(request, { peerAddress: '192.0.2.1' }))).status);
      }
      client.document['client_id'] = client.clientId;
      expect(statuses.slice(2)).toEqual([429, 429]);
      expect(client.requests).toHaveLength(2);
      await limited.close();
    },
  );

  test('that cannot be used are counted too', async () => {
    const limited = await startTestGateway(ENV, { beside: gateway, bounds: { requestsOfClient: 2 } });
    const statuses = [];
    for (const _ of [1, 2, 3]) {
      const body = new URLSearchParams({ client_id: 'unknown', grant_type: 'refresh_token' });
      const request = new Request('http://gateway/oauth/token', { method: 'POST', body });
      statuses.push((await limited.fetch(Object.assign(request, { peerAddress: '192.0.2.1' }))).status);
    }
    expect(statuses).toEqual([401, 401, 429]);
    await limited.close();
  });

  test('are fetched outside transactions, also when they have expired meanwhile', async () => {
    const jar = await signedInBrowser(gateway, (await gateway.createKey()).key);
    const consent = await openAuthorization(jar, authorizationQuery(client, pkce().challenge));
    const html = await (await jar.open(consent)).text();
    const transactions: number[] = [];
    const countTransactions = async () => {
      const rows = await gateway.dependencies.sql.query<{ open: number }>(
        `select count(*)::int as open from pg_stat_activity
          where datname = current_database() and state = 'idle in transaction'`,
        [],
      );
      transactions.push(rows[0]?.open ?? -1);
    };
    client.handler = (_, response) =>
      void countTransactions().finally(() => {
        response.writeHead(200, { 'Content-Type': 'application/json' });
        response.end(JSON.stringify(client.document));
      });
    await forgetDocuments();
    const onward = onwardOf(await (await decide(jar, consent, html)).text());
    await forgetDocuments();
    expect((await jar.open(onward)).headers.get('location')).toContain('code=');
    expect(transactions).toEqual([0, 0]);
  });
});

describe('texts that cannot be stored', () => {
  test.each(['state', 'resource'])('are refused in %s', async (name) => {
    const base = name === 'resource' ? 'http://127.0.0.1:4000/v1/mcp-connections/a\0b/mcp' : 'a\0b';
    const answer = await gateway.fetch(
      `/oauth/authorize?${authorizationQuery(client, pkce().challenge, { [name]: base })}`,
    );
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('must not contain')]);
    const device = await sendForm(gateway, '/oauth/device/authorize', {
      client_id: 'workspace-recorder',
      [name]: base,
    });
    // Devices have no state: it is ignored and never stored.
    expect([device.status, device.body.error]).toEqual(name === 'state' ? [200, undefined] : [400, 'invalid_request']);
  });

  test('are no addresses of a client, and no part of its name', async () => {
    const register = async (body: object) => {
      const headers = { 'Content-Type': 'application/json' };
      const answer = await gateway.fetch('/oauth/register', { method: 'POST', headers, body: JSON.stringify(body) });
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    };
    const uri = 'https://client.example/';
    const ends = ['\0', '\n', '\t', '\ud83d', '\u202e', ' '].map((end) => uri + end);
    const relative = ['https:client.example', 'https:///client.example', 'https://client.example\\@other.example/'];
    for (const address of [...ends, ...relative, 'http:127.0.0.1'])
      expect([address, await register({ redirect_uris: [address] })]).toMatchObject([
        address,
        { status: 400, body: { error: 'invalid_client_metadata' } },
      ]);
    const name = 'a'.repeat(99);
    for (const client_name of [`${name}\u{1f600}`, `${name}\ud83d`, `\0${name}`])
      expect(await register({ redirect_uris: [uri], client_name })).toMatchObject({
        status: 201,
        body: { client_name: name },
      });
  });

  test('are left out of the name in a document', async () => {
    const host = await startClientHost();
    host.document['client_name'] = 'Test\0 client\ud83d';
    const jar = await signedInBrowser(gateway, (await gateway.createKey()).key);
    const consent = await openAuthorization(jar, authorizationQuery(host, pkce().challenge));
    expect(await (await jar.open(consent)).text()).toContain('Connect Test client?');
    await host.stop();
  });
});

test('refusals have a code of OAuth, and web pages can read them', async () => {
  const limited = await startTestGateway(ENV, { beside: gateway, bounds: { requestsOfClient: 0 } });
  const refusals = [
    [429, 'temporarily_unavailable', new Request('http://gateway/oauth/device/authorize', { method: 'POST' })],
    [413, 'invalid_request', new Request('http://gateway/oauth/token', { method: 'POST', body: 'x'.repeat(9000) })],
    [405, 'invalid_request', new Request('http://gateway/oauth/token')],
  ] as const;
  for (const [status, error, request] of refusals) {
    const answer = await limited.fetch(Object.assign(request, { peerAddress: '192.0.2.1' }));
    expect([answer.status, await answer.json(), answer.headers.get('access-control-allow-origin')]).toEqual([
      status,
      { error, error_description: expect.any(String) },
      '*',
    ]);
  }
  await limited.close();
});

test('the resource of a token may end with a slash, as some clients write it', async () => {
  const host = await startClientHost();
  const resource = 'http://127.0.0.1:4000/mcp/';
  const tokens = await connect(gateway, host, (await gateway.createKey()).key, { resource });
  expect((await refresh(gateway, host.clientId, tokens.refresh_token, { resource })).status).toBe(200);
  await host.stop();
});

describe('a refresh', () => {
  test('is a request of its grant, so that a client cannot store tokens without a limit', async () => {
    const host = await startClientHost();
    const limited = await startTestGateway({ ...ENV, RATE_LIMIT_PER_MINUTE: '3' }, { beside: gateway });
    limited.setClock(new Date('2027-01-01T00:00:01Z'));
    gateway.setClock(new Date('2027-01-01T00:00:01Z'));
    const tokens = await connect(gateway, host, (await gateway.createKey()).key);
    let token = tokens.refresh_token;
    const statuses = [];
    for (let number = 0; number < 4; number += 1) {
      const answer = await refresh(limited, host.clientId, token);
      statuses.push(answer.status);
      token = answer.body.refresh_token ?? token;
    }
    expect(statuses).toEqual([200, 200, 200, 429]);
    // What was refused has used nothing up.
    limited.setClock(new Date('2027-01-01T00:01:01Z'));
    expect((await refresh(limited, host.clientId, token)).status).toBe(200);
    gateway.setClock(undefined);
    await Promise.all([limited.close(), host.stop()]);
  });

  test('can be repeated when the document of the client cannot be read for some time', async () => {
    const host = await startClientHost();
    const tokens = await connect(gateway, host, (await gateway.createKey()).key);
    const { handler } = host;
    for (const status of [503, 429, 404]) {
      await forgetDocuments();
      host.handler = (_, response) => void response.writeHead(status).end();
      const { body, ...answer } = await refresh(gateway, host.clientId, tokens.refresh_token);
      const expected = status === 404 ? [401, 'invalid_client'] : [503, 'temporarily_unavailable'];
      expect([answer.status, body.error]).toEqual(expected);
    }
    host.handler = handler;
    expect((await refresh(gateway, host.clientId, tokens.refresh_token)).status).toBe(200);
    await host.stop();
  });
});
