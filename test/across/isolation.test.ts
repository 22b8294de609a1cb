import { isInterfaceType } from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { takesBody } from '../../src/core/http/route.ts';
import { routes } from '../../src/gateway/modules.ts';
import { schema } from '../../src/gateway/schema.ts';
import { caseFaults } from '../support/completeness.ts';
import { useTestGateway } from '../support/fixtures/gateway.ts';
import { type RecordedChange, recordChanges } from '../support/fixtures/recorded-changes.ts';
import { send } from '../support/fixtures/second-gateway.ts';
import { recordSession } from '../support/fixtures/workspace.ts';
import { MUTATION_CASES, missingCases } from '../support/operations/cases.ts';
import { type Recorded, recordObjects } from '../support/operations/recorded-organization.ts';
import {
  OBJECTS,
  OBJECTS_FILE,
  absentInstead,
  canRefer,
  namesObject,
  nodeIds,
  parameterValues,
  selectionsOf,
  waysToRefer,
  refersIn,
} from '../support/operations/references.ts';
import { type Peer, mcpHandler, startPeer } from '../support/peers/mcp-server.ts';
import { sampled } from '../support/sample.ts';

const MARK = 'secret_plan';

const gateway = useTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
let server: Peer;
let takeChanges: () => Promise<RecordedChange[]>;
/** Who tries to get at whose objects: those of another organization, or the private ones of another member. */
let attacks: readonly { who: string; key: string | undefined; victim: Recorded }[];
let victim: Recorded;
let absent: Recorded;
let personal: Recorded;
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
  server = await startPeer(mcpHandler());
  const owner = await gateway.createKey();
  ownerKey = owner.key;
  ownerEmail = owner.email;
  victim = await recordObjects(gateway, owner, { serverUrl: `${server.origin}/mcp`, mark: MARK });
  absent = absentInstead(victim, MARK);
  // For a member, the private objects of the owner do not exist; the other objects of the organization are visible.
  const { messageId: _, ...own } = await recordSession(gateway, owner.key, {
    title: 'Secret session',
    visibility: 'PRIVATE',
  });
  personal = {
    ...absent,
    ...own,
    // Projects belong to the organization, not to a user.
    projectId: absent.projectId,
    mcpConnectionId: await createPersonalConnection(),
    deletionJobId: victim.deletionJobId,
    apiKeyId: owner.keyId,
    invitationId: victim.invitationId,
  };
  const { organization } = owner;
  const member = await gateway.createKey({ organization });
  const thief = await gateway.createKey();
  const accomplice = await gateway.createKey({ organization: thief.organization });
  const unbound = await gateway.createKey({ organization: thief.organization, role: 'admin' });
  await gateway.dependencies.sql.query('update api_key set organization_id = null where id = $1', [unbound.keyId]);
  const scopeless = await gateway.createKey({ organization: thief.organization, scopes: [] });
  const revoked = await gateway.createKey({ organization: thief.organization });
  await gateway.dependencies.sql.query('update api_key set revoked_at = now() where id = $1', [revoked.keyId]);
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
afterAll(() => server.stop());

async function createPersonalConnection(): Promise<string> {
  const body = { type: 'stdio', name: 'Secret server', command: 'secret-command', visibility: 'personal' };
  const answer = await gateway.rest<{ connection: { id: string } }>('POST', '/v1/mcp-connections', {
    key: ownerKey,
    body,
  });
  return answer.body.connection.id;
}

