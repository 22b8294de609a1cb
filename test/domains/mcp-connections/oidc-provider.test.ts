import { afterAll, beforeAll, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { visit } from '../../support/fixtures/mcp-connections.ts';
import { type OidcFixture, consentByForms, startOidcFixture } from '../../support/peers/mcp-oidc-server.ts';

/** The whole authorization against oidc-provider, a certified authorization server that is not ours. */

const gateway = useTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
let fixture: OidcFixture;
let key: string;
beforeAll(async () => {
  key = (await gateway.createKey()).key;
  fixture = await startOidcFixture();
});
afterAll(() => fixture.stop());

test('a connection is authorized by registration and consent, and 20 concurrent uses refresh its rotating token once', async () => {
  const created = await gateway.rest<{ authorizationUrl: string; connection: { id: string } }>(
    'POST',
    '/v1/mcp-connections',
    { key, body: { name: 'oidc', serverUrl: fixture.serverUrl } },
  );
  expect(created).toMatchObject({ status: 201 });
  const back = await consentByForms(created.body.authorizationUrl);
  const { status, text } = await visit(gateway, back);
  expect({ status, text }).toEqual({
    status: 200,
    text: expect.stringContaining('is connected'),
  });
  const { id } = created.body.connection;
  const node = await gateway.graphql<{ node: unknown }>(
    key,
    `{ node(id: "${Buffer.from(`McpServer:${id}`).toString('base64')}") { ... on McpServer { status issuer grantedScopes tools { name } } } }`,
  );
  expect(node.data?.node).toEqual({
    status: 'CONNECTED',
    issuer: fixture.issuer,
    grantedScopes: expect.arrayContaining(['tools']),
    tools: [{ name: 'add' }, { name: 'now' }],
  });

  gateway.setClock(new Date(Date.now() + 3_700_000));
  const uses = await Promise.all(
    Array.from({ length: 20 }, () =>
      gateway.graphql<{ testMcpServer: unknown }>(
        key,
        'mutation ($id: ID!) { testMcpServer(input: { mcpServerId: $id }) { __typename ... on Error { message } } }',
        { id },
      ),
    ),
  );
  expect(new Set(uses.map(({ data }) => JSON.stringify(data?.testMcpServer)))).toEqual(
    new Set(['{"__typename":"TestMcpServerPayload"}']),
  );
  expect(fixture.refreshes()).toBe(1);
});
