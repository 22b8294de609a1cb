import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startTestGateway, useTestGateway } from '../../support/fixtures/gateway.ts';
import { createConnection, visit } from '../../support/fixtures/mcp-connections.ts';
import { type OAuthFixture, startOAuthFixture } from '../../support/peers/mcp-authorization-server.ts';

const gateway = useTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
let fixture: OAuthFixture;
let key: string;
let count = 0;
beforeAll(async () => {
  key = (await gateway.createKey()).key;
});
const fixtures: OAuthFixture[] = [];
afterEach(async () => {
  gateway.setClock(undefined);
  for (const one of fixtures.splice(0)) await one.stop();
});

async function start(): Promise<OAuthFixture> {
  fixture = await startOAuthFixture();
  fixtures.push(fixture);
  return fixture;
}

function create(body: Record<string, unknown> = {}) {
  count += 1;
  return createConnection(gateway, key, { name: `connection ${count}`, serverUrl: fixture.serverUrl, ...body });
}

describe('the subscription', () => {
  test('sends the current state and each change by another process, and ends when the connection is deleted', async () => {
    await start();
    const second = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' }, { beside: gateway });
    const created = await create();
    const { id } = created.body.connection;
    const response = await gateway.fetch('/graphql', {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Accept: 'text/event-stream' },
      body: JSON.stringify({
        query:
          'subscription ($id: ID!) { mcpServerChanged(mcpServerId: $id) { __typename ... on McpServerChanged { mcpServer { name status } } ... on McpServerDeleted { deletedId } } }',
        variables: { id },
      }),
    });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    const until = async (part: string) => {
      while (!text.includes(part)) {
        const { done, value } = (await reader?.read()) ?? { done: true };
        if (done) break;
        text += value;
      }
      expect(text).toContain(part);
    };
    await until('"status":"PENDING_AUTHORIZATION"');
    const url = fixture.consent(created.body.authorizationUrl ?? '');
    expect((await visit(second, url)).status).toBe(200);
    await until('"status":"CONNECTED"');
    await second.graphql(
      key,
      'mutation ($id: ID!) { updateMcpServer(input: { mcpServerId: $id, name: "renamed" }) { __typename } }',
      { id },
    );
    await until('"name":"renamed"');
    await second.graphql(key, 'mutation ($id: ID!) { deleteMcpServer(input: { mcpServerId: $id }) { __typename } }', {
      id,
    });
    await until(`{"__typename":"McpServerDeleted","deletedId":"${btoa(`McpServer:${id}`)}"}`);
    await until('event: complete');
    await second.close();
  });
});
