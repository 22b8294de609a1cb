import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { SCOPES } from '../../../src/core/access.ts';
import { type Api, done, apisOf } from '../../support/fixtures/event-definitions.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';

const gateway = useTestGateway();

const BARE = { includeDefaultProperties: false };

async function workspace() {
  const issued = await gateway.createKey();
  return { ...issued, api: apisOf(gateway, issued.key)[0] };
}

function toGlobalId(key: string, typename = 'EventDefinition'): string {
  return Buffer.from(`${typename}:${key}`).toString('base64');
}

/** The answer of a query: its data, and the code and message of each error. */
async function ask(key: string, query: string, variables?: Record<string, unknown>) {
  const { data, errors = [] } = await gateway.graphql<Record<string, unknown>>(key, query, variables);
  return { data, errors: errors.map(({ message, extensions }) => `${String(extensions?.['code'])} ${message}`) };
}

describe('eventDefinitionNamePreview', () => {
  const QUERY =
    'query Preview($label: String!) { eventDefinitionNamePreview(label: $label) { name isFree reason nextFreeName } }';
  const preview = async (key: string, label: string) =>
    (await ask(key, QUERY, { label })).data?.['eventDefinitionNamePreview'];

  test('returns the name that a creation would derive from the label, and does not reserve it', async () => {
    const { key, api } = await workspace();
    const free = { name: 'cart_viewed', isFree: true, reason: null, nextFreeName: 'cart_viewed' };
    expect(await preview(key, 'Cart viewed')).toEqual(free);
    expect(await preview(key, 'Cart viewed')).toEqual(free);
    done(await api.create({ label: 'Cart viewed', ...BARE }));
    expect(await preview(key, 'cart VIEWED!')).toEqual({
      name: 'cart_viewed',
      isFree: false,
      reason: 'name: cart_viewed already exists as the name of another event definition; choose another name',
      nextFreeName: 'cart_viewed_2',
    });
    done(await api.delete('cart_viewed'));
    expect(await preview(key, 'Cart viewed')).toEqual({
      name: 'cart_viewed',
      isFree: false,
      reason:
        'name: cart_viewed was used by a deleted event definition and can never be used again; choose another name',
      nextFreeName: 'cart_viewed_2',
    });
    expect(done(await api.create({ label: 'Cart viewed', ...BARE })).name).toBe('cart_viewed_2');
  });

  test('gives a reason if the label gives no name, and validates the label like a creation', async () => {
    const { key } = await workspace();
    const reason = 'the label has neither letters nor digits; give a name';
    expect(await preview(key, '…')).toEqual({ name: null, isFree: false, reason, nextFreeName: null });
    expect((await ask(key, QUERY, { label: '' })).errors).toEqual(['INVALID_INPUT label: must not be empty']);
    expect((await ask(key, QUERY, { label: 'x'.repeat(101) })).errors).toEqual([
      'INVALID_INPUT label: must be at most 100 characters',
    ]);
  });
});

test('deletionPreview counts what would be deleted, and deletes nothing', async () => {
  const { key, api } = await workspace();
  const definition = done(
    await api.create({
      label: 'Precious',
      propertyDefinitions: [
        { label: 'A', type: 'bool' },
        { label: 'B', type: 'date' },
      ],
    }),
  );
  const query =
    'query Preview($name: String!) { eventDefinition(name: $name) { id deletionPreview { customPropertyCount reservedName } } }';
  const expected = {
    id: toGlobalId(definition.id),
    deletionPreview: { customPropertyCount: 2, reservedName: 'precious' },
  };
  for (const name of ['precious', definition.fullyQualifiedName, definition.id, toGlobalId(definition.id)]) {
    expect(await ask(key, query, { name })).toEqual({ data: { eventDefinition: expected }, errors: [] });
  }
  expect(done(await api.read('precious'))).toEqual(definition);
  done(await api.delete('precious'));
  expect(await ask(key, query, { name: 'precious' })).toEqual({
    data: { eventDefinition: null },
    errors: [],
  });
  const mutation =
    'mutation { deleteEventDefinition(input: { eventName: "gone" }) { ... on DeleteEventDefinitionPayload { deletedId deletedName } } }';
  const gone = done(await api.create({ label: 'Gone', ...BARE }));
  expect((await ask(key, mutation)).data).toEqual({
    deleteEventDefinition: { deletedId: toGlobalId(gone.id), deletedName: 'gone' },
  });
});

