import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { openDatabase } from '../../src/core/postgres/connections.ts';
import { compareSchema } from '../../src/core/postgres/migrations.ts';
import { CODE_OF, STATUS_OF } from '../../src/core/errors.ts';
import { MAX_BODY_BYTES } from '../../src/core/http/request-body.ts';
import { entities, routes } from '../../src/gateway/modules.ts';
import { LIMITS } from '../../src/core/graphql/document-limits.ts';
import { openApiDocument } from '../../src/gateway/rest/openapi.ts';
import { errorStatuses } from '../../src/gateway/rest/openapi-errors.ts';
import { contracts } from '../../src/gateway/print-contracts.ts';
import { useTestGateway } from '../support/fixtures/gateway.ts';
import { endProcesses, emptyDatabase } from '../support/processes/process.ts';
import { checkout } from '../support/processes/programs.ts';
import { openSnapshot } from '../support/schema-snapshot.ts';

const gateway = useTestGateway();

afterAll(() => endProcesses());

test('routes have the published methods, paths, operations and statuses', () => {
  const table = routes.map(
    (route) => `${route.method} ${route.path} ${route.operationId} ${route.status} | ${errorStatuses(route).join(' ')}`,
  );
  expect(table.toSorted().join('\n')).toMatchInlineSnapshot(`
    "DELETE /broadcast/v1/broadcasts/:broadcast_guid cancelBroadcast 204 | 400 401 403 404 409 413 415 429 500 503
    DELETE /events/2026-03/event-definitions/:eventName deleteEventDefinition 204 | 400 401 403 404 409 413 415 429 500 503
    DELETE /events/2026-03/event-definitions/:eventName/property/:propertyName deleteEventProperty 204 | 400 401 403 404 409 413 415 429 500 503
    DELETE /v1/api-keys/:apiKeyId revokeApiKey 200 | 400 401 403 404 409 413 415 429 500 503
    DELETE /v1/connected-apps/:connectedAppId revokeConnectedApp 204 | 400 401 403 404 409 413 415 429 500 503
    DELETE /v1/groups/:groupId deleteGroup 204 | 400 401 403 404 409 413 415 429 500 503
    DELETE /v1/mcp-connections/:mcpConnectionId deleteMcpConnection 204 | 400 401 403 404 409 413 415 429 500 503
    DELETE /v1/mcp-connections/:mcpConnectionId/mcp endMcpSession 200 | 400 401 403 404 409 429 500 502 503 504
    DELETE /v1/operation-manifests/:client/:version retireOperationManifest 204 | 400 401 403 404 409 413 415 429 500 503
    DELETE /v1/organizations/:organizationId/members/:userId/data deleteOrganizationMemberData 202 | 400 401 403 404 409 413 415 429 500 503
    DELETE /v1/service-accounts/:serviceAccountId deleteServiceAccount 204 | 400 401 403 404 409 413 415 429 500 503
    DELETE /v1/sessions/:sessionId deleteSession 204 | 400 401 403 404 409 413 415 429 500 503
    DELETE /v1/sessions/:sessionId/handled unmarkSessionHandled 204 | 400 401 403 404 409 413 415 429 500 503
    DELETE /v1/sessions/:sessionId/hold releaseSession 204 | 400 401 403 404 409 413 415 429 500 503
    DELETE /v1/users/:userId deleteUser 202 | 400 401 403 404 409 413 415 429 500 503
    DELETE /v1/webhooks/:webhookId deleteWebhook 204 | 400 401 403 404 409 413 415 429 500 503
    GET /broadcast/v1/broadcasts listBroadcasts 200 | 400 401 403 404 429 500 503
    GET /broadcast/v1/broadcasts/:broadcast_guid readBroadcast 200 | 400 401 403 404 429 500 503
    GET /broadcast/v1/channels/setting/publish/current listBroadcastChannels 200 | 400 401 403 404 429 500 503
    GET /events/2026-03/event-definitions searchEventDefinitions 200 | 400 401 403 404 429 500 503
    GET /events/2026-03/event-definitions/:eventName readEventDefinition 200 | 400 401 403 404 429 500 503
    GET /events/event-occurrences/2026-03 searchEventOccurrences 200 | 400 401 403 404 429 500 503
    GET /events/event-occurrences/2026-03/event-types listEventTypes 200 | 400 401 403 404 429 500 503
    GET /v1/access-review readAccessReview 200 | 400 401 403 404 429 500 503
    GET /v1/api-keys listApiKeys 200 | 400 401 403 404 429 500 503
    GET /v1/audit-log listAuditLog 200 | 400 401 403 404 429 500 503
    GET /v1/connected-apps listConnectedApps 200 | 400 401 403 404 429 500 503
    GET /v1/event-definitions/:name/occurrences/export exportEventOccurrences 200 | 400 401 403 404 429 500 503
    GET /v1/feed listFeed 200 | 400 401 404 429 500 503
    GET /v1/groups listGroups 200 | 400 401 403 404 429 500 503
    GET /v1/mcp-connections listMcpConnections 200 | 400 401 403 404 429 500 503
    GET /v1/mcp-connections/:mcpConnectionId readMcpConnection 200 | 400 401 403 404 429 500 503
    GET /v1/mcp-connections/:mcpConnectionId/mcp openMcpStream 200 | 400 401 403 404 409 429 500 502 503 504
    GET /v1/mcp-connections/:mcpConnectionId/settings readMcpConnectionSettings 200 | 400 401 403 404 429 500 503
    GET /v1/operation-manifests listOperationManifests 200 | 400 401 403 404 429 500 503
    GET /v1/organizations listOrganizations 200 | 400 401 404 429 500 503
    GET /v1/organizations/:organizationId/export exportOrganization 200 | 400 401 403 404 409 429 500 503
    GET /v1/organizations/:organizationId/key-policy readOrganizationKeyPolicy 200 | 400 401 403 404 429 500 503
    GET /v1/organizations/:organizationId/members/:userId/export exportOrganizationMember 200 | 400 401 403 404 429 500 503
    GET /v1/organizations/:organizationId/retention readOrganizationRetention 200 | 400 401 403 404 429 500 503
    GET /v1/service-accounts listServiceAccounts 200 | 400 401 403 404 429 500 503
    GET /v1/service-accounts/:serviceAccountId/api-keys listServiceAccountApiKeys 200 | 400 401 403 404 429 500 503
    GET /v1/session-search searchSessions 200 | 400 401 403 404 429 500 503
    GET /v1/sessions listSessions 200 | 400 401 403 404 429 500 503
    GET /v1/sessions/:sessionId readSession 200 | 400 401 403 404 429 500 503
    GET /v1/sessions/:sessionId/entries listSessionEntries 200 | 400 401 403 404 429 500 503
    GET /v1/sessions/:sessionId/events listSessionEvents 200 | 400 401 403 404 429 500 503
    GET /v1/sessions/:sessionId/export exportSession 200 | 400 401 403 404 409 429 500 503
    GET /v1/sessions/:sessionId/failure readSessionFailure 200 | 400 401 403 404 429 500 503
    GET /v1/sessions/:sessionId/pull-requests listPullRequests 200 | 400 401 403 404 429 500 503
    GET /v1/sessions/:sessionId/usage readSessionUsage 200 | 400 401 403 404 429 500 503
    GET /v1/tool-approvals listToolApprovals 200 | 400 401 403 404 429 500 503
    GET /v1/usage-report readUsageReport 200 | 400 401 403 404 429 500 503
    GET /v1/users/me readViewer 200 | 400 401 404 429 500 503
    GET /v1/webhooks listWebhooks 200 | 400 401 403 404 429 500 503
    GET /v1/webhooks/:webhookId readWebhook 200 | 400 401 403 404 429 500 503
    GET /v1/webhooks/:webhookId/deliveries listWebhookDeliveries 200 | 400 401 403 404 429 500 503
    PATCH /events/2026-03/event-definitions/:eventName updateEventDefinition 200 | 400 401 403 404 409 413 415 429 500 503
    PATCH /events/2026-03/event-definitions/:eventName/property updateEventProperty 200 | 400 401 403 404 409 413 415 429 500 503
    PATCH /events/2026-03/event-definitions/:eventName/property/:propertyName updateEventPropertyByPath 200 | 400 401 403 404 409 413 415 429 500 503
    PATCH /v1/groups/:groupId updateGroup 200 | 400 401 403 404 409 413 415 429 500 503
    PATCH /v1/mcp-connections/:mcpConnectionId updateMcpConnection 200 | 400 401 403 404 409 413 415 429 500 503
    PATCH /v1/mcp-connections/:mcpConnectionId/settings updateMcpConnectionSettings 200 | 400 401 403 404 409 413 415 429 500 503
    PATCH /v1/organizations/:organizationId/key-policy updateOrganizationKeyPolicy 200 | 400 401 403 404 409 413 415 429 500 503
    PATCH /v1/organizations/:organizationId/retention updateOrganizationRetention 200 | 400 401 403 404 409 413 415 429 500 503
    PATCH /v1/service-accounts/:serviceAccountId updateServiceAccount 200 | 400 401 403 404 409 413 415 429 500 503
    PATCH /v1/sessions/:sessionId updateSession 200 | 400 401 403 404 409 413 415 429 500 503
    PATCH /v1/webhooks/:webhookId updateWebhook 200 | 400 401 403 404 409 413 415 429 500 503
    POST /broadcast/v1/broadcasts createBroadcast 201 | 400 401 403 404 409 413 415 429 500 503
    POST /events/2026-03/event-definitions createEventDefinition 201 | 400 401 403 404 409 413 415 429 500 503
    POST /events/2026-03/event-definitions/:eventName/property addEventProperty 201 | 400 401 403 404 409 413 415 429 500 503
    POST /events/2026-03/send sendEventOccurrence 204 | 400 401 403 404 409 413 415 429 500 503
    POST /events/2026-03/send/batch sendEventOccurrences 204 | 400 401 403 404 409 413 415 429 500 503
    POST /v1/api-keys createApiKey 201 | 400 401 403 404 409 413 415 429 500 503
    POST /v1/artifacts/:artifactId/pull-requests recordPullRequest 201 | 400 401 403 404 409 413 415 429 500 503
    POST /v1/groups createGroup 201 | 400 401 403 404 409 413 415 429 500 503
    POST /v1/invitations/accept acceptOrganizationInvitation 201 | 400 404 409 413 415 429 500 503
    POST /v1/invitations/preview previewOrganizationInvitation 200 | 400 404 413 415 429 500 503
    POST /v1/mcp sendOwnMcpMessage 200 | 400 401 403 404 409 413 429 500 502 503 504
    POST /v1/mcp-connections createMcpConnection 201 | 400 401 403 404 409 413 415 429 500 502 503
    POST /v1/mcp-connections/:mcpConnectionId/authorize authorizeMcpConnection 200 | 400 401 403 404 409 413 415 429 500 502 503
    POST /v1/mcp-connections/:mcpConnectionId/mcp sendMcpMessage 200 | 400 401 403 404 409 413 429 500 502 503 504
    POST /v1/mcp-connections/:mcpConnectionId/tool-calls callMcpTool 200 | 400 401 403 404 409 413 415 429 500 502 503 504
    POST /v1/mcp-connections/:mcpConnectionId/tool-definitions/accept acceptMcpToolDefinitions 200 | 400 401 403 404 409 413 415 429 500 502 503
    POST /v1/object-occurrences/delete deleteObjectOccurrences 202 | 400 401 403 404 409 413 415 429 500 503
    POST /v1/operation-manifests publishOperationManifest 201 | 400 401 403 404 409 413 415 429 500 503
    POST /v1/organizations createOrganization 201 | 400 401 403 404 409 413 415 429 500 503
    POST /v1/service-accounts createServiceAccount 201 | 400 401 403 404 409 413 415 429 500 503
    POST /v1/service-accounts/:serviceAccountId/api-keys createServiceAccountApiKey 201 | 400 401 403 404 409 413 415 429 500 503
    POST /v1/sessions createSession 201 | 400 401 403 404 409 413 415 429 500 503
    POST /v1/sessions/:sessionId/artifacts recordArtifact 201 | 400 401 403 404 409 413 415 429 500 503
    POST /v1/sessions/:sessionId/events appendSessionEvents 201 | 400 401 403 404 409 413 415 429 500 503
    POST /v1/sessions/:sessionId/mcp sendSessionMcpMessage 200 | 400 401 403 404 409 413 429 500 502 503 504
    POST /v1/sessions/:sessionId/redact redactSessionEvents 200 | 400 401 403 404 409 413 415 429 500 503
    POST /v1/sessions/:sessionId/transition transitionSession 200 | 400 401 403 404 409 413 415 429 500 503
    POST /v1/tool-approvals/:toolApprovalId/decide decideToolApproval 200 | 400 401 403 404 409 413 415 429 500 503
    POST /v1/tracking-plan applyTrackingPlan 200 | 400 401 403 404 409 413 415 429 500 503
    POST /v1/webhooks createWebhook 201 | 400 401 403 404 409 413 415 429 500 503
    POST /v1/webhooks/:webhookId/deliveries/:deliveryId/redeliver redeliverWebhook 202 | 400 401 403 404 409 413 415 429 500 503
    POST /v1/webhooks/:webhookId/ping pingWebhook 202 | 400 401 403 404 409 413 415 429 500 503
    POST /v1/webhooks/:webhookId/replay replayWebhook 202 | 400 401 403 404 409 413 415 429 500 503
    POST /v1/webhooks/:webhookId/rotate-secret rotateWebhookSecret 200 | 400 401 403 404 409 413 415 429 500 503
    POST /v1/webhooks/:webhookId/try tryWebhookNow 202 | 400 401 403 404 409 413 415 429 500 503
    PUT /v1/sessions/:sessionId/handled markSessionHandled 200 | 400 401 403 404 409 413 415 429 500 503
    PUT /v1/sessions/:sessionId/hold holdSession 200 | 400 401 403 404 409 413 415 429 500 503
    PUT /v1/sessions/by-source/:agent/:sourceId ensureSession 201 | 400 401 403 404 409 413 415 429 500 503"
  `);
});

