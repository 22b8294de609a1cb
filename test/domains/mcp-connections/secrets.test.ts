import { afterAll, beforeAll, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { open, visit } from '../../support/fixtures/mcp-connections.ts';
import { type OAuthFixture, startOAuthFixture } from '../../support/peers/mcp-authorization-server.ts';
import { mcpHandler, startPeer } from '../../support/peers/mcp-server.ts';
import { sampled } from '../../support/sample.ts';

const gateway = useTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
let fixture: OAuthFixture;
let key: string;
const answers: string[] = [];
beforeAll(async () => {
  fixture = await startOAuthFixture();
  key = (await gateway.createKey()).key;
});
afterAll(() => fixture.stop());

interface Created {
  authorizationUrl: string;
  connection: { id: string };
}

async function rest(path: string, body?: unknown) {
  const answer = await gateway.rest<Created>('POST', path, { key, body });
  answers.push(answer.text);
  return answer;
}

async function graphql(query: string, variables?: Record<string, unknown>) {
  const answer = await gateway.graphql(key, query, variables);
  answers.push(JSON.stringify(answer));
}

/** Every row of every table, as text. */
async function databaseText(): Promise<string> {
  const { sql } = gateway.dependencies;
  const tables = await sql.query<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
    [],
  );
  const rows = await Promise.all(
    tables.map(({ name }) => sql.query<{ row: string }>(`select t::text as row from "${name}" t`, [])),
  );
  return rows
    .flat()
    .map(({ row }) => row)
    .join('\n');
}

test('after every kind of use, no secret is in plain text in the database, the log, the metrics or any answer', async () => {
  const secrets = fixture.secrets;
  for (const secret of [
    'env-value-1111',
    'header-value-2222',
    'machine-secret-3333',
    'my-client-secret-4444',
    'wrong-secret-5555',
    'changed-header-6666',
  ])
    secrets.add(secret);
  const READ = `query { viewer { organization { mcpServers(first: 10) { nodes { name envKeys headerKeys status statusReason clientId tools { name } } } } } }`;
  const TEST = `mutation ($id: ID!) { testMcpServer(input: { mcpServerId: $id }) { __typename ... on Error { message } } }`;

  await rest('/v1/mcp-connections', { type: 'stdio', name: 'a', command: 'c', env: { A: 'env-value-1111' } });
  // A server that repeats the headers of the request in its status text and body.
  const echoingServer = await startPeer(
    (request, response) =>
      void response.writeHead(500, String(request.headers['x-key'])).end(JSON.stringify(request.headers)),
  );
  await rest('/v1/mcp-connections', {
    name: 'b',
    serverUrl: echoingServer.origin,
    authType: 'static_headers',
    headers: { 'X-Key': 'header-value-2222' },
  });
  echoingServer.handler = mcpHandler();
  const headed = await rest('/v1/mcp-connections', {
    name: 'b',
    serverUrl: echoingServer.origin,
    authType: 'static_headers',
    headers: { 'X-Key': 'header-value-2222' },
  });
  await graphql(
    `
      mutation ($id: ID!) {
        updateMcpServer(input: { mcpServerId: $id, headers: [{ name: "X-Key", value: "changed-header-6666" }] }) {
          __typename
          ... on UpdateMcpServerPayload {
            mcpServer {
              headerKeys
            }
          }
        }
      }
    `,
    {
      id: headed.body.connection.id,
    },
  );
  echoingServer.handler = (request, response) =>
    void response.writeHead(403, String(request.headers['x-key'])).end(JSON.stringify(request.headers));
  await graphql(TEST, { id: headed.body.connection.id });
  fixture.addClient('machine', 'machine-secret-3333');
  fixture.addClient('mine', 'my-client-secret-4444');
  await rest('/v1/mcp-connections', {
    name: 'c',
    serverUrl: fixture.serverUrl,
    authType: 'client_credentials',
    clientId: 'machine',
    clientSecret: 'machine-secret-3333',
  });
  await rest('/v1/mcp-connections', {
    name: 'd',
    serverUrl: fixture.serverUrl,
    authType: 'client_credentials',
    clientId: 'machine',
    clientSecret: 'wrong-secret-5555',
  });
  for (const body of [{ name: 'e' }, { name: 'f', clientId: 'mine', clientSecret: 'my-client-secret-4444' }]) {
    const created = await rest('/v1/mcp-connections', { ...body, serverUrl: fixture.serverUrl });
    const url = fixture.consent(created.body.authorizationUrl);
    answers.push((await open(gateway, url)).text, (await visit(gateway, url)).text);
    const { id } = created.body.connection;
    await graphql(TEST, { id });
    gateway.setClock(new Date(Date.now() + 3_700_000));
    await graphql(TEST, { id });
    fixture.onToken = (_, response) =>
      void response
        .writeHead(400, { 'Content-Type': 'application/json' })
        .end(JSON.stringify({ error: 'server_error', error_description: fixture.tokenRequests.at(-1)?.toString() }));
    gateway.setClock(new Date(Date.now() + 9_000_000));
    await graphql(TEST, { id });
    fixture.onToken = undefined;
    fixture.revokeAll();
    gateway.setClock(new Date(Date.now() + 12_000_000));
    await graphql(TEST, { id });
    // This authorization is not completed, so its code verifier and client remain stored.
    await rest(`/v1/mcp-connections/${id}/authorize`);
    gateway.setClock(undefined);
  }
  await graphql(READ);
  await rest('/v1/mcp-connections', { name: 'g', serverUrl: `https://user:wrong-secret-5555@example.com/` });

  const places = {
    database: await databaseText(),
    log: gateway.logged.join('\n'),
    metrics: await (await gateway.fetch('/metrics')).text(),
    answers: answers.join('\n'),
  };
  expect(secrets.size).toBeGreaterThan(15);
  expect(places.database).toContain('mcp_connection');
  for (const [place, text] of Object.entries(places)) {
    expect({
      place,
      isRead: text.length > 500,
      found: [...secrets].filter((one) => one !== '' && text.includes(one)),
    }).toEqual({ place, isRead: true, found: [] });
  }
  await echoingServer.stop();
});