describe('node and nodes', () => {
  const NODES = 'query Nodes($ids: [ID!]!) { nodes(ids: $ids) { __typename id ... on EventDefinition { name } } }';

  test('find definitions by global id; malformed, deleted, foreign and unknown ids are null, and the others are still found', async () => {
    const { key, api } = await workspace();
    const foreign = done(await (await workspace()).api.create({ label: 'Foreign', ...BARE }));
    const deleted = done(await api.create({ label: 'Deleted', ...BARE }));
    done(await api.delete('deleted'));
    const mine = done(await api.create({ label: 'Mine', ...BARE }));
    const found = { __typename: 'EventDefinition', id: toGlobalId(mine.id), name: 'mine' };
    const ids = [
      toGlobalId(mine.id),
      toGlobalId(foreign.id),
      toGlobalId(deleted.id),
      toGlobalId(crypto.randomUUID()),
      toGlobalId('mine'),
      toGlobalId(`${mine.id}\0`),
      toGlobalId(mine.id, 'Missing'),
      toGlobalId(mine.id, '__proto__'),
      '',
      toGlobalId(mine.id.toUpperCase()),
    ];
    const { data, errors } = await ask(key, NODES, { ids });
    expect({ data, errors }).toEqual({
      data: { nodes: [found, ...Array.from({ length: ids.length - 1 }, () => null)] },
      errors: [],
    });
    expect(
      await ask(key, 'query Node($id: ID!) { node(id: $id) { __typename id ... on EventDefinition { name } } }', {
        id: found.id,
      }),
    ).toEqual({
      data: { node: found },
      errors: [],
    });
  });

  test('are null for a key without the scope and for an organization without the subscription', async () => {
    const { api, key, email, organization, organizationId } = await workspace();
    const { id } = done(await api.create({ label: 'Mine', ...BARE }));
    const scopes = SCOPES.filter((scope) => !scope.startsWith('behavioral_events'));
    const { key: without } = await gateway.createKey({ email, organization, scopes });
    expect(await ask(without, NODES, { ids: [toGlobalId(id)] })).toEqual({ data: { nodes: [null] }, errors: [] });
    await gateway.dependencies.sql.query(
      `update organization set subscriptions = '{"sales":"starter"}' where id = $1`,
      [organizationId],
    );
    expect(await ask(key, NODES, { ids: [toGlobalId(id)] })).toEqual({ data: { nodes: [null] }, errors: [] });
  });
});

describe('a caller with several organizations', () => {
  async function createKeysInTwoOrganizations() {
    const first = await workspace();
    const second = await gateway.createKey({ email: first.email });
    await gateway.dependencies.sql.query('update api_key set organization_id = null where id = $1', [first.keyId]);
    done(await apisOf(gateway, second.key)[0].create({ label: 'Second', ...BARE }));
    return { first, second };
  }
  const LIST = '{ viewer { organizations { nodes { slug eventDefinitions { nodes { name } } } } } }';

  test('gets the definitions of the acting organization only; the list of another organization is an error', async () => {
    const { first, second } = await createKeysInTwoOrganizations();
    const { data, errors } = await gateway.graphql(first.key, LIST, {}, { 'X-Organization-Id': second.organization });
    const message =
      'a request acts in one organization: send the header X-Organization-Id with the id or slug of the organization that you want';
    expect({ data, errors: errors?.map((error) => [error.message, error.extensions?.['code']]) }).toEqual({
      data: {
        viewer: {
          organizations: {
            nodes: [
              { slug: first.organization, eventDefinitions: null },
              { slug: second.organization, eventDefinitions: { nodes: [{ name: 'second' }] } },
            ],
          },
        },
      },
      errors: [[message, 'INVALID_INPUT']],
    });
  });

  test('gets the definitions of the organization in the header', async () => {
    const { first, second } = await createKeysInTwoOrganizations();
    const query = '{ viewer { organization { slug eventDefinitions { nodes { name fullyQualifiedName } } } } }';
    const { data } = await gateway.graphql(first.key, query, {}, { 'X-Organization-Id': second.organization });
    const fullyQualifiedName = done(await apisOf(gateway, second.key)[0].read('second')).fullyQualifiedName;
    expect(data).toEqual({
      viewer: {
        organization: {
          slug: second.organization,
          eventDefinitions: { nodes: [{ name: 'second', fullyQualifiedName }] },
        },
      },
    });
    expect(
      (await gateway.graphql(first.key, query, {}, { 'X-Organization-Id': first.organization })).data,
    ).toMatchObject({
      viewer: { organization: { eventDefinitions: { nodes: [] } } },
    });
  });
});