test('each kind of error has the published status and code', () => {
  const kinds = Object.entries(STATUS_OF).map(([kind, status]) => `${status} ${CODE_OF[kind as keyof typeof CODE_OF]}`);
  expect(kinds.join('\n')).toMatchInlineSnapshot(`
    "400 INVALID_INPUT
    400 ANSWER_TOO_LARGE
    401 UNAUTHENTICATED
    403 FORBIDDEN
    404 NOT_FOUND
    405 METHOD_NOT_ALLOWED
    409 CONFLICT
    410 GONE
    413 TOO_LARGE
    415 UNSUPPORTED_MEDIA_TYPE
    429 RATE_LIMITED
    500 INTERNAL
    502 REMOTE_FAILED
    503 UNAVAILABLE
    504 REMOTE_FAILED"
  `);
});

test('limits have the published values', () => {
  expect({ ...LIMITS, bodyBytes: MAX_BODY_BYTES }).toMatchInlineSnapshot(`
    {
      "aliases": 100,
      "bodyBytes": 4194304,
      "comparisons": 500000,
      "cost": 20000,
      "depth": 15,
      "directives": 50,
      "nesting": 200,
      "operations": 1,
      "queryBytes": 65536,
      "tokens": 4000,
    }
  `);
});

test.for(Object.entries(contracts))(
  '%s is up to date with the code; if not, run: npm run contracts',
  async ([file, print]) => {
    expect(print()).toBe(await readFile(join(checkout, file), 'utf8'));
  },
);

