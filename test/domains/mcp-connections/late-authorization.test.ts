import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { type OAuthFixture, startOAuthFixture } from '../../support/peers/mcp-authorization-server.ts';
import { legacyMcpHandler } from '../../support/peers/mcp-server.ts';

const METADATA_URL = 'https://clients.example.com/gateway.json';

let gateway: TestGateway;
let fixture: OAuthFixture;
let key: string;
beforeAll(async () => {
  gateway = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true', CLIENT_METADATA_URL: METADATA_URL });
  fixture = await startOAuthFixture();
  key = (await gateway.createKey()).key;
});
afterAll(async () => {
  await fixture.stop();
  await gateway.close();
});

interface Created {
  authorizationUrl: string | null;
  connection: { id: string; connectedAt: string | null };
}

test('a server that allows initialize without authorization, but not tools, must be authorized before it is connected', async () => {
  const requiresAuthorization = fixture.mcp.handler;
  const acceptsAnybody = legacyMcpHandler();
  let posts = 0;
  fixture.mcp.handler = (request, response) => {
    // The first three POSTs are `server/discover` (unknown to the older protocol), `initialize` and `notifications/initialized`.
    if (request.method === 'POST') posts += 1;
    (request.method === 'POST' && posts <= 3 ? acceptsAnybody : requiresAuthorization)(request, response);
  };
  const { status, body } = await gateway.rest<Created>('POST', '/v1/mcp-connections', {
    key,
    body: { name: 'lazy', serverUrl: fixture.serverUrl },
  });
  expect({ status, connectedAt: body.connection.connectedAt }).toEqual({ status: 201, connectedAt: null });
  expect(body.authorizationUrl).toContain(`${fixture.issuer.origin}/authorize?`);
  fixture.mcp.handler = requiresAuthorization;
});

test('a server that supports client id metadata documents gets the configured URL as client id, and the document names the same id', async () => {
  fixture.metadata = { client_id_metadata_document_supported: true };
  const registrations = fixture.registrations.length;
  const { body } = await gateway.rest<Created>('POST', '/v1/mcp-connections', {
    key,
    body: { name: 'by document', serverUrl: fixture.serverUrl },
  });
  const asked = new URL(body.authorizationUrl ?? '').searchParams;
  const document = await gateway.fetch('/v1/mcp-connections/oauth/client-metadata.json');
  expect(await document.json()).toMatchObject({
    client_id: METADATA_URL,
    redirect_uris: [asked.get('redirect_uri')],
  });
  expect(asked.get('client_id')).toBe(METADATA_URL);
  // The client is not registered.
  expect(fixture.registrations).toHaveLength(registrations);
});
