import fc from 'fast-check';
import { HOSTILE_TEXT } from '../../support/fixtures/hostile-text.ts';
import { type Caller, Reference } from '../../support/fixtures/workspace.ts';
import { type Schema, createArbitraries } from './arbitraries.ts';

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
  };
}

interface ParameterObject {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

interface MediaType {
  readonly schema?: Schema;
}

interface OperationObject {
  readonly operationId: string;
  readonly parameters?: readonly ParameterObject[];
  readonly requestBody?: { required?: boolean; content: Readonly<Record<string, MediaType>> };
  readonly responses: Readonly<
    Record<string, { content?: Readonly<Record<string, MediaType>>; headers?: Readonly<Record<string, HeaderObject>> }>
  >;
}

interface HeaderObject {
  readonly required?: boolean;
  readonly schema?: Schema;
}

export interface Operation extends OperationObject {
  readonly method: string;
  readonly path: string;
}

/** A generated request. Its references are resolved when it is sent. */
export interface GeneratedRequest {
  readonly caller: Caller;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;
  /** For operations with a body: a value that is sent as JSON, or text that is sent unchanged; absent for none. */
  readonly body?: { readonly json: unknown } | { readonly text: string };
}

export function operationsOf(document: Document): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...(withoutReferences(operation, document) as OperationObject),
      method: method.toUpperCase(),
      path,
    })),
  );
}

/** Replaces references to shared parameters, headers and answers. References to schemas stay. */
function withoutReferences(value: unknown, document: object): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withoutReferences(item, document));
  if ('$ref' in value && typeof value.$ref === 'string' && !value.$ref.startsWith('#/components/schemas/')) {
    const parts = value.$ref.split('/').slice(1);
    const target = parts.reduce<unknown>((inner, part) => (inner as Record<string, unknown>)[part], document);
    return withoutReferences(target, document);
  }
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withoutReferences(inner, document)]));
}

export function bodySchemaOf({ requestBody }: Operation): Schema | undefined {
  return requestBody?.content['application/json']?.schema;
}

const reference = (kind: string) => fc.nat({ max: 50 }).map((pick) => new Reference(kind, pick));
/** Values for parameters and properties that refer to existing objects, by name. */
const KNOWN: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  ...Object.fromEntries(
    [
      'apiKeyId',
      'serviceAccountId',
      'groupId',
      'toolApprovalId',
      'userId',
      'sessionId',
      'artifactId',
      'connectedAppId',
      'mcpConnectionId',
      'webhookId',
      'manifestClient',
      'deliveryId',
      'messageId',
      'eventName',
      'propertyName',
      'broadcast_guid',
      'channelGuid',
      'serverUrl',
    ].map((kind) => [kind, reference(kind)]),
  ),
  eventPropertyName: fc.constantFrom('amount', 'day', 'absent'),
  properties: fc.dictionary(
    fc.constantFrom('amount', 'day', 'plan', 'svc_language', 'absent'),
    fc.oneof(fc.constantFrom<unknown>(1, '1', true, 'free', '2026-03-01', null), fc.string({ maxLength: 5 })),
    { maxKeys: 2, noNullPrototype: true },
  ),
  mcpServers: fc.array(reference('mcpConnectionId'), { maxLength: 2 }),
  // A group that settings name cannot be deleted, and approvers alone decide.
  groupIds: fc.constant([]),
  approverGroupIds: fc.constant([]),
  utk: fc.constant('visitor'),
  // Almost never the stored value.
  expectedUpdatedAt: fc.constantFrom(undefined, undefined, '2026-03-01T00:00:00.000Z'),
  organization: reference('organizationId'),
  cursor: fc.nat({ max: 50 }).map(String),
  limit: fc.integer({ min: 1, max: 500 }),
};
/** Names with another meaning in one operation than in the others. */
const KNOWN_IN: Readonly<Record<string, typeof KNOWN>> = {
  acceptOrganizationInvitation: { token: reference('token') },
  previewOrganizationInvitation: { token: reference('token') },
  updateEventProperty: { name: reference('propertyName') },
  appendSessionEvents: {
    eventData: fc.constantFrom<unknown>({ type: 'text' }, { type: 'other', more: [1] }, { type: '' }),
  },
  listSessions: { limit: fc.integer({ min: 1, max: 100 }), cursor: fc.constant('unknown') },
  publishOperationManifest: {
    client: reference('manifestClient'),
    operations: fc.constantFrom({ typename: '{ __typename }' }, { viewer: '{ viewer { id } }' }, { no: '{ no }' }),
  },
  retireOperationManifest: { client: reference('manifestClient'), version: fc.constant('1') },
  // The type of the connection decides which fields are allowed.
  updateMcpConnection: Object.fromEntries(
    ['command', 'args', 'serverUrl', 'scope', 'clientId', 'clientSecret'].map((name) => [name, fc.constant(undefined)]),
  ),
  // The tools of the MCP server of the workspace, and one that it lacks.
  callMcpTool: { name: fc.constantFrom('now', 'add', 'absent') },
  acceptMcpToolDefinitions: { names: fc.subarray(['now', 'add', 'absent'], { minLength: 1 }) },
  createWebhook: { url: fc.constantFrom('https://example.com/hooks', 'http://127.0.0.1:9/hooks') },
  updateWebhook: { url: fc.constantFrom(undefined, 'https://example.com/other') },
  replayWebhook: { after: fc.nat({ max: 3 }) },
  readUsageReport: {
    from: fc.constantFrom('2026-01-01', '2026-01-02'),
    until: fc.constantFrom('2026-01-03', '2026-12-31'),
    creatorIds: fc.constantFrom(undefined, []),
  },
  readOrganizationKeyPolicy: { organizationId: reference('organizationId') },
  updateOrganizationKeyPolicy: { organizationId: reference('organizationId') },
  readOrganizationRetention: { organizationId: reference('organizationId') },
  updateOrganizationRetention: { organizationId: reference('organizationId') },
  exportOrganization: { organizationId: reference('organizationId') },
  exportOrganizationMember: { organizationId: reference('organizationId') },
  deleteOrganizationMemberData: { organizationId: reference('organizationId'), account: fc.constant(undefined) },
  exportEventOccurrences: { name: reference('eventName') },
  redactSessionEvents: { text: fc.constantFrom(undefined, 'never said'), eventIds: fc.constantFrom(undefined, [1]) },
  listBroadcasts: { after: reference('broadcast_guid') },
  searchEventDefinitions: { after: reference('listCursor') },
  searchEventOccurrences: {
    eventType: reference('eventName'),
    objectType: fc.constantFrom('contact', 'COMPANY'),
    properties: fc.constantFrom('amount', 'absent'),
    sort: fc.constantFrom('ASCENDING', 'DESCENDING'),
  },
};

