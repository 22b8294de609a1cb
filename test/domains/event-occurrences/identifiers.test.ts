import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  APIS,
  type Input,
  PROPERTIES,
  define,
  gql,
  register,
  send,
  stored,
  usage,
} from '../../support/fixtures/event-occurrences.ts';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import { dumpTables } from '../../support/fixtures/second-gateway.ts';

const gateway = useOwnGateway({ MONTHLY_OCCURRENCE_LIMIT: '1000' });

describe.each(APIS)('through %s', (api) => {
  test('an event of a contact accepts any identifier; an event of another object requires objectId and accepts no other', async () => {
    const { key } = await gateway.createKey();
    const [contact, company] = [await define(gateway, key), await define(gateway, key, { primaryObject: 'COMPANY' })];
    const tried = async (eventName: string, identifiers: Input) =>
      (await send(gateway, api, key, [{ eventName, properties: {}, ...identifiers }]))?.faults;
    expect(await tried(contact, { utk: 'token' })).toBeUndefined();
    expect(await tried(contact, { objectId: '1' })).toBeUndefined();
    expect(await tried(company, { objectId: '1' })).toBeUndefined();
    expect(await tried(company, {})).toEqual([
      'inputs.0.objectId: is required for an event of the primary object COMPANY',
    ]);
    expect(await tried(company, { objectId: '1', email: 'a@example.com' })).toEqual([
      'inputs.0.email: must not be given for an event of the primary object COMPANY',
    ]);
    const odd = await define(gateway, key, { primaryObject: 'constructor' });
    expect(await tried(odd, { utk: 'token' })).toHaveLength(2);
    expect(await tried(odd, { objectId: '1' })).toBeUndefined();
  });

  test('an event with NO_OBJECT accepts no identifier and stores nothing, but counts for the monthly limit', async () => {
    const { key } = await gateway.createKey();
    const name = await define(gateway, key, { primaryObject: 'NO_OBJECT', propertyDefinitions: PROPERTIES });
    for (const identifiers of [{ email: 'a@example.com' }, { utk: 'token' }, { objectId: '1' }]) {
      const [identifier] = Object.keys(identifiers);
      expect(await send(gateway, api, key, [{ eventName: name, properties: {}, ...identifiers }])).toEqual({
        status: 400,
        faults: [`inputs.0.${identifier}: must not be given for an event of the primary object NO_OBJECT`],
      });
    }
    expect(await send(gateway, api, key, [{ eventName: name, properties: { price: 'x' } }])).toMatchObject({
      status: 400,
    });
    const secret = randomUUID();
    expect(await send(gateway, api, key, [{ eventName: name, properties: { note: secret } }])).toBeUndefined();
    expect(await dumpTables(gateway)).not.toContain(secret);
    expect(await stored(gateway, key, name)).toEqual([]);
    expect(await usage(gateway, key)).toMatchObject({ count: '1', limit: '1000' });
  });

  test('custom matching links an occurrence to the object of a registered identifier, so it needs no identifier itself', async () => {
    const { key } = await gateway.createKey();
    const matching = (eventPropertyName: string) => ({
      propertyDefinitions: PROPERTIES,
      customMatchingId: { primaryObjectRule: { targetObjectPropertyName: 'member_number', eventPropertyName } },
    });
    const [byNote, byPrice] = [
      await define(gateway, key, matching('note')),
      await define(gateway, key, matching('price')),
    ];
    await register(gateway, key, {
      objectType: 'CONTACT',
      propertyName: 'member_number',
      identifiers: [
        { value: 'A?7', objectId: '7' },
        { value: '12.5', objectId: '8' },
      ],
    });
    await register(gateway, key, {
      objectType: 'COMPANY',
      propertyName: 'member_number',
      identifiers: [{ value: 'B', objectId: '9' }],
    });
    const inputs = [
      { eventName: byNote, properties: { note: 'A?7' } },
      { eventName: byNote, properties: { note: 'B' } },
      { eventName: byNote, properties: {} },
      { eventName: byNote, properties: { note: 'A?7' }, objectId: '1' },
      { eventName: byNote, properties: { note: 'A?7' }, email: 'a@example.com' },
    ];
    const timed = inputs.map((input, index) => ({ ...input, occurredAt: `2026-03-01T00:00:0${index}.000Z` }));
    expect(
      await send(gateway, api, key, [...timed, { eventName: byPrice, properties: { price: '12.5' } }]),
    ).toBeUndefined();
    expect((await stored(gateway, key, byNote)).map(({ objectId }) => objectId)).toEqual(['7', null, null, '1', '7']);
    expect((await stored(gateway, key, byPrice)).map(({ objectId }) => objectId)).toEqual(['8']);
    await register(gateway, key, {
      objectType: 'CONTACT',
      propertyName: 'member_number',
      identifiers: [{ value: 'A?7', objectId: '70' }],
    });
    expect(
      await send(gateway, api, key, [
        { eventName: byNote, properties: { note: 'A?7' }, occurredAt: '2026-04-01T00:00:00Z' },
      ]),
    ).toBeUndefined();
    expect((await stored(gateway, key, byNote)).map(({ objectId }) => objectId)).toEqual([
      '7',
      null,
      null,
      '1',
      '7',
      '70',
    ]);
  });
});

