import { randomUUID } from 'node:crypto';
import {
  type GraphQLField,
  getNamedType,
  isLeafType,
  isObjectType,
  isRequiredArgument,
  type GraphQLNamedType,
  isEnumType,
} from 'graphql';
import { beforeAll, expect, test } from 'vitest';
import { accessOf, refusalOf } from '../../src/core/graphql/refusable.ts';
import { SCOPES, type Scope } from '../../src/core/access.ts';
import { schema } from '../../src/gateway/schema.ts';
import { caseFaults } from '../support/completeness.ts';
import { type TestGateway, useTestGateway } from '../support/fixtures/gateway.ts';
import { createSession, mutate } from '../support/fixtures/sessions.ts';
import { sampled } from '../support/sample.ts';

/**
 * A refused field is null with an error at its path, and its siblings are answered. The fields are found in the schema,
 * so new ones are tested too.
 */

const gateway = useTestGateway();
let admin: Awaited<ReturnType<TestGateway['createKey']>>;
/** A key of an organization without a subscription. */
let unsubscribedKey: string;
/** An unbound key of the user of `admin`, which acts in another organization. */
let elsewhere: { key: string; headers: Record<string, string> };
let sessionId: string;
let artifactId: string;
const keys = new Map<string, string>();

beforeAll(async () => {
  admin = await gateway.createKey();
  sessionId = await createSession(gateway, admin.key, { visibility: 'PUBLIC' });
  const recorded = await mutate<{ artifact: { databaseId: string } }>(
    gateway,
    admin.key,
    'recordArtifact',
    { sessionId, type: 'PULL_REQUEST' },
    'artifact { databaseId }',
  );
  artifactId = recorded.artifact.databaseId;
  await gateway.rest('POST', '/events/2026-03/send', { key: admin.key, body: { eventName: 'nothing' } });
  const { sql } = gateway.dependencies;
  const unsubscribed = await gateway.createKey();
  await sql.query(`update organization set subscriptions = '{}' where id = $1`, [unsubscribed.organizationId]);
  unsubscribedKey = unsubscribed.key;
  const other = await gateway.createKey({ email: admin.email });
  await sql.query('update api_key set organization_id = null where id = $1', [other.keyId]);
  elsewhere = { key: other.key, headers: { 'X-Organization-Id': other.organization } };
});

const inAdminsOrganization = (selection: string) =>
  `{ node(id: "${btoa(`Organization:${admin.organizationId}`)}") { __typename ... on Organization { ${selection} } } }`;

/** For each type: the query that selects a field of one of its objects and works for callers who lack only what that field needs. */
const QUERIES: Readonly<Record<string, (selection: string) => string>> = {
  Query: (selection) => `{ __typename ${selection} viewer { __typename } }`,
  Viewer: (selection) => `{ viewer { __typename ${selection} } }`,
  Organization: (selection) => `{ viewer { organization { __typename ${selection} } } }`,
  OrganizationMember: (selection) =>
    `{ viewer { organization { members(first: 1) { nodes { __typename ${selection} } } } } }`,
  AuditEntry: (selection) => `{ viewer { organization { auditLog(first: 1) { nodes { __typename ${selection} } } } } }`,
  EventViolation: (selection) =>
    `{ viewer { organization { eventViolations(first: 1) { nodes { __typename ${selection} } } } } }`,
  // Whoever records a session gets it in the answer, without a scope for reading.
  Session: (selection) =>
    `mutation { createSession(input: { title: "S" }) { ... on CreateSessionPayload { session { __typename ${selection} } } } }`,
  Project: (selection) =>
    `mutation { createSession(input: { title: "S", project: { id: "${randomUUID()}", name: "P" } }) { ... on CreateSessionPayload { session { project { __typename ${selection} } } } } }`,
  User: (selection) => `{ viewer { user { __typename ${selection} } } }`,
  ServiceAccount: (selection) =>
    `mutation { createServiceAccount(input: { name: "${randomUUID()}" }) { ... on CreateServiceAccountPayload { serviceAccount { __typename ${selection} } } } }`,
  McpServer: (selection) =>
    `mutation { createMcpServer(input: { stdio: { name: "${randomUUID()}", command: "mcp" } }) { ... on CreateMcpServerPayload { mcpServer { __typename ${selection} } } } }`,
  CodeRepository: (selection) =>
    `mutation { recordPullRequest(input: { artifactId: "${artifactId}", ${PULL_REQUEST} }) { ... on RecordPullRequestPayload { pullRequest { codeRepository { __typename ${selection} } } } } }`,
  Artifact: (selection) =>
    `mutation { recordArtifact(input: { sessionId: "${sessionId}", type: PLAN }) { ... on RecordArtifactPayload { artifact { __typename ${selection} } } } }`,
  PullRequest: (selection) =>
    `mutation { recordPullRequest(input: { artifactId: "${artifactId}", ${PULL_REQUEST} }) { ... on RecordPullRequestPayload { pullRequest { __typename ${selection} } } } }`,
};

