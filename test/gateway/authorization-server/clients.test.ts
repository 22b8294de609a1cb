import { afterAll, describe, expect, test } from 'vitest';
import { startTestGateway, useOwnGateway } from '../../support/fixtures/gateway.ts';
import {
  type ClientHost,
  authorizationQuery,
  authorize,
  connect,
  exchangeCode,
  openAuthorization,
  pkce,
  refresh,
  signedInBrowser,
  startClientHost,
} from '../../support/fixtures/oauth-flow.ts';
import { CookieJar } from '../../support/fixtures/company-sign-in.ts';
import { sampled } from '../../support/sample.ts';

const gateway = useOwnGateway({ ALLOW_PRIVATE_NETWORK: 'true', OAUTH_REGISTRATION: 'true' });
const hosts: ClientHost[] = [];
const newClient = async (path?: string) => {
  const host = await startClientHost(path);
  hosts.push(host);
  return host;
};
afterAll(() => Promise.all(hosts.map((host) => host.stop())));

const begin = async (query: URLSearchParams, at: Pick<typeof gateway, 'fetch'> = gateway) => {
  const answer = await new CookieJar(at).open(`/oauth/authorize?${query}`);
  return { status: answer.status, text: await answer.text(), location: answer.headers.get('location') };
};
const register = async (body: object) => {
  const answer = await gateway.fetch('/oauth/register', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: answer.status, body: (await answer.json()) as { client_id: string; error?: string } };
};

