import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { generateSecret } from '../../../src/domains/api-keys/public.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import {
  type ClientHost,
  authorizationQuery,
  authorize,
  connect,
  exchangeCode,
  openAuthorization,
  pkce,
  refresh,
  sendForm,
  signedInBrowser,
  startClientHost,
} from '../../support/fixtures/oauth-flow.ts';
import { startSecondGateway } from '../../support/fixtures/second-gateway.ts';

const gateway = useTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
let client: ClientHost;
beforeAll(async () => void (client = await startClientHost()));
afterAll(() => client.stop());

const BASE = 'http://127.0.0.1:4000';
const statusAt = async (path: string, token: string) => {
  const headers = {
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
  };
  const message = { jsonrpc: '2.0', id: 1, method: 'ping' };
  return (await gateway.fetch(path, { method: 'POST', headers, body: JSON.stringify(message) })).status;
};

test('the metadata, at both paths, say what clients need', async () => {
  const paths = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'];
  const answers = await Promise.all(
    paths.map((path) => gateway.fetch(path, { headers: { Origin: 'https://any.example' } })),
  );
  const [metadata, ofOpenId] = await Promise.all(answers.map((answer) => answer.json()));
  expect(answers.map(({ headers }) => headers.get('access-control-allow-origin'))).toEqual(['*', '*']);
  expect(ofOpenId).toEqual(metadata);
  expect(metadata).toMatchObject({
    issuer: BASE,
    authorization_endpoint: `${BASE}/oauth/authorize`,
    token_endpoint: `${BASE}/oauth/token`,
    revocation_endpoint: `${BASE}/oauth/revoke`,
    device_authorization_endpoint: `${BASE}/oauth/device/authorize`,
    jwks_uri: `${BASE}/oauth/keys`,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
    scopes_supported: expect.arrayContaining(['sessions.read', 'mcp_connections.use']),
  });
  expect(metadata).not.toHaveProperty('registration_endpoint');
});

