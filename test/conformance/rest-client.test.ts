import { readFile, writeFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import openapiTS, { astToString } from 'openapi-typescript';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { indexSessions } from '../../src/domains/session-events/search-index.ts';
import { startServedGateway } from '../support/fixtures/served-gateway.ts';
import { type Peer, mcpHandler, startPeer } from '../support/peers/mcp-server.ts';
import { proof } from '../support/proof.ts';
import { invite } from '../support/fixtures/invitations.ts';
import { recordApproval } from '../support/fixtures/tool-approvals.ts';
import { append, createSession, eventsOf } from '../support/fixtures/sessions.ts';
import { grantTo } from '../support/fixtures/oauth-grants.ts';
import { OPENAPI, appFile, generatedFolder, typeErrors } from './helpers/apps.ts';

/** `apps/rest/app.ts`. Its types are generated here. */
interface App {
  useEverything: (given: object) => Promise<{ done: string[]; answers: object }>;
}

/** Clients of MCP use them. Their messages are those of MCP, which the document does not describe, so no types are generated for them. */
const PASS_THROUGH: readonly string[] = [
  ...['POST', 'GET', 'DELETE'].map((method) => `${method} /v1/mcp-connections/{mcpConnectionId}/mcp`),
  'POST /v1/mcp',
  'POST /v1/sessions/{sessionId}/mcp',
];

const gateway = await startServedGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
let mcpServer: Peer;
let app: App;

beforeAll(async () => {
  mcpServer = await startPeer(mcpHandler());
  const folder = await generatedFolder('rest');
  await writeFile(`${folder}/openapi.ts`, astToString(await openapiTS(pathToFileURL(OPENAPI))));
  const path = appFile('rest/app.ts');
  app = (await import(path)) as App;
});

afterAll(() => mcpServer.stop());

test('a generated REST client calls every documented operation but those of MCP, and its types fit the requests and answers', async () => {
  expect(await typeErrors('rest/app.ts')).toEqual([]);

  const { key, userId, organization, organizationId, email } = await gateway.createKey();
  const { keyId: otherKeyId } = await gateway.createKey({ organization, email });
  const sessionId = await createSession(gateway, key, { title: 'A coupon' });
  await append(gateway, key, sessionId, eventsOf(5));
  // No job runs in this test.
  await indexSessions(gateway.dependencies.database.em);
  const mcpServerUrl = `${mcpServer.origin}/mcp`;
  const { token: invitationToken } = await invite(gateway, key, 'ann@example.com', { role: 'ADMIN' });
  const { id: connectedAppId } = await grantTo(gateway, { userId, organizationId }, { path: '/mcp' });
  const caller = await gateway.createKey({ organization, role: 'member' });
  const local = await gateway.rest<{ connection: { id: string } }>('POST', '/v1/mcp-connections', {
    key,
    body: { type: 'stdio', name: 'Local', command: 'server' },
  });
  const toolApprovalId = await recordApproval(gateway, {
    organizationId,
    connectionId: local.body.connection.id,
    userId: caller.userId,
  });
  const ids = { userId, sessionId, otherKeyId, connectedAppId, toolApprovalId };
  const { done, answers } = await app.useEverything({ url: gateway.url, key, mcpServerUrl, invitationToken, ...ids });

  const { paths } = JSON.parse(await readFile(OPENAPI, 'utf8')) as { paths: Record<string, object> };
  const documented = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect([...new Set([...done, ...PASS_THROUGH])].toSorted()).toEqual(documented.toSorted());
  expect(answers).toEqual({
    organization: 'Generated client',
    // A bound key can see only keys of its organization.
    organizations: 1,
    me: userId,
    connection: { type: 'remote', name: 'Tools' },
    session: { title: 'Renamed by a generated client', level: 3, current: 'queued' },
    connections: ['Tools renamed'],
    settings: { mode: 'ONLY', names: ['add'] },
    sum: [{ type: 'text', text: '42' }],
    matches: ['A coupon'],
    begun: {
      title: 'Begun',
      state: 'inProgress',
      turns: null,
      exported: 1,
      feed: [{ isBegun: true, state: 'inProgress' }],
      events: [1, 1],
      pullRequests: [{ additions: 12, deletions: 4, data: '@@ -1 +1 @@' }],
      titles: ['Begun', 'Renamed by a generated client'],
    },
    webhook: { listed: 1, reason: 'requested', isRotated: true, deliveries: ['webhook.ping', 'webhook.ping'] },
    passing: { hold: 'Evidence', redactedTexts: 1, sessionDays: 90, isExported: true, keyDays: 365, reviewed: 3 },
    published: 1,
    keys: true,
    eventIds: [1, 2, 3, 4, 5],
    found: [true],
    changed: 'Order sent',
    sent: ['2.5', '2.5'],
    custom: ['weight: number', 'carrier: enumeration'],
    gone: { category: 'OBJECT_NOT_FOUND', status: 404 },
    planned: ['cart_opened'],
    broadcasts: ['We are open.'],
    refused: 'name: must not be empty',
    deletion: { id: userId, queued: true },
  });
  const counts = { 'documented operations': documented.length, 'done by the generated client': new Set(done).size };
  proof('REST client (openapi-typescript, openapi-fetch)', { figures: { ...counts, 'type errors': 0 } });
});
