import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { createConnection, readStatus, toGraphQLInput, visit } from '../../support/fixtures/mcp-connections.ts';
import { mutate } from '../../support/fixtures/sessions.ts';
import { type OAuthFixture, startOAuthFixture } from '../../support/peers/mcp-authorization-server.ts';
import { type Handler, type Peer, mcpHandler, startPeer } from '../../support/peers/mcp-server.ts';
import { type Exchange, oddMcpHandler } from '../../support/peers/odd-mcp-server.ts';
import { sampled } from '../../support/sample.ts';

/** Messages about MCP servers and authorization servers, from which an administrator learns what to do. HOST is the server. */

const gateway = useTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
let peer: Peer;
let key: string;
beforeAll(async () => {
  peer = await startPeer(mcpHandler());
  key = (await gateway.createKey()).key;
});
afterAll(() => peer.stop());

const answers =
  (status: number, type: string, body: string): Handler =>
  (_, response) =>
    void response.writeHead(status, { 'Content-Type': type }).end(body);
const errorFor = (method: string, error: (exchange: Exchange) => object) =>
  oddMcpHandler({
    answer: (exchange) => {
      if (exchange.message.method !== method) return false;
      const body = JSON.stringify({ jsonrpc: '2.0', id: exchange.message.id, error: error(exchange) });
      exchange.response.writeHead(200, { 'Content-Type': 'application/json' }).end(body);
      return true;
    },
  });
const LONG = `über\n${'x'.repeat(300)}`;

const MCP_SERVERS: readonly [string, Handler, string][] = [
  [
    'a web page',
    answers(200, 'text/html; charset=utf-8', '<h1>Welcome</h1>'),
    'no MCP server answers there: HOST answered with text/html instead of JSON; check the address',
  ],
  [
    'a page of a firewall',
    answers(403, 'text/html', '<h1>Just a moment</h1>'),
    'the MCP server answered with HTTP 403 (text/html) at HOST; check whether the credentials of the connection may use this server',
  ],
  [
    'an address without a server',
    answers(404, 'text/plain', 'Not Found'),
    'the MCP server answered with HTTP 404 (text/plain) at HOST; check the path of the address',
  ],
  [
    'an address of the older transport',
    answers(405, 'text/plain', 'Method Not Allowed'),
    'the MCP server answered with HTTP 405 (text/plain) at HOST; the address does not take the POST requests of the transport Streamable HTTP: if it belongs to the older transport HTTP+SSE, which is not supported, look for the other address of the server',
  ],
  [
    'too many requests',
    answers(429, 'text/plain', 'slow down'),
    'the MCP server answered with HTTP 429 (text/plain) at HOST; it limits the number of requests: try again later',
  ],
  [
    'a missing token as HTTP 500',
    answers(
      500,
      'application/json',
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Missing \\"Authorization\\" header"}}',
    ),
    'the MCP server answered with HTTP 500 (application/json) at HOST: -32000: "Missing "Authorization" header"; try again later, or ask the operator of the server',
  ],
  [
    'another revision of the protocol',
    oddMcpHandler({ initialize: { protocolVersion: '1999-01-01' } }),
    'the MCP server speaks the revision "1999-01-01" of the Model Context Protocol, which is not supported; update the server',
  ],
  [
    'an error with HTTP 200',
    errorFor('initialize', () => ({ code: -32_001, message: 'Unauthorized: <b>no</b> key' })),
    'the MCP server answered with the JSON-RPC error -32001: "Unauthorized: <b>no</b> key"',
  ],
  [
    'a long error of several lines',
    errorFor('tools/list', () => ({ code: 1, message: LONG })),
    `the MCP server answered with the JSON-RPC error 1: "über?${'x'.repeat(195)}…"`,
  ],
  [
    'another API',
    answers(200, 'application/json', '{"hello":1}'),
    'no MCP server answers there: HOST answered with JSON that is no message of JSON-RPC; check the address',
  ],
  [
    'a message of a framework',
    answers(400, 'application/json', '{"detail":"tenant is missing"}'),
    'the MCP server answered with HTTP 400 (application/json) at HOST: "tenant is missing"',
  ],
  ['malformed JSON', answers(200, 'application/json', '{'), 'the MCP server answered with malformed JSON at HOST'],
  [
    'a redirect to another path',
    (_, response) => void response.writeHead(301, { Location: '/mcp/?token=x' }).end(),
    'the MCP server is not used: HOST redirects a POST request to http://HOST/mcp/, which is not followed; enter that address if it is intended',
  ],
];

sampled(test, 4).each(MCP_SERVERS)('%s: the same message on both APIs', async (name, handler, message) => {
  peer.handler = handler;
  const { host } = new URL(peer.origin);
  const error = message.replaceAll('HOST', host);
  const body = { name, serverUrl: `${peer.origin}/mcp` };
  expect((await createConnection(gateway, key, body)).body).toMatchObject({ error });
  expect(await mutate(gateway, key, 'createMcpServer', toGraphQLInput(body), '__typename')).toMatchObject({
    __typename: 'RemoteFailedError',
    message: error,
  });
});

