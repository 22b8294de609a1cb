import { randomUUID } from 'node:crypto';
import { isInterfaceType } from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { takesBody } from '../../src/core/http/route.ts';
import { routes } from '../../src/gateway/routes.ts';
import { schema } from '../../src/gateway/schema.ts';
import { caseFaults } from '../support/completeness.ts';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import {
  BESIDE_PATHS,
  MUTATIONS,
  PARAMETERS,
  QUERIES,
  type References,
  nodeIds,
} from '../support/fixtures/isolation-cases.ts';
import { invite } from '../support/fixtures/invitations.ts';
import { type RecordedChange, recordChanges } from '../support/fixtures/recorded-changes.ts';
import { send } from '../support/fixtures/second-gateway.ts';
import { recordWebhook } from '../support/fixtures/webhooks.ts';
import { recordSession } from '../support/fixtures/workspace.ts';

let gateway: TestGateway;
let takeChanges: () => Promise<RecordedChange[]>;
/** Who tries to get at whose objects: those of another organization, or the private ones of another member. */
let attacks: readonly { who: string; key: string | undefined; victim: References }[];
let victim: References;
let absent: References;
let personal: References;
let ownerKey: string;
/** The e-mail addresses of the first attackers, in their order, and of the owner. */
let emails: readonly string[];
let ownerEmail: string;

const gql = async (key: string, query: string, variables: object = {}) => {
  const { data, errors } = await gateway.graphql<Record<string, never>>(key, query, { ...variables });
  if (!data) throw new Error(JSON.stringify(errors));
  return data as unknown;
};