describe('an authorization', () => {
  test('ends in a grant with what was asked for, which the client can use and refresh', async () => {
    const person = await gateway.createKey();
    const resource = `${BASE}/v1/sessions`;
    const tokens = await connect(gateway, client, person.key, {
      resource,
      scope: 'sessions.read openid offline_access',
    });
    expect(tokens).toEqual({
      access_token: expect.stringMatching(/^wgo_\w{36}$/),
      refresh_token: expect.stringMatching(/^wgr_\w{36}$/),
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'sessions.read',
    });
    const listed = () => gateway.rest('GET', '/v1/sessions', { key: tokens.access_token });
    expect((await listed()).status).toBe(200);
    gateway.setClock(new Date(Date.now() + 3_700_000));
    expect((await listed()).status).toBe(401);
    const refreshed = await refresh(gateway, client.clientId, tokens.refresh_token, { resource });
    expect(refreshed).toMatchObject({ status: 200, body: { scope: 'sessions.read', expires_in: 3600 } });
    expect((await gateway.rest('GET', '/v1/sessions', { key: refreshed.body.access_token })).status).toBe(200);
    gateway.setClock(undefined);
  });

  test('without resource and scope is for /mcp; with the scope of its tools for /v1/mcp', async () => {
    const person = await gateway.createKey();
    const tokens = await connect(gateway, client, person.key);
    expect(tokens.scope.split(' ')).toContain('sessions.read');
    expect(await statusAt('/mcp', tokens.access_token)).toBe(200);
    const other = await connect(gateway, client, person.key, { scope: 'mcp_connections.use' });
    expect(other.scope).toBe('mcp_connections.use');
    expect(await statusAt('/mcp', other.access_token)).toBe(401);
  });

  test('is audited when it is given and when the client ends it, which ends its tokens at once', async () => {
    const person = await gateway.createKey();
    const tokens = await connect(gateway, client, person.key);
    const fields = { client_id: client.clientId, token: tokens.refresh_token };
    expect((await sendForm(gateway, '/oauth/revoke', fields)).status).toBe(200);
    expect(await statusAt('/mcp', tokens.access_token)).toBe(401);
    expect((await refresh(gateway, client.clientId, tokens.refresh_token)).body.error).toBe('invalid_grant');
    const rows = await gateway.dependencies.sql.query(
      `select operation, target_label as label, detail, key_id = $2 as by_key, target_id = key_id as by_grant
       from audit_entry where organization_id = $1 and operation like '%App' order by occurred_at`,
      [person.organizationId, person.keyId],
    );
    expect(rows).toEqual([
      { operation: 'connectApp', label: 'Test client', detail: null, by_key: true, by_grant: false },
      { operation: 'revokeConnectedApp', label: 'Test client', detail: 'CLIENT', by_key: false, by_grant: true },
    ]);
  });

  test('that is refused leads back with the error, and gives nothing', async () => {
    const person = await gateway.createKey();
    const jar = await signedInBrowser(gateway, person.key);
    const answer = await authorize(jar, authorizationQuery(client, pkce().challenge), 'deny');
    expect(Object.fromEntries(answer)).toEqual({
      error: 'access_denied',
      error_description: 'the person has refused the connection',
      state: 'state of the client',
      iss: BASE,
    });
    const rows = await gateway.dependencies.sql.query(
      `select id from api_key where user_id = $1 and kind = 'OAUTH_GRANT'`,
      [person.userId],
    );
    expect(rows).toEqual([]);
  });

  test('asks to sign in first, and comes back', async () => {
    const person = await gateway.createKey();
    const jar = await signedInBrowser(gateway, person.key);
    const signIn = jar.cookies.get('workspace_session') ?? '';
    jar.cookies.delete('workspace_session');
    const { challenge, verifier } = pkce();
    const consent = await openAuthorization(jar, authorizationQuery(client, challenge));
    // Who comes from another site sends no cookie of the sign-in, until a page of the gateway leads on.
    const onward = await (await jar.open(consent)).text();
    expect(onward).toContain(`content="0;url=${consent}?here="`);
    const asked = await jar.open(`${consent}?here=`);
    expect([asked.status, asked.headers.get('location')]).toEqual([
      303,
      `/sign-in?next=${encodeURIComponent(consent)}`,
    ]);
    jar.cookies.set('workspace_session', signIn);
    expect((await jar.open(consent)).status).toBe(200);
    const answer = await authorize(jar, authorizationQuery(client, challenge));
    const code = answer.get('code') ?? '';
    expect((await exchangeCode(gateway, client, { code, verifier })).status).toBe(200);
  });
});

test('two gateways serve halves of one flow, and one that was started later goes on', async () => {
  const person = await gateway.createKey();
  const second = await startSecondGateway(gateway);
  const { verifier, challenge } = pkce();
  let turn = 0;
  const both: Pick<typeof gateway, 'fetch'> = {
    fetch: (target, init) => ((turn += 1) % 2 === 0 ? gateway : second).fetch(target, init),
  };
  const jar = await signedInBrowser(both, person.key);
  const answer = await authorize(jar, authorizationQuery(client, challenge));
  const tokens = await exchangeCode(both, client, { code: answer.get('code') ?? '', verifier });
  await second.close();
  expect(tokens.status).toBe(200);
  const third = await startSecondGateway(gateway);
  expect((await refresh(third, client.clientId, tokens.body.refresh_token)).status).toBe(200);
  await third.close();
});