describe('the document of a client', () => {
  test('is read once and kept for the time that it says, at most a day', async () => {
    const client = await newClient();
    const query = () => authorizationQuery(client, pkce().challenge);
    for (const _ of [1, 2, 3]) expect((await begin(query())).status).toBe(303);
    expect(client.requests).toEqual(['GET /client.json']);
    gateway.setClock(new Date(Date.now() + 25 * 3_600_000));
    expect((await begin(query())).status).toBe(303);
    expect(client.requests).toHaveLength(2);
    gateway.setClock(undefined);
  });

  const faults: [string, (client: ClientHost) => void, string][] = [
    [
      'names another client_id',
      (client) => (client.document['client_id'] = 'https://other.example/client.json'),
      'another client_id',
    ],
    [
      'names none',
      (client) => (client.document = { redirect_uris: ['https://client.example/callback'] }),
      'no JSON object',
    ],
    ['has no addresses', (client) => (client.document['redirect_uris'] = []), 'no JSON object'],
    ['is a list', (client) => (client.document = [] as never), 'no JSON object'],
    ['is too large', (client) => (client.document['x'] = 'x'.repeat(5 * 1024)), 'cannot be read'],
    [
      'has a plain http address',
      (client) => (client.document['redirect_uris'] = ['http://client.example/callback']),
      'neither an https',
    ],
    [
      'has an address with a user',
      (client) => (client.document['redirect_uris'] = ['https://a:b@client.example/']),
      'neither an https',
    ],
    ['has a script', (client) => (client.document['redirect_uris'] = ['javascript:alert(1)//']), 'neither an https'],
  ];
  sampled(test, 5).each(faults)('is refused when it %s', async (_, change, message) => {
    const client = await newClient();
    change(client);
    const answer = await begin(authorizationQuery(client, pkce().challenge));
    expect(answer).toMatchObject({ status: 400, location: null, text: expect.stringContaining(message) });
  });

  test('is not read, and not announced, with OAUTH_CLIENT_DOCUMENTS=false: clients register', async () => {
    const env = { ALLOW_PRIVATE_NETWORK: 'true', OAUTH_REGISTRATION: 'true', OAUTH_CLIENT_DOCUMENTS: 'false' };
    const closed = await startTestGateway(env, { beside: gateway });
    const client = await newClient();
    expect(await begin(authorizationQuery(client, pkce().challenge), closed)).toMatchObject({
      status: 400,
      text: expect.stringContaining('does not allow clients with a metadata document'),
    });
    expect(client.requests).toEqual([]);
    const announced = async (at: Pick<typeof gateway, 'fetch'>) =>
      ((await (await at.fetch('/.well-known/oauth-authorization-server')).json()) as Record<string, unknown>)[
        'client_id_metadata_document_supported'
      ];
    expect([await announced(gateway), await announced(closed)]).toEqual([true, false]);
    await closed.close();
  });

  test('is refused when it answers with a redirect or an error', async () => {
    for (const [status, headers] of [
      [302, { Location: '/other.json' }],
      [404, {}],
    ] as const) {
      const client = await newClient();
      client.handler = (_, response) => void response.writeHead(status, headers).end('{}');
      const answer = await begin(authorizationQuery(client, pkce().challenge));
      expect(answer).toMatchObject({ status: 400, text: expect.stringContaining(`answers ${status} instead of 200`) });
      expect(client.requests).toHaveLength(1);
    }
  });

  test('is JSON that its host calls JSON, because hosts also publish texts of others', async () => {
    const answers = [
      'text/plain',
      'text/html',
      'application/octet-stream',
      '',
      'application/jsonp',
      'application/json; charset=utf-8',
      'application/client+json',
    ];
    const seen = [];
    for (const type of answers) {
      const client = await newClient();
      client.handler = (_, response) => {
        response.writeHead(200, type === '' ? {} : { 'Content-Type': type });
        response.end(JSON.stringify(client.document));
      };
      seen.push((await begin(authorizationQuery(client, pkce().challenge))).status);
    }
    expect(seen).toEqual([400, 400, 400, 400, 400, 303, 303]);
  });

  test('must be at an https address that is written as browsers write it, and not in a private network', async () => {
    const strict = await startTestGateway({}, { beside: gateway });
    const client = await newClient();
    const messages = await Promise.all(
      [
        client.clientId,
        'https://127.0.0.1/client.json',
        'https://localhost/client.json',
        'https://[::1]/client.json',
        'https://169.254.169.254/latest/meta-data',
        'https://10.0.0.1/client.json',
        'http://client.example/client.json',
        'https://client.example',
        'https://client.example/',
        'https://client.example/a/../client.json',
        'https://CLIENT.example/client.json',
        'https://user@client.example/client.json',
        'https://client.example/client.json#part',
        'https://client.example:443/client.json',
        'javascript:alert(1)',
        'file:///etc/passwd',
      ].map(async (clientId) => {
        const { status } = await begin(authorizationQuery({ ...client, clientId }, pkce().challenge), strict);
        return status;
      }),
    );
    expect(new Set(messages)).toEqual(new Set([400]));
    expect(client.requests).toEqual([]);
    await strict.close();
  });

  test('counts only from the hosts that the operator allows, at a refresh too', async () => {
    const client = await newClient();
    const person = await gateway.createKey();
    const tokens = await connect(gateway, client, person.key);
    const env = { ALLOW_PRIVATE_NETWORK: 'true', OAUTH_CLIENT_HOSTS: 'claude.ai,127.0.0.1' };
    const limited = await startTestGateway(env, { beside: gateway });
    const answer = await begin(authorizationQuery(client, pkce().challenge), limited);
    expect(answer).toMatchObject({
      status: 400,
      text: expect.stringContaining('does not allow clients of 127.0.0.1:'),
    });
    expect((await refresh(limited, client.clientId, tokens.refresh_token)).body.error).toBe('invalid_client');
    expect((await refresh(gateway, client.clientId, tokens.refresh_token)).status).toBe(200);
    await limited.close();
  });

  test('that changes during an authorization gives no new address to go to', async () => {
    const client = await newClient();
    const person = await gateway.createKey();
    const jar = await signedInBrowser(gateway, person.key);
    const { challenge, verifier } = pkce();
    const query = authorizationQuery(client, challenge);
    const consent = await openAuthorization(jar, query);
    expect(await (await jar.open(consent)).text()).toContain('client.example');
    client.document = { ...client.document, redirect_uris: ['https://evil.example/callback'], client_name: 'Evil' };
    await gateway.dependencies.sql.query(`delete from oauth_artifact where kind = 'ClientDocument'`, []);
    const moved = { ...client, redirectUri: 'https://evil.example/callback' };
    expect((await begin(query)).status).toBe(400);
    const answer = await authorize(jar, authorizationQuery(moved, challenge));
    const stolen = await exchangeCode(gateway, client, { code: answer.get('code') ?? '', verifier });
    expect(stolen.body.error).toBe('invalid_grant');
  });
});