describe('migrations', () => {
  test('match the entities; if not, run: npm run migration:create', async () => {
    const database = await openSnapshot();
    expect(await database.migrator.checkSchema()).toBe(false);
    await database.close();
  });

  test('can be applied, all reverted, and applied again', async () => {
    const { DATABASE_URL } = await emptyDatabase();
    const database = await openDatabase({ url: DATABASE_URL, entities });
    const em = database.em.fork();
    const catalog = () =>
      em.execute<
        { item: string }[]
      >(`select table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' || coalesce(column_default, '') || is_identity as item
        from information_schema.columns where table_schema = 'public' and table_name <> 'mikro_orm_migrations'
        union all select indexdef from pg_indexes where schemaname = 'public' and tablename <> 'mikro_orm_migrations'
        union all select conrelid::regclass || ' ' || pg_get_constraintdef(oid) from pg_constraint where connamespace = 'public'::regnamespace
          and conrelid::regclass::text <> 'mikro_orm_migrations' order by 1`);
    const all = (await compareSchema(em)).pending;
    await database.migrator.up();
    const first = await catalog();
    expect(first.length).toBeGreaterThan(50);
    expect((await compareSchema(em)).pending).toEqual([]);
    await database.migrator.down({ to: 0 });
    expect(await catalog()).toEqual([]);
    expect((await compareSchema(em)).pending).toEqual(all);
    await database.migrator.up();
    expect(await catalog()).toEqual(first);
    await database.close();
  });
});