/** Removes the ids of a request from its answer, so that answers about different objects can be compared. */
function anonymous(text: string, to: Recorded): string {
  const values = idsOf(to).toSorted((a, b) => b.length - a.length);
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

const idsOf = (to: Recorded) =>
  Object.values(to)
    .flat()
    .filter((value) => typeof value === 'string');

/**
 * Sends the same requests for foreign and for missing objects. Returns every change, every difference between the
 * answers, and every answer that is no refusal.
 */
async function leaks(
  foreignTo: Recorded,
  run: (to: Recorded) => Promise<string[]>,
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

interface RestCase {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly headers?: Record<string, string>;
}

const events = '/events/2026-03';

/** References outside the path of a route. */
const BESIDE_PATHS: Readonly<Record<string, (to: Recorded) => RestCase[]>> = {
  'the channel of a broadcast': ({ channelGuid }) => [
    { method: 'POST', path: '/broadcast/v1/broadcasts', body: { channelGuid, content: { body: 'Hello' } } },
  ],
  'the cursor of broadcasts': ({ broadcastGuid }) => [
    { method: 'GET', path: `/broadcast/v1/broadcasts?after=${broadcastGuid}` },
  ],
  'the event of an occurrence': ({ eventNames }) =>
    eventNames.flatMap((eventName) => {
      const occurrence = { eventName, properties: {}, email: 'thief@example.com' };
      return [
        { method: 'POST', path: `${events}/send`, body: occurrence },
        { method: 'POST', path: `${events}/send/batch`, body: { inputs: [occurrence] } },
      ];
    }),
  'the property in a body': ({ eventNames, property }) =>
    eventNames.map((eventName) => ({
      method: 'PATCH',
      path: `${events}/event-definitions/${eventName}/property`,
      body: { name: property, label: 'Stolen' },
    })),
  'the organization of a header': ({ organizationId }) => [
    { method: 'POST', path: `${events}/send`, body: {}, headers: { 'X-Organization-Id': organizationId } },
  ],
};

/** The owner cannot read the deletion job of another user either. */
const UNREADABLE_BY_OWNER = /^DeletionJob:/;
const PRIVATE_TO_OWNER =
  /^(?:ApiKey|OrganizationInvitation|Session|SessionEvent|ToolCall|SessionSubagent|UserMessage|AgentMessage|Thinking|SessionNote|SessionSource|SourceRepository|SourcePullRequest|Artifact|PullRequest|McpServer):/;
const headers = { 'X-Request-Id': 'same', 'Content-Type': 'application/json' };

describe('nobody can see or change objects of another organization, and the answers for foreign and missing objects are identical', () => {
  test('every mutation, type of objects and path parameter has a case', () => {
    expect(missingCases()).toBe('');
    const node = schema.getType('Node');
    const types = isInterfaceType(node) ? schema.getPossibleTypes(node).map(({ name }) => name) : [];
    expect(caseFaults(OBJECTS_FILE, Object.keys(OBJECTS), types)).toBe('');
    const parameters = routes.flatMap(({ path }) => [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name));
    const known = parameters.filter((name) => parameterValues(name, victim).length > 0);
    expect(caseFaults('parameterValues in test/support/operations/references.ts', known, parameters)).toBe('');
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

  const mutations = schema.getMutationType()?.getFields() ?? {};
  const referring = MUTATION_CASES.filter(([name]) => canRefer(mutations[name]?.args[0]?.type));

  sampled(test, 12).each(referring)('mutation %s', async (name, { input }) => {
    const query = `mutation($input: ${name.charAt(0).toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { __typename ... on Error { message code path } } }`;
    for (const { who, key, victim: target } of attacks) {
      const run = async (to: Recorded) => {
        const answers = waysToRefer(input(to), to).map((way) =>
          send(gateway, 'POST', '/graphql', {
            key,
            headers,
            body: JSON.stringify({ query, variables: { input: way } }),
          }),
        );
        return (await Promise.all(answers)).map(({ status, text }) => `${status} ${text}`);
      };
      expect(await leaks(target, run, /"code":"(?:NOT_FOUND|FORBIDDEN|UNAUTHENTICATED)"/), `by ${who}`).toEqual([]);
    }
  });

  const roots = [schema.getQueryType(), schema.getSubscriptionType()];
  const fieldsOfRoots = roots.flatMap((type) =>
    Object.values(type?.getFields() ?? {}).map((field) => [type, field] as const),
  );
  const naming = fieldsOfRoots.flatMap(([type, field]) => {
    const isSubscription = type === roots[1];
    return namesObject(field) ? [[isSubscription ? 'subscription' : 'query', field.name, field] as const] : [];
  });
  sampled(test, 6).each(naming)('%s %s', async (operation, _, field) => {
    const isSubscription = operation === 'subscription';
    for (const { who, key, victim: target } of attacks) {
      const run = async (to: Recorded) => {
        const answers = selectionsOf(field, to).map((selection) =>
          send(gateway, 'POST', '/graphql', {
            key,
            headers: isSubscription ? { ...headers, Accept: 'text/event-stream' } : headers,
            body: JSON.stringify({ query: `${operation} { ${selection} }` }),
          }),
        );
        return (await Promise.all(answers)).map(({ status, text }) => `${status} ${text}`);
      };
      const refusal = /"code":"(?:NOT_FOUND|FORBIDDEN|UNAUTHENTICATED)"|:null|\[(?:null,?)+\]/;
      expect(await leaks(target, run, refusal), `by ${who}`).toEqual([]);
    }
  });

  const withParameters = routes
    .filter(({ path }) => refersIn(path))
    .map((route) => [route.method, route.path, route] as const);
  sampled(test, 12).each(withParameters)('%s %s', async (_, __, route) => {
    const names = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name ?? '');
    for (const { who, key, victim: target } of attacks) {
      const run = async (to: Recorded) => {
        const paths = names.reduce(
          (made, name) =>
            made.flatMap((path) => parameterValues(name, to).map((value) => path.replace(`:${name}`, value))),
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
  });

  test.each(Object.entries(BESIDE_PATHS))('%s', async (_, cases) => {
    for (const { who, key, victim: target } of attacks) {
      const run = async (to: Recorded) => {
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
    const secrets = [ownerEmail, victim.apiKeyId, victim.sessionId, MARK, 'Secret session'];
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
      for (const value of [...idsOf(victim), ...secrets, 'Secret']) expect(own).not.toContain(value);
    }
  });

  test('a name that another organization uses is available', async () => {
    const answer = await gateway.rest('POST', '/events/2026-03/event-definitions', {
      key: attacks[0]?.key ?? '',
      body: { label: 'Secret plan', name: victim.eventNames[0] },
    });
    expect(answer.status).toBe(201);
  });
});