describe('a client on the computer of the person', () => {
  test('may use any port, and the page warns', async () => {
    const client = await newClient();
    client.document['redirect_uris'] = ['http://127.0.0.1/callback', 'http://localhost/callback'];
    const person = await gateway.createKey();
    const jar = await signedInBrowser(gateway, person.key);
    const { challenge, verifier } = pkce();
    const local = { ...client, redirectUri: 'http://127.0.0.1:51234/callback' };
    const consent = await openAuthorization(jar, authorizationQuery(local, challenge));
    const page = await (await jar.open(consent)).text();
    expect(page).toContain('<dd>127.0.0.1:51234</dd>');
    expect(page).toContain('Any program there can claim to be it');
    const answer = await authorize(jar, authorizationQuery(local, challenge));
    expect((await exchangeCode(gateway, local, { code: answer.get('code') ?? '', verifier })).status).toBe(200);
    for (const redirectUri of [
      'http://127.0.0.1:51234/other',
      'http://127.0.0.2:51234/callback',
      'http://127.0.0.1.evil.example/callback',
      'http://evil.example/callback',
    ])
      expect([redirectUri, (await begin(authorizationQuery({ ...client, redirectUri }, challenge))).status]).toEqual([
        redirectUri,
        400,
      ]);
  });

  test('that has another address too is not warned about, and may have a scheme of its app', async () => {
    const client = await newClient();
    client.document['redirect_uris'] = ['http://127.0.0.1/', 'https://vscode.dev/redirect', 'cursor://mcp/callback'];
    const jar = await signedInBrowser(gateway, (await gateway.createKey()).key);
    for (const [redirectUri, shown] of [
      ['https://vscode.dev/redirect', 'vscode.dev'],
      ['cursor://mcp/callback', 'cursor:'],
      ['http://127.0.0.1:33418/', '127.0.0.1:33418'],
    ] as const) {
      const consent = await openAuthorization(jar, authorizationQuery({ ...client, redirectUri }, pkce().challenge));
      const page = await (await jar.open(consent)).text();
      expect(page).toContain(`<dd>${shown}</dd>`);
      expect(page).not.toContain('Any program there');
    }
  });
});

describe('the scheme of an app', () => {
  const opened = async (redirectUri: string) => {
    const client = await newClient();
    client.document['redirect_uris'] = [redirectUri];
    return begin(authorizationQuery({ ...client, redirectUri }, pkce().challenge));
  };

  sampled(test, 3).each([
    ['com.example.app:/callback'],
    ['com.example.my-app:/oauth2redirect'],
    ['net.example.2go://callback'],
    ['cursor://anysphere.cursor-mcp/oauth/callback'],
    ['vscode://publisher.extension/callback'],
    ['vscode-insiders://publisher.extension/callback'],
    ['windsurf://codeium.windsurf/oauth-callback'],
    ['claude://callback'],
    ['zed://mcp/callback'],
  ])('lets %s in', async (redirectUri) => {
    expect(await opened(redirectUri)).toMatchObject({
      status: 303,
      location: expect.stringContaining('/oauth/consent/'),
    });
  });

  sampled(test, 5).each([
    ['javascript:alert(1)'],
    ['JavaScript:alert(1)//'],
    ['data:text/html,x'],
    ['blob:https://client.example/x'],
    ['intent://callback#Intent;end'],
    ['intent://callback'],
    ['ms-msdt:/id'],
    ['search-ms:query=x'],
    ['ms-officecmd:x'],
    ['ms-appinstaller:?source=https://client.example/'],
    ['x-apple.systempreferences:com.apple.preference'],
    ['shell:startup'],
    ['ssh://client.example/'],
    ['smb://client.example/share'],
    ['mailto:a@client.example'],
    ['itms-services://?action=download-manifest'],
    ['app:/callback'],
    ['.com:/callback'],
    ['com.:/callback'],
    ['cursor://user:password@mcp/callback'],
    ['cursor.://mcp/callback'],
    ['urn:ietf:wg:oauth:2.0:oob'],
  ])('does not let %s in', async (redirectUri) => {
    expect(await opened(redirectUri)).toMatchObject({
      status: 400,
      location: null,
      text: expect.stringContaining('neither an https'),
    });
  });
});