describe('openapi.json', () => {
  const document = openApiDocument(routes);

  test('is an OpenAPI 3.1 document with valid references and unique operation ids', () => {
    expect(document).toMatchObject({ openapi: '3.1.0', security: [{ apiKey: [] }] });
    const references = [...new Set(valuesOf(document, '$ref'))];
    expect(references.length).toBeGreaterThan(3);
    expect(references.filter((reference) => at(document, reference) === undefined)).toEqual([]);
    const ids = valuesOf(document, 'operationId');
    expect(ids.toSorted()).toEqual([...new Set(ids)].toSorted());
    expect(ids).toHaveLength(routes.length);
  });

  test('describes exactly the answers of the operations on event definitions', async () => {
    const { key } = await gateway.createKey();
    const base = '/events/2026-03/event-definitions';
    const calls: [string, string, unknown?][] = [
      ['POST', base, { label: 'Paid', name: 'paid', propertyDefinitions: [{ label: 'Amount', type: 'number' }] }],
      ['GET', base],
      ['GET', `${base}?includeProperties=true`],
      ['GET', `${base}/paid`],
      ['PATCH', `${base}/paid`, { label: 'Paid for' }],
      ['POST', `${base}/paid/property`, { label: 'Kind', type: 'enumeration', options: [{ label: 'A', value: 'a' }] }],
      ['PATCH', `${base}/paid/property/kind`, { label: 'Sort' }],
      ['DELETE', `${base}/paid/property/kind`],
      ['DELETE', `${base}/paid`],
    ];
    for (const [method, path, body] of calls) {
      const answer = await gateway.rest<unknown>(method, path, { key, body });
      const route = routes.find((row) => row.method === method && matches(row.path, path.split('?')[0] ?? ''));
      expect([method, path, answer.status]).toEqual([method, path, route?.status]);
      const documented = z.safeParse(route?.output ?? z.undefined(), answer.body);
      expect([method, path, documented.error?.issues]).toEqual([method, path, undefined]);
    }
  });
});

function matches(pattern: string, path: string): boolean {
  return new RegExp(`^${pattern.replaceAll(/:\w+/g, '[^/]+')}$`).test(path);
}

/** All strings under a property name, at every depth. */
function valuesOf(value: unknown, name: string): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === name && typeof inner === 'string' ? [inner] : valuesOf(inner, name),
  );
}

function at(document: object, reference: string): unknown {
  return reference
    .replace(/^#\//, '')
    .split('/')
    .reduce<unknown>(
      (value, part) =>
        typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[part] : undefined,
      document,
    );
}