describe('a refresh token', () => {
  const connected = async () => {
    const person = await gateway.createKey();
    return { person, tokens: await connect(gateway, client, person.key) };
  };
  const again = (token: string) => refresh(gateway, client.clientId, token);

  test('gives five processes that refresh at once the same answer', async () => {
    const { tokens } = await connected();
    const answers = await Promise.all(Array.from({ length: 5 }, () => again(tokens.refresh_token)));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers[0]?.status).toBe(200);
    expect(await statusAt('/mcp', answers[0]?.body.access_token ?? '')).toBe(200);
  });

  test('gives the answer again for a minute, so that a client goes on whose answer was lost', async () => {
    const { tokens } = await connected();
    const at = Date.now();
    gateway.setClock(new Date(at));
    const lost = await again(tokens.refresh_token);
    gateway.setClock(new Date(at + 59_000));
    const repeated = await again(tokens.refresh_token);
    expect(repeated.text).toBe(lost.text);
    expect((await again(repeated.body.refresh_token)).status).toBe(200);
    gateway.setClock(undefined);
  });

  test('gives no answer again when the next one was used: it is not the previous one any more', async () => {
    const { tokens } = await connected();
    const next = await again(tokens.refresh_token);
    const last = await again(next.body.refresh_token);
    expect(last.status).toBe(200);
    // The previous one still does.
    expect((await again(next.body.refresh_token)).text).toBe(last.text);
    expect(await again(tokens.refresh_token)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect(await statusAt('/mcp', last.body.access_token)).toBe(401);
  });

  test('gives no answer again when the person has ended the grant', async () => {
    const { person, tokens } = await connected();
    await again(tokens.refresh_token);
    await gateway.dependencies.sql.query(
      `update api_key set revoked_at = now() where user_id = $1 and kind = 'OAUTH_GRANT'`,
      [person.userId],
    );
    expect(await again(tokens.refresh_token)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  });

  test('that is used again later ends the grant, with an audit log entry', async () => {
    const { person, tokens } = await connected();
    const next = await again(tokens.refresh_token);
    gateway.setClock(new Date(Date.now() + 61_000));
    expect(await again(tokens.refresh_token)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect(await statusAt('/mcp', next.body.access_token)).toBe(401);
    expect((await again(next.body.refresh_token)).body.error).toBe('invalid_grant');
    gateway.setClock(undefined);
    const rows = await gateway.dependencies.sql.query(
      `select operation, detail from audit_entry where organization_id = $1 and operation = 'revokeConnectedApp'`,
      [person.organizationId],
    );
    expect(rows).toEqual([{ operation: 'revokeConnectedApp', detail: 'REUSED' }]);
  });

  test('is for one client, one resource and its scopes', async () => {
    const { tokens } = await connected();
    const other = await startClientHost();
    const refused = async (clientId: string, changes: Readonly<Record<string, string>>) =>
      (await refresh(gateway, clientId, tokens.refresh_token, changes)).body.error;
    expect(await refused(other.clientId, {})).toBe('invalid_grant');
    expect(await refused(client.clientId, { resource: `${BASE}/v1/sessions` })).toBe('invalid_target');
    expect(await refused(client.clientId, { scope: 'sessions.record' })).toBe('invalid_scope');
    expect((await again(generateSecret('refreshToken'))).body.error).toBe('invalid_grant');
    expect((await again(tokens.access_token)).body.error).toBe('invalid_grant');
    expect((await again(tokens.refresh_token)).status).toBe(200);
    await other.stop();
  });

  test('is stored by its hash alone, and its answer can be read only with it', async () => {
    const { tokens } = await connected();
    const next = await again(tokens.refresh_token);
    const rows = await gateway.dependencies.sql.query<{ text: string }>(
      'select a::text as text from oauth_artifact a',
      [],
    );
    const dump = rows.map(({ text }) => text).join('\n');
    for (const { access_token: access, refresh_token: token } of [tokens, next.body])
      expect([dump.includes(access), dump.includes(token)]).toEqual([false, false]);
  });

  test('lasts 30 days after the last refresh', async () => {
    const { tokens } = await connected();
    const days = (count: number) => new Date(Date.now() + count * 86_400_000);
    gateway.setClock(days(29));
    const next = await again(tokens.refresh_token);
    gateway.setClock(days(58));
    const last = await again(next.body.refresh_token);
    gateway.setClock(days(89));
    expect([next.status, last.status, (await again(last.body.refresh_token)).status]).toEqual([200, 200, 400]);
    gateway.setClock(undefined);
  });
});