test('an error of a request is a page, whoever the client is: nobody has approved the address yet', async () => {
  const https = 'https://registered.example/callback';
  const { body } = await register({ redirect_uris: [https, 'http://127.0.0.1/callback'] });
  const { clientId, redirectUri } = await newClient();
  const clients = [
    { clientId, redirectUri },
    { clientId: body.client_id, redirectUri: https },
    { clientId: body.client_id, redirectUri: 'http://127.0.0.1:51234/callback' },
  ];
  const faults: readonly Readonly<Record<string, string>>[] = [
    { code_challenge_method: 'plain' },
    { response_type: 'token' },
    { response_type: 'token', prompt: 'none', response_mode: 'form_post' },
    { resource: 'https://other.example/' },
  ];
  for (const client of clients)
    for (const fault of faults) {
      const { status, location, text } = await begin(authorizationQuery(client, pkce().challenge, fault));
      expect([status, location, text.includes(client.redirectUri)]).toEqual([400, null, false]);
      expect(text).toContain('Not connected');
    }
});

describe('registration', () => {
  test('makes a public client, which a connection keeps', async () => {
    const metadata = await (await gateway.fetch('/.well-known/oauth-authorization-server')).json();
    expect(metadata).toMatchObject({ registration_endpoint: 'http://127.0.0.1:4000/oauth/register' });
    const redirectUri = 'https://registered.example/callback';
    const asked = {
      client_name: 'Registered',
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'client_secret_basic',
    };
    const { status, body } = await register(asked);
    expect({ status, body }).toEqual({
      status: 201,
      body: {
        client_id: expect.any(String),
        client_id_issued_at: expect.any(Number),
        client_name: 'Registered',
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      },
    });
    const registered = { clientId: body.client_id, redirectUri };
    const jar = await signedInBrowser(gateway, (await gateway.createKey()).key);
    const { challenge, verifier } = pkce();
    const consent = await openAuthorization(jar, authorizationQuery(registered, challenge));
    expect(await (await jar.open(consent)).text()).toContain('nobody: the app has registered itself');
    const answer = await authorize(jar, authorizationQuery(registered, challenge));
    const tokens = await exchangeCode(gateway, registered, { code: answer.get('code') ?? '', verifier });
    gateway.setClock(new Date(Date.now() + 20 * 86_400_000));
    expect((await refresh(gateway, body.client_id, tokens.body.refresh_token)).status).toBe(200);
    gateway.setClock(undefined);
  });

  test('that nobody uses is gone after a day', async () => {
    const redirectUri = 'https://registered.example/callback';
    const { body } = await register({ redirect_uris: [redirectUri] });
    const query = authorizationQuery({ clientId: body.client_id, redirectUri }, pkce().challenge);
    expect((await begin(query)).status).toBe(303);
    gateway.setClock(new Date(Date.now() + 25 * 3_600_000));
    expect((await begin(query)).status).toBe(400);
    gateway.setClock(undefined);
  });

  sampled(test, 3).each([
    [{}],
    [{ redirect_uris: [] }],
    [{ redirect_uris: ['http://client.example/callback'] }],
    [{ redirect_uris: ['cursor://mcp/callback'] }],
    [{ redirect_uris: ['https://client.example/callback#part'] }],
    [{ redirect_uris: ['https://client.example/', 'javascript:alert(1)'] }],
    [{ redirect_uris: Array.from({ length: 51 }, () => 'https://client.example/') }],
  ])('refuses %j', async (body) => {
    expect(await register(body)).toMatchObject({ status: 400, body: { error: 'invalid_client_metadata' } });
  });

  test('does not exist without the setting', async () => {
    const closed = await startTestGateway({}, { beside: gateway });
    const answer = await closed.fetch('/oauth/register', { method: 'POST', body: '{}' });
    expect([404, 401]).toContain(answer.status);
    await closed.close();
  });

  test('is counted for each address', async () => {
    const limited = await startTestGateway(
      { OAUTH_REGISTRATION: 'true' },
      { beside: gateway, bounds: { requestsOfClient: 2 } },
    );
    const statuses = [];
    for (const _ of [1, 2, 3]) {
      const body = JSON.stringify({ redirect_uris: ['https://client.example/'] });
      const request = new Request('http://gateway/oauth/register', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body,
      });
      statuses.push((await limited.fetch(Object.assign(request, { peerAddress: '192.0.2.1' }))).status);
    }
    expect(statuses).toEqual([201, 201, 429]);
    await limited.close();
  });
});