describe('number of statements', () => {
  async function fill(api: Api, from: number, to: number) {
    for (let index = from; index < to; index += 1) {
      const options = [{ label: 'A', value: 'a' }];
      done(
        await api.create({
          label: `Event ${index}`,
          propertyDefinitions: [
            { label: 'Kind', type: 'enumeration', options },
            { label: 'Note', type: 'string' },
          ],
        }),
      );
    }
  }

  async function count(run: () => Promise<unknown>): Promise<number> {
    await run();
    gateway.statements.length = 0;
    await run();
    return gateway.statements.length;
  }

  test('a nested query and the REST list send the same number of statements for 50 definitions as for 5', async () => {
    const { key, api } = await workspace();
    const query =
      '{ viewer { organization { eventDefinitions(first: 50) { nodes { properties { name options { value } } } } } } }';
    const nested = () => gateway.graphql(key, query);
    const listed = () => gateway.rest('GET', '/events/2026-03/event-definitions?includeProperties=true', { key });
    await fill(api, 0, 5);
    const few = { nested: await count(nested), listed: await count(listed) };
    await fill(api, 5, 50);
    const { data } = await gateway.graphql<{
      viewer: { organization: { eventDefinitions: { nodes: { properties: object[] }[] } } };
    }>(key, query);
    expect(data?.viewer.organization.eventDefinitions.nodes.map(({ properties }) => properties.length)).toEqual(
      Array.from({ length: 50 }, () => 34),
    );
    // One each for the key, the page and the properties. REST also counts the total.
    expect([few, { nested: await count(nested), listed: await count(listed) }]).toEqual([
      { nested: 3, listed: 4 },
      { nested: 3, listed: 4 },
    ]);
  });

  test('totalCount sends one more statement; a single definition with its properties needs two', async () => {
    const { key, api } = await workspace();
    await fill(api, 0, 1);
    expect([
      await count(() => gateway.graphql(key, '{ viewer { organization { eventDefinitions { nodes { name } } } } }')),
      await count(() =>
        gateway.graphql(key, '{ viewer { organization { eventDefinitions { totalCount nodes { name } } } } }'),
      ),
      await count(() => gateway.graphql(key, '{ eventDefinition(name: "event_0") { name properties { name } } }')),
      await count(() => api.read('event_0')),
    ]).toEqual([2, 3, 2, 2]);
  });
});

test('a property can be read by its global id, but only in its organization', async () => {
  const { key, api } = await workspace();
  done(await api.create({ label: 'Event', propertyDefinitions: [{ label: 'Size', type: 'number' }] }));
  const list =
    '{ eventDefinition(name: "event") { id properties { id name label isDefault eventDefinition { id } } } }';
  const { data } = await gateway.graphql<{
    eventDefinition: { id: string; properties: { id: string; name: string }[] };
  }>(key, list);
  const { id = '', properties = [] } = data?.eventDefinition ?? {};
  expect(properties).toHaveLength(33);
  const query = `query($ids: [ID!]!) { nodes(ids: $ids) { id ... on EventProperty { name label isDefault eventDefinition { id } } } }`;
  const ids = properties.map((property) => property.id);
  expect(new Set(ids).size).toBe(33);
  expect(await ask(key, query, { ids })).toEqual({ data: { nodes: properties }, errors: [] });
  expect(properties[0]).toMatchObject({ eventDefinition: { id } });
  const odd = [btoa('EventProperty:x:size'), btoa(`EventProperty:${randomUUID()}:size`), btoa('EventProperty:')];
  const stranger = await gateway.createKey();
  expect((await ask(key, query, { ids: odd })).data).toEqual({ nodes: [null, null, null] });
  expect((await ask(stranger.key, query, { ids: ids.slice(0, 2) })).data).toEqual({ nodes: [null, null] });
});

