import {
  discoverOAuthServerInfo,
  exchangeAuthorization,
  extractWWWAuthenticateParams,
  specTypeSchemas,
  startAuthorization,
} from '@modelcontextprotocol/client';
import { describe, expect, test } from 'vitest';

/**
 * Behavior of the official client package that the gateway works around. If one of these tests fails, the package has changed: the named
 * adaptation can be removed or must be changed.
 */

const ISSUER = 'https://auth.example';
const metadata = {
  issuer: ISSUER,
  authorization_endpoint: `${ISSUER}/authorize`,
  token_endpoint: `${ISSUER}/token`,
  response_types_supported: ['code'],
  token_endpoint_auth_methods_supported: ['client_secret_basic'],
};
const json = (body: unknown) => new Response(JSON.stringify(body), { headers: { 'Content-Type': 'application/json' } });

describe('authorization/authorization-flow.ts', () => {
  test('the package adds prompt=consent to offline_access, which is removed', async () => {
    const { authorizationUrl } = await startAuthorization(ISSUER, {
      metadata,
      clientInformation: { client_id: 'client' },
      redirectUrl: 'https://gateway.example/callback',
      scope: 'offline_access',
    });
    expect(authorizationUrl.searchParams.get('prompt')).toBe('consent');
  });
});

describe('authorization/client-authentication.ts', () => {
  test('the package does not encode the credentials of HTTP Basic', async () => {
    let authorization: string | null = null;
    await exchangeAuthorization(ISSUER, {
      metadata,
      clientInformation: { client_id: 'client', client_secret: 'a+b/c' },
      authorizationCode: 'code',
      codeVerifier: 'verifier',
      redirectUri: 'https://gateway.example/callback',
      fetchFn: async (_, init) => {
        authorization = new Headers(init?.headers).get('authorization');
        return json({ access_token: 'token', token_type: 'Bearer' });
      },
    });
    expect(authorization).toBe(`Basic ${btoa('client:a+b/c')}`);
  });
});

describe('authorization/oauth-fetch.ts', () => {
  test('the package refuses null members of a token answer', async () => {
    const exchanged = exchangeAuthorization(ISSUER, {
      metadata,
      clientInformation: { client_id: 'client' },
      authorizationCode: 'code',
      codeVerifier: 'verifier',
      redirectUri: 'https://gateway.example/callback',
      fetchFn: async () => json({ access_token: 'token', token_type: 'Bearer', scope: null }),
    });
    await expect(exchanged).rejects.toThrow('scope');
  });
});

describe('authorization/discovery.ts', () => {
  test('the discovery of the package ends at the first place that answers with a web page', async () => {
    const asked: string[] = [];
    const discovered = discoverOAuthServerInfo('https://mcp.example/mcp', {
      fetchFn: async (url) => {
        asked.push(String(url));
        return new Response('<h1>App</h1>', { headers: { 'Content-Type': 'text/html' } });
      },
    });
    await expect(discovered).rejects.toThrow('JSON');
    expect(asked).not.toContain('https://mcp.example/.well-known/openid-configuration');
  });
});

describe('remote/challenges.ts', () => {
  test('the package reads only a challenge that comes first', () => {
    const headers = { 'WWW-Authenticate': 'Negotiate, Bearer scope="a"' };
    expect(extractWWWAuthenticateParams(new Response(null, { status: 401, headers }))).toEqual({});
  });
});

describe('remote/tolerance.ts', () => {
  test.each([
    ['ListToolsResult', { tools: [{ name: 'alpha', inputSchema: { type: 'object' } }], nextCursor: null }],
    ['ListToolsResult', { tools: [{ name: 'alpha', inputSchema: {} }] }],
    [
      'InitializeResult',
      {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {}, logging: null },
        serverInfo: { name: 'odd', version: '1' },
      },
    ],
  ] as const)('the package refuses %s with odd members', (name, result) => {
    const { issues } = specTypeSchemas[name]['~standard'].validate(result);
    expect(issues).not.toEqual([]);
    expect(issues).toBeDefined();
  });
});
