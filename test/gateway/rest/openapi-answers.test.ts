import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { openApiDocument } from '../../../src/gateway/rest/openapi.ts';
import { routes } from '../../../src/gateway/modules.ts';
import { startTestGateway, useOwnGateway } from '../../support/fixtures/gateway.ts';
import { append, createSession, eventsOf, moveTo } from '../../support/fixtures/sessions.ts';

const gateway = useOwnGateway({ RATE_LIMIT_PER_MINUTE: '200' });
let key: string;
let session: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
  session = await createSession(gateway, key);
  await append(gateway, key, session, eventsOf(2));
  await moveTo(gateway, key, session, 'CANCELLED');
});

interface Described {
  readonly headers: Readonly<Record<string, object>>;
  readonly content?: Readonly<Record<string, object>>;
}

interface Operation {
  readonly operationId: string;
  /** Empty if no key is needed. */
  readonly security?: readonly object[];
  readonly parameters: readonly { readonly $ref?: string; readonly name?: string; readonly in?: string }[];
  readonly responses: Readonly<Record<string, Described | { readonly $ref: string }>>;
}

const document = openApiDocument(routes) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly responses: Readonly<Record<string, Described>> };
};

function described({ responses }: Operation, status: number): Described | undefined {
  const answer = responses[status];
  return answer && '$ref' in answer ? document.components.responses[answer.$ref.split('/').at(-1) ?? ''] : answer;
}

/** Headers that the document need not describe, because every answer of a web server may have them. */
const GENERAL =
  /^(?:content-(?:type|length|security-policy)|cache-control|vary|accept-encoding|x-content-type-options|referrer-policy|cross-origin-resource-policy|x-accel-buffering)$/;
/** Headers that only some answers with the same status have. */
const OCCASIONAL = new Set(['idempotent-replayed', 'link']);

function operationOf(method: string, path: string): Operation {
  const operation = document.paths[path]?.[method];
  if (!operation) throw new Error(`openapi.json does not describe ${method} ${path}`);
  return operation;
}

const calls: [string, string, string, number, RequestInit?][] = [
  ['a page', 'get', '/v1/sessions/{sessionId}/events', 200],
  ['a stream', 'get', '/v1/sessions/{sessionId}/events', 200, { headers: { Accept: 'text/event-stream' } }],
  ['a change', 'patch', '/v1/sessions/{sessionId}', 200, { body: '{}' }],
  ['bad input', 'patch', '/v1/sessions/{sessionId}', 400, { body: '[]' }],
  ['no key', 'patch', '/v1/sessions/{sessionId}', 401, { headers: { Authorization: '' } }],
  ['no JSON', 'patch', '/v1/sessions/{sessionId}', 415, { body: '{}', headers: { 'Content-Type': 'text/plain' } }],
  ['a creation', 'post', '/events/2026-03/event-definitions', 201, { body: '{"label":"Paid"}' }],
  ['a conflict', 'post', '/events/2026-03/event-definitions', 409, { body: '{"label":"x","name":"paid"}' }],
  ['no content', 'delete', '/events/2026-03/event-definitions/{eventName}', 204],
  ['a token without a key', 'post', '/v1/invitations/accept', 404, { body: '{"token":"wgi_x"}' }],
  ['a bad token without a key', 'post', '/v1/invitations/accept', 400, { body: '{}' }],
  ['a deprecated list', 'get', '/broadcast/v1/broadcasts', 200],
  ['a missing object', 'get', '/broadcast/v1/broadcasts/{broadcast_guid}', 404],
];

function send(method: string, path: string, { headers, ...init }: RequestInit = {}, as = key): Promise<Response> {
  const url = path
    .replace('{sessionId}', session)
    .replace('{eventName}', 'paid')
    .replaceAll(/\{\w+\}/g, randomUUID());
  return gateway.fetch(url, {
    method: method.toUpperCase(),
    ...init,
    headers: { Authorization: `Bearer ${as}`, 'Content-Type': 'application/json', ...(headers as object) },
  });
}