test.each<[string, (sent: string) => Handler]>([
  [
    'the body of an error of HTTP',
    (sent) => answers(400, 'application/json', JSON.stringify({ error: 'no', error_description: `bad ${sent}` })),
  ],
  ['an error of JSON-RPC', (sent) => errorFor('tools/list', () => ({ code: 1, message: `bad ${sent}` }))],
])('a credential that a server repeats in %s is not shown', async (name, handler) => {
  peer.handler = handler('top-secret-key');
  const created = await createConnection(gateway, key, {
    name,
    serverUrl: `${peer.origin}/mcp`,
    authType: 'static_headers',
    headers: { Authorization: 'Bearer top-secret-key' },
  });
  expect(created.body.error).toContain('"bad [hidden]"');
});

test('refused headers are not an authorization that is missing', async () => {
  peer.handler = mcpHandler();
  const headers = { 'X-Key': 'some key' };
  const created = await createConnection(gateway, key, {
    name: 'headers',
    serverUrl: `${peer.origin}/mcp`,
    authType: 'static_headers',
    headers,
  });
  const { id } = created.body.connection;
  peer.handler = answers(401, 'text/plain', 'who are you');
  const message = 'the MCP server does not accept the headers (HTTP 401); change them';
  expect(await mutate(gateway, key, 'testMcpServer', { mcpServerId: id }, '__typename')).toMatchObject({ message });
  expect(await readStatus(gateway, key, id)).toEqual({
    status: 'MISCONFIGURED',
    statusReason: message,
    nextAction: 'UPDATE',
  });
});

describe('the page after an authorization', () => {
  async function failWith(misbehave: (fixture: OAuthFixture) => void) {
    const fixture = await startOAuthFixture();
    const created = await createConnection(gateway, key, { name: fixture.serverUrl, serverUrl: fixture.serverUrl });
    misbehave(fixture);
    const page = await visit(gateway, fixture.consent(created.body.authorizationUrl ?? ''));
    const { statusReason } = await readStatus(gateway, key, created.body.connection.id);
    await fixture.stop();
    const said = /was not connected: (.*)\.<\/p>/
      .exec(page.text)?.[1]
      ?.replaceAll('&quot;', '"')
      .replaceAll('&lt;', '<');
    return {
      status: page.status,
      said: said?.replaceAll('&gt;', '>'),
      statusReason,
      host: new URL(fixture.issuer.origin).host,
    };
  }
  const tokens = (status: number, type: string, body: string) => (fixture: OAuthFixture) => {
    fixture.onToken = answers(status, type, body);
  };

  sampled(test, 3).each<[string, (fixture: OAuthFixture) => void, string]>([
    [
      'a description of a refusal',
      tokens(400, 'application/json', '{"error":"invalid_scope","error_description":"unknown scope: <everything>"}'),
      'the authorization server refused: invalid_scope: "unknown scope: <everything>" (HTTP 400 at HOST/token); give other scopes',
    ],
    [
      'a refusal with HTTP 200',
      tokens(200, 'application/json', '{"error":"bad_verification_code"}'),
      'the authorization server refused: bad_verification_code (HTTP 200 at HOST/token)',
    ],
    [
      'a refusal in a form',
      tokens(400, 'application/x-www-form-urlencoded', 'error=invalid_grant&error_description=too+late'),
      'the authorization server refused: invalid_grant: "too late" (HTTP 400 at HOST/token); authorize again',
    ],
    [
      'a message of a framework',
      tokens(422, 'application/json', '{"detail":"Field required"}'),
      'the authorization server refused: "Field required" (HTTP 422 at HOST/token)',
    ],
    [
      'a token endpoint that does not exist',
      tokens(404, 'text/plain', 'Not Found'),
      'the authorization server answered with HTTP 404 (text/plain) at HOST/token',
    ],
    [
      'a web page instead of tokens',
      tokens(200, 'text/html', '<h1>Sign in</h1>'),
      'the authorization server answered with a malformed document: text/html instead of a JSON object at HOST/token',
    ],
    [
      'a token that lies deeper',
      tokens(200, 'application/json', '{"ok":true,"authed_user":{"access_token":"x"}}'),
      'the authorization server answered with a malformed document: access_token is missing in the answer of HOST/token',
    ],
  ])('%s: the page and the status say the same', async (_, misbehave, message) => {
    const { host, ...shown } = await failWith(misbehave);
    const said = message.replaceAll('HOST', host);
    expect(shown).toEqual({ status: 400, said, statusReason: said });
  });

  test('a new token that the MCP server refuses: the authorization was completed', async () => {
    const { status, said, statusReason } = await failWith(({ mcp }) => {
      mcp.handler = (_, response) => void response.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end();
    });
    const reason =
      'the authorization was completed, but the MCP server refuses the new token: it may expect another scope, audience or resource';
    expect({ status, said, statusReason }).toEqual({
      status: 400,
      said: `the MCP connection must be authorized: ${reason}`,
      statusReason: reason,
    });
  });
});