const SECRET = 'secret-in-a-wrong-place-7777';
const remote = { name: 'n', serverUrl: 'https://example.com', clientSecret: SECRET };
const INVALID_INPUTS: readonly (readonly [what: string, input: object | string, expected: RegExp])[] = [
  ['a field that is not known', { remote: { ...remote, foo: 1 } }, /unknown field "foo"\.$/],
  ['a field that is nearly known', { remote: { ...remote, nam: 'x' } }, /unknown field "nam"\. Did you mean "name"\?$/],
  ['a field that is missing', { remote: { ...remote, name: undefined } }, /include required field "name"\.$/],
  ['a list for a string', { remote: { ...remote, clientSecret: [SECRET] } }, /at \.remote\.clientSecret: .+ value\.$/],
  ['an object for a list', { remote: { ...remote, headers: { A: SECRET } } }, /at \.remote\.headers/],
  ['an object for an enum', { remote: { ...remote, authType: { A: SECRET } } }, /at \.remote\.authType: .+ value\.$/],
  ['a string for an object', { remote: SECRET }, /at \.remote: Expected .+ to be an object\.$/],
  ['a secret one level too high', { clientSecret: SECRET }, /unknown field "clientSecret"\.$/],
  ['a literal field', `{ remote: { name: "n", clientSecret: "${SECRET}", foo: 1 } }`, /unknown field "foo"\.$/],
  ['a literal list', `{ remote: { clientSecret: ["${SECRET}"] } }`, /a non string value\.$/],
  ['a literal without its name', `{ remote: { clientSecret "${SECRET}" } }`, /Expected ":", found String\.$/],
  ['a literal block', `{ remote: { """${SECRET}""" } }`, /Expected Name, found BlockString\.$/],
];

sampled(test, 4).for(INVALID_INPUTS)(
  'the error for invalid input names the field, but does not contain its value: %s',
  async ([, input, expected]) => {
    const isLiteral = typeof input === 'string';
    const create = (value: string) => `{ createMcpServer(input: ${value}) { __typename } }`;
    const query = isLiteral ? `mutation ${create(input)}` : `mutation ($i: CreateMcpServerInput!) ${create('$i')}`;
    for (const headers of [undefined, undefined, undefined, { 'Idempotency-Key': 'k' }]) {
      const answer = await gateway.graphql(key, query, isLiteral ? {} : { i: input }, headers);
      expect(answer.errors?.map(({ message }) => message)).toContainEqual(expect.stringMatching(expected));
      expect(JSON.stringify(answer)).not.toContain(SECRET);
    }
  },
);