test('customObjectName is required with the primaryObject CUSTOM_OBJECT, and not allowed with any other', async () => {
  const { key } = await workspace();
  const create = async (input: object) => {
    const query = `mutation($input: CreateEventDefinitionInput!) { createEventDefinition(input: $input) {
      ... on CreateEventDefinitionPayload { eventDefinition { primaryObject customObjectName } }
      ... on ValidationError { faults { path code message } } } }`;
    const { data } = await gateway.graphql<{ createEventDefinition: object }>(key, query, {
      input: { label: 'X', ...input },
    });
    return data?.createEventDefinition;
  };
  const fault = (code: string, message: string, path = 'customObjectName') => ({
    faults: [{ path: [path], code, message }],
  });
  expect([
    await create({}),
    await create({ primaryObject: 'CUSTOM_OBJECT', customObjectName: 'Pet' }),
    await create({ primaryObject: 'CUSTOM_OBJECT' }),
    await create({ primaryObject: 'DEAL', customObjectName: 'Pet' }),
    await create({ primaryObject: 'CUSTOM_OBJECT', customObjectName: 'DEAL' }),
    await create({ primaryObject: 'CUSTOM_OBJECT', customObjectName: '9' }),
  ]).toEqual([
    { eventDefinition: { primaryObject: 'CONTACT', customObjectName: null } },
    { eventDefinition: { primaryObject: 'CUSTOM_OBJECT', customObjectName: 'Pet' } },
    fault('REQUIRED', 'is required with the primaryObject CUSTOM_OBJECT'),
    fault('CONFLICTING', 'is allowed only with the primaryObject CUSTOM_OBJECT'),
    fault('NOT_ALLOWED', 'must not be DEAL, which is a standard object'),
    { faults: [expect.objectContaining({ path: ['customObjectName'], code: 'BAD_FORMAT' })] },
  ]);
});

test('an update with an outdated expectedUpdatedAt is a conflict and writes nothing', async () => {
  const { key, api } = await workspace();
  const { updatedAt } = done(await api.create({ label: 'Event', ...BARE }));
  const query = `mutation($input: UpdateEventDefinitionInput!) { updateEventDefinition(input: $input) {
    ... on UpdateEventDefinitionPayload { eventDefinition { label } } ... on ConflictError { reason path } } }`;
  const update = async (label: string) =>
    (await ask(key, query, { input: { eventName: 'event', label, expectedUpdatedAt: updatedAt } })).data;
  gateway.setClock(new Date(Date.parse(updatedAt) + 1000));
  expect(await update('First')).toEqual({ updateEventDefinition: { eventDefinition: { label: 'First' } } });
  const conflict = { reason: 'CHANGED_MEANWHILE', path: ['expectedUpdatedAt'] };
  expect(await update('Second')).toEqual({ updateEventDefinition: conflict });
  gateway.setClock(undefined);
  expect(done(await api.read('event')).label).toBe('First');
});

test('an option has an id that differs between properties and values, also for any text, and node finds it for those who can read it', async () => {
  const { key, api } = await workspace();
  const options = ['Grün 🎉', 'b:c', 'x'.repeat(1000)].map((value) => ({ label: value.slice(0, 50), value }));
  const propertyDefinitions = ['one', 'two'].map((name) => ({ name, label: name, type: 'enumeration', options }));
  const { id } = done(await api.create({ label: 'Colored', propertyDefinitions, ...BARE }));
  const { data } = await gateway.graphql<{
    eventDefinition: { properties: { options: { id: string; value: string }[] }[] };
  }>(key, 'query($id: ID!) { eventDefinition(id: $id) { properties { options { id value } } } }', { id });
  const found = data?.eventDefinition.properties.flatMap((property) => property.options) ?? [];
  expect(new Set(found.map((option) => option.id)).size).toBe(6);
  const NODES = 'query($ids: [ID!]!) { nodes(ids: $ids) { id ... on EventPropertyOption { value } } }';
  const ids = found.map((option) => option.id);
  expect(await ask(key, NODES, { ids })).toEqual({ data: { nodes: found }, errors: [] });
  const stranger = await workspace();
  expect(await ask(stranger.key, NODES, { ids })).toEqual({ data: { nodes: ids.map(() => null) }, errors: [] });
});
