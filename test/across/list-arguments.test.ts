import { randomUUID } from 'node:crypto';
import {
  type GraphQLInputType,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isObjectType,
} from 'graphql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { indexSessions } from '../../src/domains/session-events/search-index.ts';
import { schema } from '../../src/gateway/schema.ts';
import { caseFaults } from '../support/completeness.ts';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import { invite } from '../support/fixtures/invitations.ts';
import { append, createSession, eventsOf, mutate, pullRequestInput } from '../support/fixtures/sessions.ts';
import { callWebhooks, recordWebhook } from '../support/fixtures/webhooks.ts';

/** Reads every list with each of its conditions and orders. They are found in the schema, so new ones are tested without a change here. */

const LIST_LENGTH = 3;

let gateway: TestGateway;
let key: string;
let sessionId: string;
let webhookId: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  const admin = await gateway.createKey();
  ({ key } = admin);
  for (let index = 0; index < LIST_LENGTH; index += 1) {
    // The caller can leave, because there is another administrator.
    await gateway.createKey({ organization: admin.organization, role: index === 0 ? 'admin' : 'member' });
    sessionId = await createSession(gateway, key, {
      title: `Session ${index}`,
      project: { id: randomUUID(), name: `Project a ${index}` },
      agent: `agent ${index}`,
    });
    await mutate(gateway, key, 'createMcpServer', { stdio: { name: `server ${index}`, command: 'true' } });
    await mutate(gateway, key, 'createEventDefinition', { label: `Event ${index}` });
    await mutate(gateway, key, 'registerObjectIdentifiers', {
      objectType: 'CONTACT',
      propertyName: 'badge',
      identifiers: [{ value: String(index), objectId: '1' }],
    });
    await mutate(gateway, key, 'sendEventOccurrences', {
      inputs: [{ eventName: 'event_0', properties: {}, email: 'a@example.com' }],
    });
    await gateway.rest('POST', '/events/2026-03/send', {
      key,
      body: { eventName: 'event_0', email: 'a@example.com', properties: { [`unknown_${index}`]: 1 } },
    });
    await invite(gateway, key, `guest-${index}@example.com`);
    await invite(gateway, (await gateway.createKey()).key, admin.email);
    await requestDeletion(admin.userId);
    ({ webhookId } = await recordWebhook(gateway, key));
  }
  for (let pings = 1; pings < LIST_LENGTH; pings += 1) await callWebhooks(gateway, key, 'POST', `/${webhookId}/ping`);
  await append(
    gateway,
    key,
    sessionId,
    eventsOf(LIST_LENGTH).map((event, index) => ({ ...event, eventType: `event a ${index}` })),
  );
  while ((await indexSessions(gateway.dependencies.database.em)) > 0);
  await recordResults();
  const { keyId } = await gateway.createKey({ organization: admin.organization });
  await mutate(gateway, key, 'revokeApiKey', { apiKeyId: keyId });
  // Other organizations of the caller, which an unbound key lists.
  await gateway.createKey({ email: admin.email });
  await gateway.createKey({ email: admin.email });
  await gateway.dependencies.sql.query('update api_key set organization_id = null where id = $1', [admin.keyId]);
  headers = { 'X-Organization-Id': admin.organization };
});
let headers: Record<string, string> = {};
let artifactId: string;

/** Requests the deletion of the account, and cancels it. */
async function requestDeletion(userId: string): Promise<void> {
  const payload = 'deletionJob { id }';
  const { deletionJob } = await mutate<{ deletionJob: { id: string } }>(
    gateway,
    key,
    'deleteUser',
    { userId },
    payload,
  );
  await mutate(gateway, key, 'cancelUserDeletion', { deletionJobId: deletionJob.id });
}

/** Records artifacts in the session, and pull requests in the first one. */
async function recordResults(): Promise<void> {
  const ids: string[] = [];
  for (const type of ['PULL_REQUEST', 'PLAN', 'FILE']) {
    const { artifact } = await mutate<{ artifact: { id: string } }>(
      gateway,
      key,
      'recordArtifact',
      { sessionId, type },
      'artifact { id }',
    );
    ids.push(artifact.id);
  }
  artifactId = ids[0] ?? '';
  for (const [index, status] of ['OPEN', 'MERGED', 'CLOSED'].entries())
    await mutate(gateway, key, 'recordPullRequest', {
      ...pullRequestInput(artifactId, index),
      status,
      isDraft: index === 0,
    });
}

afterAll(() => gateway.close());

/** For each type with lists: the query that selects a list of one of its objects. */
const QUERIES: Readonly<Record<string, (list: string) => string>> = {
  Query: (list) => `{ found: ${list} }`,
  Viewer: (list) => `{ viewer { found: ${list} } }`,
  Organization: (list) => `{ viewer { organization { found: ${list} } } }`,
  EventDefinition: (list) => `{ eventDefinition(name: "event_0") { found: ${list} } }`,
  Session: (list) => `{ session(id: "${sessionId}") { found: ${list} } }`,
  Webhook: (list) => `{ webhook(id: "${webhookId}") { found: ${list} } }`,
  Artifact: (list) => `{ node(id: "${artifactId}") { ... on Artifact { found: ${list} } } }`,
};

const LISTS = Object.values(schema.getTypeMap())
  .filter(isObjectType)
  .flatMap((type) =>
    Object.values(type.getFields())
      .filter((field) => getNamedType(field.type).name.endsWith('Connection'))
      .map((field) => ({ coordinate: `${type.name}.${field.name}`, type: type.name, field })),
  );

