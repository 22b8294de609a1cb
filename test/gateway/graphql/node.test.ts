import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { createPerson } from '../../support/fixtures/api-keys.ts';
import { DEFINITIONS_PATH, send } from '../../support/fixtures/event-occurrences.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { grantTo } from '../../support/fixtures/oauth-grants.ts';
import { append, createSession, eventsOf } from '../../support/fixtures/sessions.ts';
import { postGraphQL, errorsOf } from '../../support/fixtures/graphql-requests.ts';

const gateway = useTestGateway();
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
});

const ask = (request: Record<string, unknown>, headers?: Record<string, string>) =>
  postGraphQL({ gateway, key }, request, headers);

describe('node and nodes', () => {
  const encode = (text: string) => Buffer.from(text).toString('base64');
  const NODES = 'query($ids: [ID!]!) { nodes(ids: $ids) { id __typename } }';

  test('A2: malformed, unknown, foreign and missing ids are all null, and the other ids are answered', async () => {
    const own = await gateway.createKey();
    const foreign = await gateway.createKey();
    const ids = {
      Organization: encode(`Organization:${own.organizationId}`),
      User: encode(`User:${own.userId}`),
      ApiKey: encode(`ApiKey:${own.keyId}`),
    };
    const bad = [
      '',
      ' ',
      'x',
      '=',
      '\0',
      '\ud800',
      encode('Organization'),
      encode('Organization:'),
      encode(`Organization:${own.organizationId}'`),
      encode('Organization:\0'),
      encode(':x'),
      encode(`Nothing:${randomUUID()}`),
      encode(`__proto__:${randomUUID()}`),
      encode(`constructor:x`),
      encode(`toString:x`),
      encode(`Query:x`),
      encode(`Organization:${randomUUID()}`),
      encode(`ApiKey:${own.userId}`),
      encode(`Organization:${foreign.organizationId}`),
      encode(`User:${foreign.userId}`),
      encode(`ApiKey:${foreign.keyId}`),
      'A'.repeat(100_000),
    ];
    const mixed = bad.flatMap((id, index) => [id, Object.values(ids)[index % 3] ?? '']);
    const answer = await gateway.graphql<{ nodes: (null | { id: string })[] }>(own.key, NODES, { ids: mixed });
    expect(answer.errors).toBeUndefined();
    expect(answer.data?.nodes).toEqual(
      mixed.map(
        (id) =>
          Object.entries(ids).flatMap(([__typename, known]) => (known === id ? [{ id, __typename }] : []))[0] ?? null,
      ),
    );
    const single = await Promise.all(
      bad.map(async (id) =>
        JSON.stringify({
          ...(await gateway.graphql(own.key, 'query($id: ID!) { node(id: $id) { id } }', { id })),
          extensions: 0,
        }),
      ),
    );
    expect([...new Set(single)]).toEqual([JSON.stringify({ data: { node: null }, extensions: 0 })]);
  });

  test('UUIDs are found, too, whatever their type, by one statement for their types', async () => {
    const own = await gateway.createKey();
    const foreign = await gateway.createKey();
    const sessionId = await createSession(gateway, own.key);
    const ids = [sessionId.toUpperCase(), own.organizationId, own.userId, foreign.organizationId, randomUUID()];
    const { data } = await gateway.graphql<{ nodes: ({ __typename: string } | null)[] }>(own.key, NODES, { ids });
    expect(data?.nodes.map((node) => node?.__typename ?? null)).toEqual([
      'Session',
      'Organization',
      'User',
      null,
      null,
    ]);
  });

  test('UUIDs of audit entries, event occurrences and connected apps are found by those who may read them', async () => {
    const own = await gateway.createKey();
    const other = await gateway.createKey({ organization: own.organization, role: 'member' });
    await gateway.rest('POST', DEFINITIONS_PATH, {
      key: own.key,
      body: { label: 'Bought', includeDefaultProperties: false },
    });
    const input = { eventName: 'bought', email: 'a@example.com', occurredAt: '2026-11-02T03:04:05.678Z' };
    expect(await send(gateway, 'REST', own.key, [input])).toBeUndefined();
    await grantTo(gateway, own, { path: '/mcp' });
    interface Node {
      readonly id: string;
      readonly databaseId: string;
    }
    interface Lists {
      readonly viewer: {
        readonly organization: { readonly auditLog: { readonly nodes: readonly Node[] } };
        readonly connectedApps: { readonly nodes: readonly Node[] };
      };
      readonly eventDefinition: { readonly occurrences: { readonly nodes: readonly Node[] } };
    }
    const { data } = await gateway.graphql<Lists>(
      own.key,
      `{ viewer { organization { auditLog { nodes { id databaseId } } } connectedApps { nodes { id databaseId } } }
        eventDefinition(name: "bought") { occurrences { nodes { id databaseId } } } }`,
    );
    const [occurrence] = data?.eventDefinition.occurrences.nodes ?? [];
    const entries = data?.viewer.organization.auditLog.nodes ?? [];
    const listed = [...entries, ...(data?.viewer.connectedApps.nodes ?? []), occurrence].flatMap((node) => node ?? []);
    expect(listed).toHaveLength(entries.length + 2);
    const found = async (as: string, nodes: readonly Node[]) =>
      (
        await gateway.graphql<{ nodes: (Node | null)[] }>(as, NODES, {
          ids: nodes.map(({ databaseId }) => databaseId),
        })
      ).data?.nodes.map((node) => node?.id ?? null);
    expect(await found(own.key, listed)).toEqual(listed.map(({ id }) => id));
    const nothing = listed.map(() => null);
    expect(await found(other.key, listed)).toEqual([...nothing.slice(1), occurrence?.id]);
    expect(await found((await gateway.createKey()).key, listed)).toEqual(nothing);
  });

  test('what an unbound key could read in another of its organizations is null with an error that names the header', async () => {
    const person = await createPerson(gateway);
    const [here, there, foreign] = [
      await person.join(`org-${randomUUID().slice(0, 13)}`),
      await person.join(`org-${randomUUID().slice(0, 13)}`),
      await gateway.createKey(),
    ];
    const [own, hidden] = [await createSession(gateway, there.key), await createSession(gateway, foreign.key)];
    const ids = [
      own,
      encode(`Session:${own}`),
      hidden,
      encode(`OrganizationMember:${there.organizationId}:${person.userId}`),
    ];
    const query = `query($ids: [ID!]!, $own: ID!, $hidden: ID!) {
      nodes(ids: $ids) { id } session(id: $own) { id } hidden: session(id: $hidden) { id } }`;
    const asked = (by: string, headers: Record<string, string>) =>
      gateway.graphql(by, query, { ids, own, hidden }, headers);
    const found = await asked(person.key, { 'X-Organization-Id': here.organizationId });
    expect(found.data).toEqual({ nodes: [null, null, null, null], session: null, hidden: null });
    expect(found.errors?.map(({ path, message }) => [path?.join('.'), message]).toSorted()).toEqual(
      ['nodes.0', 'nodes.1', 'nodes.3', 'session'].map((path) => [
        path,
        `it is in another of your organizations: send X-Organization-Id: ${there.organizationId}`,
      ]),
    );
    // A bound key cannot act there.
    expect((await asked(here.key, {})).errors).toBeUndefined();
    expect((await asked(person.key, { 'X-Organization-Id': there.organizationId })).errors).toBeUndefined();
  });

  test('one selection has the databaseId of nodes of different types, as REST has it', async () => {
    const owner = await gateway.createKey();
    const sessionId = await createSession(gateway, owner.key);
    await append(gateway, owner.key, sessionId, eventsOf(2));
    const ids = [encode(`Session:${sessionId}`), encode(`SessionEvent:${sessionId}:2`), encode(`User:${owner.userId}`)];
    const query = `query($ids: [ID!]!) { nodes(ids: $ids) {
      ... on Session { databaseId } ... on SessionEvent { databaseId } ... on User { databaseId } } }`;
    expect((await gateway.graphql(owner.key, query, { ids })).data).toEqual({
      nodes: [{ databaseId: sessionId }, { databaseId: 2 }, { databaseId: owner.userId }],
    });
  });

  test('a key without the scope of a type gets null for objects of that type', async () => {
    const admin = await gateway.createKey();
    const bare = await gateway.createKey({ organization: admin.organization, scopes: ['organizations.write'] });
    const ids = [encode(`ApiKey:${admin.keyId}`), encode(`User:${admin.userId}`)];
    expect((await gateway.graphql(bare.key, NODES, { ids })).data).toEqual({
      nodes: [null, { id: ids[1], __typename: 'User' }],
    });
  });

  test('100 ids are accepted, and 101 are refused with the limit', async () => {
    expect((await ask({ query: NODES, variables: { ids: Array(100).fill('x') } })).body.data).toEqual({
      nodes: Array(100).fill(null),
    });
    const answer = await ask({ query: NODES, variables: { ids: Array(101).fill('x') } });
    expect([answer.body.data, errorsOf(answer)]).toEqual([
      null,
      [{ message: 'ids: must have at most 100 items', code: 'INVALID_INPUT', path: ['ids'] }],
    ]);
  });
});