const PULL_REQUEST = `url: "https://example.com/1", title: "T", status: OPEN, sourceBranch: "s", baseBranch: "b", headSha: "abc", agent: "a",
  diff: { additions: 1, deletions: 1, data: "" }, author: { login: "l", avatarUrl: "https://example.com/a.png" },
  codeRepository: { id: "7d444840-9dc0-11d1-b245-5ffdce74fad2", name: "n", owner: "o", baseBranch: "b", provider: "p" }`;

interface Refused {
  readonly coordinate: string;
  readonly type: string;
  readonly field: GraphQLField<unknown, unknown>;
}

const REFUSABLE: readonly Refused[] = Object.values(schema.getTypeMap())
  .filter(isObjectType)
  .flatMap((type) =>
    Object.values(type.getFields())
      .filter((field) => refusalOf(field))
      .map((field) => ({ coordinate: `${type.name}.${field.name}`, type: type.name, field })),
  );

async function keyWithout(scopes: readonly Scope[]): Promise<string> {
  const name = scopes.join();
  const known = keys.get(name);
  if (known !== undefined) return known;
  const { key } = await gateway.createKey({
    organization: admin.organization,
    email: admin.email,
    scopes: SCOPES.filter((scope) => !scopes.includes(scope)),
  });
  keys.set(name, key);
  return key;
}

async function member(): Promise<string> {
  const known = keys.get('member');
  if (known !== undefined) return known;
  const { key } = await gateway.createKey({ organization: admin.organization, role: 'member' });
  keys.set('member', key);
  return key;
}

interface Caller {
  readonly lacks: string;
  readonly key: string;
  readonly headers?: Record<string, string>;
  readonly queryOf?: (selection: string) => string;
}

/** For each thing that the field needs: a caller who lacks only that. */
async function callersOf({ field }: Refused): Promise<Caller[]> {
  const { scopes = [], anyScopeOf, role, subscription } = accessOf(field) ?? {};
  const lacking: Caller[] = [];
  for (const scope of scopes) lacking.push({ lacks: scope, key: await keyWithout([scope]) });
  if (anyScopeOf) lacking.push({ lacks: anyScopeOf.name, key: await keyWithout(anyScopeOf.scopes) });
  if (role) lacking.push({ lacks: role, key: await member() });
  if (subscription) lacking.push({ lacks: 'subscription', key: unsubscribedKey });
  if (refusalOf(field)?.actingOrganization === true)
    lacking.push({ lacks: 'acting organization', ...elsewhere, queryOf: inAdminsOrganization });
  return lacking;
}

function literalOf(type: GraphQLNamedType): string {
  if (isEnumType(type)) return type.getValues()[0]?.name ?? '';
  return type.name === 'Date' ? '"2026-01-01"' : '"x"';
}

function selectionOf(field: GraphQLField<unknown, unknown>): string {
  const given = field.args
    .filter(isRequiredArgument)
    .map(({ name, type }) => `${name}: ${literalOf(getNamedType(type))}`);
  const call = given.length > 0 ? `${field.name}(${given.join(', ')})` : field.name;
  return isLeafType(getNamedType(field.type)) ? call : `${call} { __typename }`;
}

const at = (data: unknown, path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>((value, step) => (value as Record<string, unknown> | null)?.[step], data);

test('every type with a field that can be refused has a query here', () => {
  const types = REFUSABLE.map(({ type }) => type);
  expect(caseFaults('QUERIES in test/across/refused-fields.test.ts', Object.keys(QUERIES), types)).toBe('');
});

sampled(test, 20).each(REFUSABLE.map((refused) => [refused.coordinate, refused] as const))('%s', async (_, refused) => {
  const { type, field } = refused;
  const callers = await callersOf(refused);
  expect(callers.length).toBeGreaterThan(0);
  for (const { lacks, key, headers, queryOf = QUERIES[type] } of callers) {
    const query = queryOf?.(selectionOf(field)) ?? '';
    const { data, errors } = await gateway.graphql<Record<string, unknown>>(key, query, undefined, headers);
    const [error] = errors ?? [];
    const path = (error as { path?: (string | number)[] } | undefined)?.path ?? [];
    const parent = at(data, path.slice(0, -1)) as Record<string, unknown> | undefined;
    expect({
      lacks,
      errors: errors?.length,
      code: error?.extensions?.['code'],
      path: path.at(-1),
      parent: parent?.['__typename'],
      value: parent?.[field.name],
      sibling: type === 'Query' ? parent?.['viewer'] : undefined,
    }).toEqual({
      lacks,
      errors: 1,
      code: lacks === 'acting organization' ? 'INVALID_INPUT' : 'FORBIDDEN',
      path: field.name,
      parent: type,
      value: null,
      sibling: type === 'Query' ? { __typename: 'Viewer' } : undefined,
    });
  }
});