/** Values of which not all select the same part of a list. */
const SCALARS: Readonly<Record<string, readonly string[]>> = {
  String: ['"a"', '"no such text"'],
  ID: [`"${randomUUID()}"`],
  UUID: [`"${randomUUID()}"`],
  Boolean: ['true', 'false'],
  Int: ['1'],
  DateTime: ['"2000-01-01T00:00:00.000Z"', '"2999-01-01T00:00:00.000Z"'],
  EventPropertyCondition: ['{ name: "plan", value: "no such text" }'],
};

/** Lists of conditions all of which must hold: an empty one is no condition. Of other lists, one value must hold. */
const ALL_OF: ReadonlySet<string> = new Set(['EventPropertyCondition']);

function literalsOf(type: GraphQLInputType): readonly string[] {
  const nullable = getNullableType(type);
  if (isListType(nullable)) return literalsOf(nullable.ofType).map((literal) => `[${literal}]`);
  if (isEnumType(nullable)) return nullable.getValues().map(({ name }) => name);
  const literals = SCALARS[String(nullable)];
  if (!literals)
    throw new Error(`add values of the type ${String(nullable)} to SCALARS in test/across/list-arguments.test.ts`);
  return literals;
}

const fieldsOf = (type: GraphQLInputType | undefined) => {
  const named = type && getNullableType(type);
  return isInputObjectType(named) ? Object.values(named.getFields()) : [];
};

interface Page {
  readonly edges: readonly { readonly cursor: string }[];
  readonly totalCount: number;
}

/** The required arguments of lists. */
const REQUIRED: Readonly<Record<string, () => string>> = {
  'Query.sessionEvents': () => `sessionId: "${sessionId}"`,
  'Organization.sessionSearch': () => 'text: "session"',
};

async function read({ coordinate, type, field }: (typeof LISTS)[number], args: string): Promise<Page> {
  const list = `${field.name}(${[REQUIRED[coordinate]?.(), args].filter(Boolean).join(', ')}) { totalCount edges { cursor } }`;
  const { data, errors } = await gateway.graphql<Record<string, unknown>>(
    key,
    QUERIES[type]?.(list) ?? '',
    undefined,
    headers,
  );
  expect([args, errors]).toEqual([args, undefined]);
  const find = (value: unknown): Page => {
    const object = value as Record<string, unknown>;
    return (object['found'] as Page | undefined) ?? find(Object.values(object)[0]);
  };
  return find(data);
}

test('every type that has a list has a query here', () => {
  const types = LISTS.map(({ type }) => type);
  expect(caseFaults('QUERIES in test/across/list-arguments.test.ts', Object.keys(QUERIES), types)).toBe('');
});

test.each(LISTS.map((list) => [list.coordinate, list] as const))('%s', async (_, list) => {
  const argument = (name: string) => list.field.args.find((one) => one.name === name)?.type;
  const all = await read(list, `first: ${LIST_LENGTH}`);
  expect(all.edges.length).toBe(LIST_LENGTH);
  // The cursors of an empty page are null, for which some clients send empty text.
  expect(await read(list, `first: ${LIST_LENGTH}, after: "", before: ""`)).toEqual(all);
  expect(await read(list, 'last: 2, before: ""')).toEqual(await read(list, 'last: 2'));
  for (const condition of fieldsOf(argument('filter'))) {
    const literals = literalsOf(condition.type);
    const found = new Set<number>([all.totalCount]);
    for (const value of [...literals, 'null', ...(isListType(getNullableType(condition.type)) ? ['[]'] : [])]) {
      const { edges, totalCount } = await read(list, `first: 100, filter: { ${condition.name}: ${value} }`);
      const ofNone = ALL_OF.has(getNamedType(condition.type).name) ? all.totalCount : 0;
      const whole = { '[]': ofNone, null: all.totalCount }[value] ?? totalCount;
      expect([condition.name, value, edges.length, totalCount]).toEqual([condition.name, value, totalCount, whole]);
      if (literals.includes(value)) found.add(totalCount);
    }
    // Some value selects another number of objects than no condition.
    const fault = found.size > 1 ? undefined : `${condition.name} selects all objects: queries.ts lacks its condition`;
    expect(fault).toBeUndefined();
  }
  const field = fieldsOf(argument('orderBy')).find(({ name }) => name === 'field');
  const order = field && getNamedType(field.type);
  for (const by of isEnumType(order) ? order.getValues().map(({ name }) => name) : []) {
    for (const direction of ['ASC', 'DESC']) {
      const orderBy = `orderBy: { field: ${by}, direction: ${direction} }`;
      const whole = (await read(list, `first: 100, ${orderBy}`)).edges.map(({ cursor }) => cursor);
      const walked: string[] = [];
      for (let after = ''; walked.length < whole.length; after = `, after: "${walked.at(-1)}"`)
        walked.push(...(await read(list, `first: 1, ${orderBy}${after}`)).edges.map(({ cursor }) => cursor));
      expect([by, direction, walked]).toEqual([by, direction, whole]);
      const back = (await read(list, `last: 2, ${orderBy}`)).edges.map(({ cursor }) => cursor);
      expect([by, direction, back]).toEqual([by, direction, whole.slice(-2)]);
    }
  }
});