beforeAll(async () => {
  gateway = await startTestGateway();
  const owner = await gateway.createKey();
  ownerKey = owner.key;
  ownerEmail = owner.email;
  const member = await gateway.createKey({ organization: owner.organization });
  const thief = await gateway.createKey();
  const accomplice = await gateway.createKey({ organization: thief.organization });
  const unbound = await gateway.createKey({ organization: thief.organization, role: 'admin' });
  await gateway.dependencies.sql.query('update api_key set organization_id = null where id = $1', [unbound.keyId]);
  const scopeless = await gateway.createKey({ organization: thief.organization, scopes: [] });
  const revoked = await gateway.createKey({ organization: thief.organization });
  await gateway.dependencies.sql.query('update api_key set revoked_at = now() where id = $1', [revoked.keyId]);
  const definition = await gateway.rest<{ id: string; fullyQualifiedName: string }>(
    'POST',
    '/events/2026-03/event-definitions',
    {
      key: owner.key,
      body: {
        label: 'Secret plan',
        name: 'secret_plan',
        propertyDefinitions: [{ label: 'Secret amount', name: 'secret_amount', type: 'string' }],
      },
    },
  );
  const shared = await recordSecret(owner.key, 'PUBLIC');
  const own = await recordSecret(owner.key, 'PRIVATE');
  const connectionId = await createConnection(owner.key, 'shared');
  await gateway.rest('POST', '/events/2026-03/send', {
    key: owner.key,
    body: { eventName: 'secret_plan', properties: {}, email: 'secret@example.com' },
  });
  const [occurrence] = await gateway.dependencies.sql.query<{ id: string; ms: string }>(
    `select id, (extract(epoch from occurred_at) * 1000)::bigint::text as ms from event_occurrence`,
    [],
  );
  await gateway.graphql(
    owner.key,
    'mutation { registerObjectIdentifiers(input: { objectType: "CONTACT", propertyName: "badge", identifiers: [{ value: "7", objectId: "1" }] }) { __typename } }',
  );
  await gateway.rest('POST', '/events/2026-03/send', { key: owner.key, body: { eventName: 'secret_nothing' } });
  const [violation] = await gateway.dependencies.sql.query<{ id: string }>('select id from event_violation', []);
  const [identifier] = await gateway.dependencies.sql.query<{ id: string }>('select id from object_identifier', []);
  const invitation = await invite(gateway, owner.key, 'secret-guest@example.com');
  const [entry] = await gateway.dependencies.sql.query<{ id: string; ms: string }>(
    'select id, (extract(epoch from occurred_at) * 1000)::bigint::text as ms from audit_entry where organization_id = $1 limit 1',
    [owner.organizationId],
  );
  const feed = await gateway.rest<{ items: { id: number }[] }>('GET', '/v1/feed?types=session.created', {
    key: owner.key,
  });
  const { webhookId, webhookDeliveryId } = await recordWebhook(gateway, owner.key);
  const leaver = await gateway.createKey({ organization: owner.organization });
  const deletion = await gateway.rest<{ deletionJobId: string }>('DELETE', `/v1/users/${leaver.userId}`, {
    key: leaver.key,
    body: {},
  });
  const channels = await gateway.rest<{ channelGuid: string }[]>(
    'GET',
    '/broadcast/v1/channels/setting/publish/current',
    { key: owner.key },
  );
  const broadcast = await gateway.rest<{ broadcastGuid: string }>('POST', '/broadcast/v1/broadcasts', {
    key: owner.key,
    body: { channelGuid: channels.body[0]?.channelGuid, content: { body: 'Secret message' } },
  });
  victim = {
    broadcastGuid: broadcast.body.broadcastGuid,
    channelGuid: channels.body[0]?.channelGuid ?? '',
    occurrenceKey: `${definition.body.id}:${occurrence?.ms}:${occurrence?.id}`,
    auditEntryKey: `${entry?.ms}:${entry?.id}`,
    feedEntryKey: `${owner.organizationId}:${feed.body.items[0]?.id}`,
    mcpConnectionId: connectionId,
    deletionJobId: deletion.body.deletionJobId,
    organizationId: owner.organizationId,
    userId: member.userId,
    apiKeyId: member.keyId,
    invitationId: invitation.id,
    ...shared,
    eventNames: ['secret_plan', definition.body.fullyQualifiedName, definition.body.id],
    property: 'secret_amount',
    identifierId: identifier?.id ?? '',
    violationId: violation?.id ?? '',
    webhookId,
    webhookDeliveryId,
  };
  absent = {
    broadcastGuid: randomUUID(),
    channelGuid: randomUUID(),
    occurrenceKey: `${randomUUID()}:${occurrence?.ms}:${randomUUID()}`,
    auditEntryKey: `${entry?.ms}:${randomUUID()}`,
    feedEntryKey: `${owner.organizationId}:999999`,
    mcpConnectionId: randomUUID(),
    deletionJobId: randomUUID(),
    organizationId: randomUUID(),
    userId: randomUUID(),
    apiKeyId: randomUUID(),
    invitationId: randomUUID(),
    sessionId: randomUUID(),
    artifactId: randomUUID(),
    pullRequestId: randomUUID(),
    projectId: randomUUID(),
    repositoryId: randomUUID(),
    eventNames: ['absent_plan', definition.body.fullyQualifiedName.replace('secret_plan', 'absent_plan'), randomUUID()],
    property: 'absent_amount',
    identifierId: randomUUID(),
    violationId: randomUUID(),
    webhookId: randomUUID(),
    webhookDeliveryId: randomUUID(),
  };
  // For a member, the private objects of the owner do not exist; the other objects of the organization are visible.
  const { deletionJobId } = victim;
  const mcpConnectionId = await createConnection(owner.key, 'personal');
  // Projects belong to the organization, not to a user.
  personal = {
    ...absent,
    ...own,
    projectId: absent.projectId,
    mcpConnectionId,
    deletionJobId,
    apiKeyId: owner.keyId,
    invitationId: invitation.id,
  };
  attacks = [
    { who: 'an admin elsewhere', key: thief.key, victim },
    { who: 'a member elsewhere', key: accomplice.key, victim },
    { who: 'an admin elsewhere whose key is bound to no organization', key: unbound.key, victim },
    { who: 'a key elsewhere without scopes', key: scopeless.key, victim },
    { who: 'a revoked key', key: revoked.key, victim },
    { who: 'nobody', key: undefined, victim },
    { who: 'a member of the same organization', key: member.key, victim: personal },
  ];
  emails = [thief.email, accomplice.email, unbound.email];
  // Refused requests may write only `lastUsedAt`. So each key is used once before, and the clock stands still.
  gateway.setClock(new Date());
  for (const { key } of attacks)
    await gateway.fetch('/graphql?query={__typename}', { headers: { Authorization: `Bearer ${key}` } });
  takeChanges = await recordChanges(gateway);
});
afterAll(() => gateway.close());

async function recordSecret(key: string, visibility: string) {
  const { messageId: _, ...ids } = await recordSession(gateway, key, { title: 'Secret session', visibility });
  return ids;
}

async function createConnection(key: string, visibility: string): Promise<string> {
  const body = { type: 'stdio', name: 'Secret server', command: 'secret-command', visibility };
  const answer = await gateway.rest<{ connection: { id: string } }>('POST', '/v1/mcp-connections', { key, body });
  return answer.body.connection.id;
}

/** Removes the ids of a request from its answer, so that answers about different objects can be compared. */
function anonymous(text: string, { eventNames, property, ...ids }: References): string {
  const values = [...eventNames, property, ...Object.values(ids)].toSorted((a, b) => b.length - a.length);
  return values.reduce((rest, value) => rest.replaceAll(value, '…').replaceAll(value.toUpperCase(), '…'), text);
}