test('registering identifiers refuses values out of bounds, NO_OBJECT and repeated values', async () => {
  const { key } = await gateway.createKey();
  const query =
    'mutation($input: RegisterObjectIdentifiersInput!) { registerObjectIdentifiers(input: $input) { ... on ValidationError { message } } }';
  const tried = async (input: Input) =>
    (await gql<{ registerObjectIdentifiers: { message: string } }>(gateway, key, query, { input }))
      .registerObjectIdentifiers.message;
  const one = { value: 'v', objectId: '1' };
  expect(await tried({ objectType: 'NO_OBJECT', propertyName: '', identifiers: [] })).toBe(
    'objectType: must not be NO_OBJECT, which has no records; propertyName: must not be empty; identifiers: must have at least 1 item',
  );
  expect(await tried({ objectType: '9', propertyName: 'p', identifiers: [one, one] })).toBe(
    'objectType: must be a letter, then at most 99 letters, digits or underscores; identifiers: must not contain a value twice',
  );
  const large = Array.from({ length: 1001 }, (_, index) => ({ value: String(index), objectId: '1' }));
  expect(await tried({ objectType: 'CONTACT', propertyName: 'p', identifiers: large })).toBe(
    'identifiers: must have at most 1000 items',
  );
  // The largest accepted values fit into the database index.
  const widest = {
    objectType: 'x'.repeat(100),
    propertyName: '\u{FFFD}'.repeat(255),
    identifiers: [{ value: '\u4E2D'.repeat(500), objectId: '1' }],
  };
  await register(gateway, key, widest);
});

test('identifiers can be listed, filtered, sorted, read as nodes and removed, but only in their organization', async () => {
  const [{ key }, stranger] = [await gateway.createKey(), await gateway.createKey()];
  const identifiers = ['b', 'a', 'c'].map((value) => ({ value, objectId: `record ${value}` }));
  await register(gateway, key, { objectType: 'CONTACT', propertyName: 'number', identifiers });
  await register(gateway, key, { objectType: 'ORDER', propertyName: 'number', identifiers: identifiers.slice(0, 1) });
  type Identifiers = {
    totalCount: number;
    nodes: { id: string; databaseId: string; objectType: string; value: string }[];
  };
  const list = async (caller: string, args = '') => {
    const query = `{ viewer { organization { objectIdentifiers${args} { totalCount nodes { id databaseId objectType propertyName value objectId } } } } }`;
    type Data = { viewer: { organization: { objectIdentifiers: Identifiers } } };
    return (await gql<Data>(gateway, caller, query)).viewer.organization.objectIdentifiers;
  };
  const values = async (args?: string) =>
    (await list(key, args)).nodes.map(({ objectType, value }) => `${objectType} ${value}`);
  expect(await values()).toEqual(['CONTACT a', 'CONTACT b', 'CONTACT c', 'ORDER b']);
  expect(await values('(orderBy: { field: CREATED_AT, direction: DESC }, first: 1)')).toEqual(['ORDER b']);
  expect(await values('(filter: { values: ["b"], objectTypes: ["CONTACT"], objectIds: ["record b"] })')).toEqual([
    'CONTACT b',
  ]);
  expect(await values('(filter: { propertyNames: [] })')).toEqual([]);
  expect(await list(stranger.key)).toEqual({ totalCount: 0, nodes: [] });

  const { nodes } = await list(key);
  const query = 'query($ids: [ID!]!) { nodes(ids: $ids) { id } }';
  const ids = nodes.map(({ id }) => id);
  expect(await gql(gateway, key, query, { ids })).toEqual({ nodes: ids.map((id) => ({ id })) });
  expect(await gql(gateway, stranger.key, query, { ids })).toEqual({ nodes: ids.map(() => null) });

  const mutation =
    'mutation($ids: [ID!]!) { removeObjectIdentifiers(input: { ids: $ids }) { ... on RemoveObjectIdentifiersPayload { removedIds } ... on ValidationError { faults { path code } } } }';
  const remove = async (caller: string, given: string[]) =>
    (await gql<{ removeObjectIdentifiers: unknown }>(gateway, caller, mutation, { ids: given }))
      .removeObjectIdentifiers;
  expect(await remove(stranger.key, ids)).toEqual({ removedIds: [] });
  expect(await remove(key, [ids[0] ?? '', nodes[1]?.databaseId ?? '', randomUUID()])).toEqual({
    removedIds: expect.arrayContaining(ids.slice(0, 2)),
  });
  expect(await remove(key, ['x'])).toMatchObject({ faults: [{ path: ['ids', '0'] }] });
  expect(await values()).toEqual(['CONTACT c', 'ORDER b']);
});