function expectAsDescribed(response: Response, answer: Described | undefined): void {
  const names = [...new Set([...response.headers.keys()].map((name) => name.toLowerCase()))].filter(
    (name) => !GENERAL.test(name),
  );
  const known = Object.keys(answer?.headers ?? {}).map((name) => name.toLowerCase());
  const constant = known.filter((name) => !OCCASIONAL.has(name) || names.includes(name));
  expect(names.toSorted()).toEqual(constant.toSorted());
  const types = Object.keys(answer?.content ?? {});
  const type = response.headers.get('content-type')?.split(';')[0];
  expect(type === undefined ? types.length === 0 : types.includes(type)).toBe(true);
}

test.for(calls)('%s: the answer has exactly the documented headers and a documented media type', async (call) => {
  const [, method, path, status, init] = call;
  const response = await send(method, path, init);
  expect(response.status).toBe(status);
  const operation = operationOf(method, path);
  expectAsDescribed(response, described(operation, status));
  await response.text();
});

test('429: the answer has the documented headers', async () => {
  const busy = await startTestGateway({ RATE_LIMIT_PER_MINUTE: '1' });
  const { key: tired } = await busy.createKey();
  const ask = () => busy.fetch('/broadcast/v1/broadcasts', { headers: { Authorization: `Bearer ${tired}` } });
  const answers = [await ask(), await ask(), await ask()];
  const refused = answers.find(({ status }) => status === 429);
  expect(refused).toBeDefined();
  if (refused) expectAsDescribed(refused, described(operationOf('get', '/broadcast/v1/broadcasts'), 429));
  await busy.close();
});

test('every operation with a key accepts X-Organization-Id and describes its 404; only live streams accept Last-Event-ID', async () => {
  const member = await gateway.createKey({ email: 'two@example.com' });
  await gateway.createKey({ email: 'two@example.com' });
  await gateway.dependencies.sql.query('update api_key set organization_id = null where id = $1', [member.keyId]);
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      if (operation.security?.length === 0) continue;
      const references = operation.parameters.map(({ $ref, name }) => $ref ?? name);
      expect(references).toContain('#/components/parameters/X-Organization-Id');
      expect(references.includes('Last-Event-ID')).toBe(
        ['listSessionEvents', 'listSessionEntries', 'listFeed'].includes(operation.operationId),
      );
      const response = await send(method, path, { headers: { 'X-Organization-Id': 'nowhere' } }, member.key);
      expect([method, path, response.status]).toEqual([method, path, 404]);
      expectAsDescribed(response, described(operation, 404));
    }
  }
});

test('an operation describes 403 if and only if it refuses a key without its scope', async () => {
  const others = await Promise.all(
    (['social', 'sessions.read'] as const).map((scope) => gateway.createKey({ scopes: [scope] })),
  );
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      if (operation.security?.length === 0) continue;
      const answers = await Promise.all(others.map((other) => send(method, path, {}, other.key)));
      const isRefused = answers.some(({ status }) => status === 403);
      expect([operation.operationId, '403' in operation.responses]).toEqual([operation.operationId, isRefused]);
    }
  }
});

test('an operation describes every error that it can answer, and no other', () => {
  const errorsOf = (method: string, path: string) =>
    Object.keys(operationOf(method, path).responses)
      .map(Number)
      .filter((status) => status >= 400);
  expect(errorsOf('get', '/v1/users/me')).toEqual([400, 401, 404, 429, 500, 503]);
  expect(errorsOf('get', '/v1/sessions')).toEqual([400, 401, 403, 404, 429, 500, 503]);
  expect(errorsOf('delete', '/v1/api-keys/{apiKeyId}')).toEqual([400, 401, 403, 404, 409, 413, 415, 429, 500, 503]);
  expect(errorsOf('post', '/v1/mcp-connections/{mcpConnectionId}/authorize')).toEqual([
    400, 401, 403, 404, 409, 413, 415, 429, 500, 502, 503,
  ]);
});