/** Whether the change is only the audit or the count of a refused attempt, which every refusal may write. */
function isRefusal({ table, before, after }: RecordedChange): boolean {
  return (
    table === 'refused_attempt' ||
    table === 'event_violation' ||
    (table === 'audit_entry' && before === null && !after?.includes('"refusal": null'))
  );
}

/**
 * Sends the same requests for foreign and for missing objects. Returns every change, every difference between the
 * answers, and every answer that is no refusal.
 */
async function leaks(
  foreignTo: References,
  run: (to: References) => Promise<string[]>,
  refusal: RegExp,
): Promise<string[]> {
  await takeChanges();
  const foreign = await run(foreignTo);
  const missing = await run(absent);
  const changed = (await takeChanges()).flatMap((change) => (isRefusal(change) ? [] : JSON.stringify(change)));
  if (foreign.length === 0) return ['nothing was tried'];
  const different = foreign.filter(
    (text, index) => anonymous(text, foreignTo) !== anonymous(missing[index] ?? '', absent),
  );
  return [...changed, ...different, ...foreign.filter((text) => !refusal.test(text))];
}

/** Ids that the owner cannot read either: the deletion job of another user, and definition names, which are no global ids. */
const UNREADABLE_BY_OWNER = /^DeletionJob:|^EventDefinition:(?:pe\d+_)?[a-z]+_plan$/;
const PRIVATE_TO_OWNER =
  /^(?:ApiKey|OrganizationInvitation|Session|SessionEvent|SessionSource|SourceRepository|SourcePullRequest|Artifact|PullRequest|CodeRepository|McpServer):/;
const headers = { 'X-Request-Id': 'same', 'Content-Type': 'application/json' };