test('an occurrence has a field for its definition', async () => {
  const { key } = await gateway.createKey();
  const name = await define(gateway, key);
  expect(await send(gateway, 'REST', key, [{ eventName: name, objectId: '1', properties: {} }])).toBeUndefined();
  const query = `{ eventDefinition(name: "${name}") { id occurrences(first: 1) { nodes { eventDefinition { id name } } } } }`;
  const { eventDefinition } = await gql<{ eventDefinition: { id: string; occurrences: unknown } }>(gateway, key, query);
  expect(eventDefinition.occurrences).toEqual({ nodes: [{ eventDefinition: { id: eventDefinition.id, name } }] });
});

test('an identifier leads to the occurrences of its record, of all events of its type, in pages from both ends', async () => {
  const { key } = await gateway.createKey();
  const other = await gateway.createKey();
  const [visit, order, company] = [
    await define(gateway, key),
    await define(gateway, key),
    await define(gateway, key, { primaryObject: 'COMPANY' }),
  ];
  const at = (minute: number) => `2026-03-01T10:0${minute}:00.000Z`;
  const sent = [visit, order, visit, company, order].map((eventName, index) => ({
    eventName,
    objectId: index === 2 ? '2' : '1',
    occurredAt: at(index),
    properties: {},
  }));
  expect(await send(gateway, 'REST', key, sent)).toBeUndefined();
  const foreign = await define(gateway, other.key);
  expect(
    await send(gateway, 'REST', other.key, [{ eventName: foreign, objectId: '1', properties: {} }]),
  ).toBeUndefined();
  await register(gateway, key, {
    objectType: 'CONTACT',
    propertyName: 'member_number',
    identifiers: ['1', '2', '3'].map((objectId) => ({ value: `number ${objectId}`, objectId })),
  });
  interface Page {
    readonly totalCount: number;
    readonly nodes: readonly { occurredAt: string }[];
    readonly pageInfo: { hasNextPage: boolean; endCursor: string | null };
  }
  type Data = { viewer: { organization: { objectIdentifiers: { nodes: { occurrences: Page }[] } } } };
  const pages = async (args = '') => {
    const query = `{ viewer { organization { objectIdentifiers { nodes { occurrences${args} { totalCount nodes { occurredAt } pageInfo { hasNextPage endCursor } } } } } } }`;
    const { nodes } = (await gql<Data>(gateway, key, query)).viewer.organization.objectIdentifiers;
    return nodes.map(({ occurrences }) => occurrences);
  };
  const timesIn = (found: readonly Page[]) => found.map(({ nodes }) => nodes.map(({ occurredAt }) => occurredAt));
  const all = await pages();
  expect(timesIn(all)).toEqual([[at(4), at(1), at(0)], [at(2)], []]);
  expect(all.map(({ totalCount }) => totalCount)).toEqual([3, 1, 0]);
  const [first] = await pages('(first: 2)');
  expect([first?.pageInfo.hasNextPage, first?.nodes.length]).toEqual([true, 2]);
  expect(timesIn(await pages(`(first: 2, after: "${first?.pageInfo.endCursor}")`))[0]).toEqual([at(0)]);
  expect(timesIn(await pages('(last: 2)'))[0]).toEqual([at(1), at(0)]);
  expect(timesIn(await pages(`(filter: { occurredFrom: "${at(1)}" })`))[0]).toEqual([at(4), at(1)]);
});