export function requestsOf(operation: Operation, document: Document): fc.Arbitrary<GeneratedRequest> {
  const known = { ...KNOWN, ...KNOWN_IN[operation.operationId] };
  const { valid, broken, named } = createArbitraries(document.components.schemas, known);
  const of = (place: string) => (operation.parameters ?? []).filter((parameter) => parameter.in === place);
  const one = ({ name, schema }: { name: string; schema: Schema }, badly: boolean) =>
    badly ? broken(schema, 1) : named(name, schema, 2);
  const inPath = (badly: boolean) =>
    fc.record(Object.fromEntries(of('path').map((parameter) => [parameter.name, one(parameter, badly)])));
  const inQuery = (badly: boolean) =>
    fc
      .record(Object.fromEntries(of('query').map((parameter) => [parameter.name, one(parameter, badly)])), {
        requiredKeys: of('query').flatMap(({ name, required }) => (required ? [name] : [])),
      })
      .chain((query) =>
        badly
          ? fc.constantFrom(query, { ...query, unknown: '1' }, { ...query, __proto__: '1' })
          : fc.constant({ ...query }),
      );
  const schema = bodySchemaOf(operation);
  const json = (value: fc.Arbitrary<unknown>) => value.map((made) => ({ json: made }));
  const bodies = {
    good: schema ? json(valid(schema)) : fc.constant(undefined),
    bad: schema ? json(broken(schema)) : fc.constant(undefined),
    text: fc.constantFrom(...MALFORMED.map((text) => ({ text }))),
  };
  const request = (
    caller: fc.Arbitrary<Caller>,
    path: ReturnType<typeof inPath>,
    query: ReturnType<typeof inQuery>,
    headers: fc.Arbitrary<Record<string, string>>,
    body: fc.Arbitrary<GeneratedRequest['body']>,
  ): fc.Arbitrary<GeneratedRequest> => fc.record({ caller, parameters: path, query, headers, body });
  const admin = fc.constantFrom<Caller>('admin', 'admin', 'admin', 'member', 'unbound');
  const [path, query, plain] = [inPath(false), inQuery(false), fc.constant({})];
  return fc.oneof(
    { weight: 8, arbitrary: request(admin, path, query, plain, bodies.good) },
    { weight: schema ? 8 : 0, arbitrary: request(admin, path, query, plain, bodies.bad) },
    { weight: schema ? 1 : 0, arbitrary: request(admin, path, query, plain, bodies.text) },
    { weight: of('path').length > 0 ? 3 : 0, arbitrary: request(admin, inPath(true), query, plain, bodies.good) },
    { weight: of('query').length > 0 ? 4 : 1, arbitrary: request(admin, path, inQuery(true), plain, bodies.good) },
    { weight: 2, arbitrary: request(admin, path, query, HEADERS, bodies.good) },
    { weight: 3, arbitrary: request(fc.constantFrom(...STRANGERS), path, query, plain, bodies.good) },
  );
}

const STRANGERS: readonly Caller[] = ['member', 'scopeless', 'foreign', 'revoked', 'unknown', 'none'];

const MALFORMED = ['', ' ', '{', '{"a":1,}', 'null', '[]', '"text"', '1', '{}{}', '\ufeff{}', '['.repeat(5000)];

const HEADERS: fc.Arbitrary<Record<string, string>> = fc.oneof(
  fc.constantFrom<Record<string, string>>(
    { 'Content-Type': 'text/plain' },
    { 'Content-Type': 'application/x-www-form-urlencoded' },
    { 'Content-Type': 'application/json; charset=utf-16' },
    { 'Content-Type': 'application/merge-patch+json' },
    { 'Content-Type': '' },
    { 'Content-Encoding': 'gzip' },
    { Accept: 'text/html' },
    { Accept: 'application/xml;q=0.9, */*;q=0' },
    { 'X-Organization-Id': 'not-an-id' },
    { 'X-Organization-Id': '00000000-0000-0000-0000-000000000000' },
    { 'Idempotency-Key': '' },
    { 'Idempotency-Key': 'x'.repeat(256) },
    { 'Idempotency-Key': 'the same for all requests' },
    { 'Content-Length': '99999999' },
    { 'X-HTTP-Method-Override': 'DELETE' },
    { 'If-Match': '"x"', 'If-None-Match': '*' },
    { Range: 'bytes=0-1' },
    { Expect: '100-continue' },
  ),
  fc.constantFrom(...HOSTILE_TEXT.filter((text) => /^[\x20-\x7e]{1,300}$/.test(text))).map((text) => ({
    'X-Request-Id': text,
    'X-Organization-Id': text,
    'Idempotency-Key': text,
  })),
);