describe('nobody can see or change objects of another organization, and the answers for foreign and missing objects are identical', () => {
  test('every mutation, query, subscription and path parameter has a case here', () => {
    const file = 'test/support/fixtures/isolation-cases.ts';
    const fieldsOf = (...types: ReturnType<typeof schema.getQueryType>[]) =>
      types.flatMap((type) => Object.keys(type?.getFields() ?? {}));
    expect(caseFaults(`MUTATIONS in ${file}`, Object.keys(MUTATIONS), fieldsOf(schema.getMutationType()))).toBe('');
    const queries = fieldsOf(schema.getQueryType(), schema.getSubscriptionType());
    expect(caseFaults(`QUERIES in ${file}`, Object.keys(QUERIES), queries)).toBe('');
    const parameters = routes.flatMap(({ path }) => [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name));
    expect(caseFaults(`PARAMETERS in ${file}`, Object.keys(PARAMETERS), parameters)).toBe('');
    const node = schema.getType('Node');
    const types = isInterfaceType(node) ? schema.getPossibleTypes(node).map(({ name }) => name) : [];
    const tried = nodeIds(victim).map((id) => Buffer.from(id, 'base64').toString().split(':')[0] ?? '');
    expect(caseFaults(`nodeIds in ${file}`, tried, types)).toBe('');
  });

  test('the owner can read all of these objects', async () => {
    for (const to of [victim, personal]) {
      const ids = nodeIds(to).filter((id) => !UNREADABLE_BY_OWNER.test(Buffer.from(id, 'base64').toString()));
      expect(ids.length).toBeGreaterThan(3);
      const { data } = await gateway.graphql<{ nodes: ({ id: string } | null)[] }>(
        ownerKey,
        'query($ids: [ID!]!) { nodes(ids: $ids) { id } }',
        { ids },
      );
      const there = data?.nodes.flatMap((node) => node?.id ?? []);
      expect(there).toEqual(
        to === victim ? ids : ids.filter((id) => PRIVATE_TO_OWNER.test(Buffer.from(id, 'base64').toString())),
      );
    }
  });

  test.each(Object.entries(MUTATIONS).flatMap(([name, inputs]) => (inputs ? [[name, inputs] as const] : [])))(
    'mutation %s',
    async (name, inputs) => {
      const query = `mutation($input: ${name.charAt(0).toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { __typename ... on Error { message code path } } }`;
      for (const { who, key, victim: target } of attacks) {
        const run = async (to: References) => {
          const answers = inputs(to).map((input) =>
            send(gateway, 'POST', '/graphql', { key, headers, body: JSON.stringify({ query, variables: { input } }) }),
          );
          return (await Promise.all(answers)).map(({ status, text }) => `${status} ${text}`);
        };
        expect(await leaks(target, run, /"code":"(?:NOT_FOUND|FORBIDDEN|UNAUTHENTICATED)"/), `by ${who}`).toEqual([]);
      }
    },
  );

  const roots = [schema.getQueryType(), schema.getSubscriptionType()];
  const fieldsOfRoots = roots.flatMap((type) =>
    Object.keys(type?.getFields() ?? {}).map((name) => [type, name] as const),
  );
  test.each(
    fieldsOfRoots.flatMap(([type, name]) => {
      const fields = QUERIES[name];
      return fields ? [[type === roots[0] ? 'query' : 'subscription', name, fields] as const] : [];
    }),
  )('%s %s', async (operation, _, fields) => {
    const isSubscription = operation === 'subscription';
    for (const { who, key, victim: target } of attacks) {
      const run = async (to: References) => {
        const answers = fields(to).map((field) =>
          send(gateway, 'POST', '/graphql', {
            key,
            headers: isSubscription ? { ...headers, Accept: 'text/event-stream' } : headers,
            body: JSON.stringify({ query: `${operation} { ${field} }` }),
          }),
        );
        return (await Promise.all(answers)).map(({ status, text }) => `${status} ${text}`);
      };
      const refusal = /"code":"(?:NOT_FOUND|FORBIDDEN|UNAUTHENTICATED)"|:null|\[(?:null,?)+\]/;
      expect(await leaks(target, run, refusal), `by ${who}`).toEqual([]);
    }
  });

  const withParameters = routes.filter(({ path }) => path.includes(':'));
  test.each(withParameters.map((route) => [route.method, route.path, route] as const))(
    '%s %s',
    async (_, __, route) => {
      const names = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name ?? '');
      for (const { who, key, victim: target } of attacks) {
        const run = async (to: References) => {
          const paths = names.reduce(
            (made, name) =>
              made.flatMap((path) => (PARAMETERS[name]?.(to) ?? []).map((value) => path.replace(`:${name}`, value))),
            [route.path],
          );
          const example = route.examples?.input ?? {};
          const answers = paths.map((path) =>
            send(gateway, route.method, path, {
              key,
              headers,
              ...(takesBody(route) && { body: JSON.stringify(example) }),
            }),
          );
          return (await Promise.all(answers)).map(({ status, text }) => `${status} ${text}`);
        };
        expect(await leaks(target, run, /^40[134] /), `by ${who}`).toEqual([]);
      }
    },
  );

  test.each(Object.entries(BESIDE_PATHS))('%s', async (_, cases) => {
    for (const { who, key, victim: target } of attacks) {
      const run = async (to: References) => {
        const answers = cases(to).map(({ method, path, body, headers: more }) =>
          send(gateway, method, path, {
            key,
            headers: { ...headers, ...more },
            ...(body && { body: JSON.stringify(body) }),
          }),
        );
        return (await Promise.all(answers)).map(({ status, text }) => `${status} ${text}`);
      };
      expect(await leaks(target, run, /^40[0134] /), `by ${who}`).toEqual([]);
    }
  });

  test('lists, searches and all fields below viewer show only objects that the caller may see', async () => {
    const query = `{ viewer { user { email } organizations { nodes { slug members { nodes { user { email } } } } }
      organization { memberCount members { nodes { user { email } } } apiKeys(filter: { includeRevoked: true }) { nodes { databaseId } } eventDefinitions(filter: { search: "plan" }) { totalCount nodes { name } } sessions { nodes { databaseId title } } } } }`;
    const secrets = [ownerEmail, victim.apiKeyId, victim.sessionId, 'secret_plan', 'Secret session'];
    const ofOwner = JSON.stringify(await gql(ownerKey, query));
    expect(secrets.filter((secret) => !ofOwner.includes(secret))).toEqual([]);
    for (const [index, { key = '' }] of attacks.slice(0, 3).entries()) {
      const own = JSON.stringify(await gql(key, query));
      expect(own).toContain(emails[index]);
      const list = await send(
        gateway,
        'GET',
        '/events/2026-03/event-definitions?searchString=plan&includeProperties=true',
        { key },
      );
      expect(list.body).toEqual({ results: [], total: 0 });
      for (const value of [...Object.values(victim).flat(), ...secrets, 'Secret']) expect(own).not.toContain(value);
    }
  });

  test('a name that another organization uses is available', async () => {
    const answer = await gateway.rest('POST', '/events/2026-03/event-definitions', {
      key: attacks[0]?.key ?? '',
      body: { label: 'Secret plan', name: 'secret_plan' },
    });
    expect(answer.status).toBe(201);
  });
});
