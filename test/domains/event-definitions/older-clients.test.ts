import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DEFINITIONS_PATH, graphqlApi, done } from '../../support/fixtures/event-definitions.ts';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import { sampledRuns } from '../../support/sample.ts';

/** What clients of the previous version of the API rely on. */

const gateway = useOwnGateway({ PUBLIC_URL: 'https://api.example.com/base' });

type Json = Record<string, unknown>;
const OLDER_PATH = '/events/v3/event-definitions';

async function keyWithEvent(event: Json = {}): Promise<string> {
  const { key } = await gateway.createKey();
  const body = { label: 'Event', includeDefaultProperties: false, ...event };
  expect((await gateway.rest('POST', DEFINITIONS_PATH, { key, body })).status).toBe(201);
  return key;
}

async function call(method: string, path: string, key: string, body?: Json) {
  const answer = await gateway.rest<Json>(method, path, { key, body });
  return [answer.status, answer.text === '' ? '' : answer.body] as const;
}

test('every path of event definitions also works under /events/v3', async () => {
  const { key } = await gateway.createKey();
  const [status, created] = await call('POST', OLDER_PATH, key, { label: 'Event', includeDefaultProperties: false });
  expect([status, created]).toEqual([201, expect.objectContaining({ name: 'event' })]);
  expect(await call('GET', `${OLDER_PATH}/event`, key)).toEqual(await call('GET', `${DEFINITIONS_PATH}/event`, key));
  expect(await call('GET', OLDER_PATH, key)).toEqual(await call('GET', DEFINITIONS_PATH, key));
  const statuses = [
    await call('PATCH', `${OLDER_PATH}/event`, key, { label: 'Changed' }),
    await call('POST', `${OLDER_PATH}/event/property`, key, { label: 'Size', type: 'number' }),
    await call('PATCH', `${OLDER_PATH}/event/property`, key, { name: 'size', label: 'A' }),
    await call('PATCH', `${OLDER_PATH}/event/property/size`, key, { label: 'B' }),
    await call('DELETE', `${OLDER_PATH}/event/property/size`, key),
    await call('DELETE', `${OLDER_PATH}/event`, key),
    await call('GET', `${OLDER_PATH}/event`, key),
    await call('PUT', OLDER_PATH, key),
  ].map(([answered]) => answered);
  expect(statuses).toEqual([200, 201, 200, 200, 204, 204, 404, 405]);
  const refused = await gateway.rest<Json>('GET', `${OLDER_PATH}/event`, { key });
  expect(refused.body).toMatchObject({ status: 'error', category: 'OBJECT_NOT_FOUND' });
});

test('the link to the next page is an absolute URL under PUBLIC_URL, and repeats the search parameters', async () => {
  const key = await keyWithEvent();
  for (const label of ['Event B', 'Event C']) await call('POST', DEFINITIONS_PATH, key, { label });
  const query = 'searchString=event&limit=1&sortOrder=DESC&includeProperties=true';
  const names: unknown[] = [];
  let next: string | undefined = `${DEFINITIONS_PATH}?${query}`;
  while (next !== undefined) {
    const [, page] = (await call('GET', next, key)) as readonly [
      number,
      { results: Json[]; paging?: { next: { after: string; link: string } } },
    ];
    names.push(...page.results.map(({ name, properties }) => [name, (properties as unknown[]).length > 0]));
    const link = page.paging?.next.link;
    expect(link ?? `https://api.example.com/base${DEFINITIONS_PATH}?${query}`).toContain(
      `https://api.example.com/base${DEFINITIONS_PATH}?`,
    );
    next = link?.replace('https://api.example.com/base', '');
  }
  expect(names).toEqual([
    ['event_c', true],
    ['event_b', true],
    ['event', false],
  ]);
});

test('a property can be named in the path, in the body, or in both if they are equal', async () => {
  const key = await keyWithEvent({ propertyDefinitions: [{ label: 'Size', type: 'number' }] });
  const path = `${DEFINITIONS_PATH}/event/property`;
  expect(await call('PATCH', path, key, { name: 'size', label: 'A' })).toEqual([
    200,
    expect.objectContaining({ label: 'A' }),
  ]);
  expect(await call('PATCH', `${path}/size`, key, { label: 'B' })).toEqual([
    200,
    expect.objectContaining({ label: 'B' }),
  ]);
  const both = { name: 'size', label: 'C' };
  expect(await call('PATCH', `${path}/size`, key, both)).toEqual([200, expect.objectContaining({ label: 'C' })]);
  expect(await call('PATCH', `${path}/other`, key, both)).toMatchObject([400, { errors: [{ in: 'name' }] }]);
});

test('an option keeps displayOrder, hidden and description, on both APIs', async () => {
  const key = await keyWithEvent();
  const options = [
    { label: 'A', value: 'a', displayOrder: 7, hidden: true, description: 'First.' },
    { label: 'B', value: 'b' },
  ];
  const answered = [options[0], { label: 'B', value: 'b', displayOrder: 1, hidden: false, description: '' }];
  const [, added] = await call('POST', `${DEFINITIONS_PATH}/event/property`, key, {
    label: 'Kind',
    type: 'enumeration',
    options,
  });
  expect(added).toMatchObject({ options: answered });
  const [status, changed] = await call('PATCH', `${DEFINITIONS_PATH}/event/property/kind`, key, { options: answered });
  expect([status, changed]).toMatchObject([200, { options: answered }]);
  const query =
    '{ eventDefinition(name: "event") { properties { options { label value displayOrder hidden description } } } }';
  const { data } = await gateway.graphql<{ eventDefinition: unknown }>(key, query);
  expect(data?.eventDefinition).toEqual({
    properties: [{ options: [options[0], { ...answered[1], description: null }] }],
  });
});

test('an empty list of options is the same as none for every type except enumeration', async () => {
  const key = await keyWithEvent();
  const add = (type: string) =>
    call('POST', `${DEFINITIONS_PATH}/event/property`, key, { label: type, type, options: [] });
  for (const type of ['bool', 'date', 'datetime', 'number', 'string']) {
    expect(await add(type)).toEqual([201, expect.objectContaining({ options: [] })]);
    expect(await call('PATCH', `${DEFINITIONS_PATH}/event/property/${type}`, key, { options: [] })).toMatchObject([
      200,
      {},
    ]);
  }
  expect(await add('enumeration')).toMatchObject([400, { message: 'options: must have at least 1 item' }]);
});

test('an hs_ name of a default property is accepted for matching, and can be neither created, changed nor generated', async () => {
  const { key } = await gateway.createKey();
  const rule = (eventPropertyName: string) => ({
    primaryObjectRule: { targetObjectPropertyName: 'id', eventPropertyName },
  });
  const event = { label: 'Event', propertyDefinitions: [{ label: 'HS City', type: 'string' }] };
  const [, created] = await call('POST', DEFINITIONS_PATH, key, { ...event, customMatchingId: rule('hs_page_id') });
  expect(created).toMatchObject({ customMatchingId: rule('svc_page_id') });
  const custom = (created as { properties: Json[] }).properties.filter(({ isDefault }) => isDefault === false);
  expect(custom.map(({ name }) => name)).toEqual(['p_hs_city']);
  expect(
    await call('POST', `${DEFINITIONS_PATH}/event/property`, key, { label: 'X', name: 'hs_city', type: 'string' }),
  ).toMatchObject([
    400,
    { message: 'name: must not be hs_city, which is another name of the default property svc_city' },
  ]);
  expect(await call('PATCH', `${DEFINITIONS_PATH}/event/property/hs_city`, key, { label: 'X' })).toMatchObject([
    400,
    { message: 'name: svc_city is a default property, which cannot be changed' },
  ]);
  expect(
    (await call('POST', `${DEFINITIONS_PATH}/event/property`, key, { label: 'X', name: 'hs_own', type: 'string' }))[0],
  ).toBe(201);
});

test('409: an update with an outdated expectedUpdatedAt', async () => {
  const key = await keyWithEvent({ propertyDefinitions: [{ label: 'Size', type: 'number' }] });
  const [, definition] = (await call('GET', `${DEFINITIONS_PATH}/event`, key)) as readonly [
    number,
    { updatedAt: string; properties: Json[] },
  ];
  const expectedUpdatedAt = definition.updatedAt;
  const change = (path: string, label: string, expected: unknown) =>
    call('PATCH', `${DEFINITIONS_PATH}/event${path}`, key, { label, expectedUpdatedAt: expected });
  for (const [path, expected] of [
    ['', expectedUpdatedAt],
    ['/property/size', definition.properties[0]?.['updatedAt']],
  ] as const) {
    gateway.setClock(new Date(Date.parse(expectedUpdatedAt) + 60_000));
    expect((await change(path, 'First', expected))[0]).toBe(200);
    expect(await change(path, 'Second', expected)).toMatchObject([
      409,
      { category: 'CONFLICT', errors: [{ in: 'expectedUpdatedAt' }] },
    ]);
    expect((await change(path, 'Third', null))[0]).toBe(200);
    gateway.setClock(undefined);
  }
  expect(done(await graphqlApi(gateway, key).read('event'))).toMatchObject({
    label: 'Third',
    properties: [{ label: 'Third' }],
  });
});

const word = fc.stringMatching(/^[a-z][a-z0-9]{0,10}$/);
const text = fc.option(fc.string({ maxLength: 50, unit: 'grapheme-ascii' }), { nil: null });
const option = fc.record(
  {
    label: word,
    value: word,
    displayOrder: fc.integer({ min: -1, max: 100 }),
    hidden: fc.boolean(),
    description: text,
  },
  { requiredKeys: ['label', 'value'] },
);
const property = fc.oneof(
  fc.record({ label: word, type: fc.constantFrom('bool', 'date', 'datetime', 'number', 'string'), description: text }),
  fc.record({
    label: word,
    type: fc.constant('enumeration'),
    description: text,
    options: fc.uniqueArray(option, { minLength: 1, maxLength: 5, selector: ({ value }) => value }),
  }),
);
const definition = fc.record({
  label: word,
  description: text,
  primaryObject: fc.constantFrom('CONTACT', 'COMPANY', 'NO_OBJECT', 'Pet_1'),
  includeDefaultProperties: fc.boolean(),
  propertyDefinitions: fc.array(property, { maxLength: 4 }),
});

test('a document that GET returns can be sent back without its read-only fields', async () => {
  const readOnly = await readOnlyFields();
  expect(readOnly('EventProperty')).toContain('fieldType');
  const writable = (schema: string, document: Json): Json =>
    Object.fromEntries(Object.entries(document).filter(([name]) => !readOnly(schema).includes(name)));
  const without = (document: Json, ...names: string[]): Json =>
    Object.fromEntries(Object.entries(document).filter(([name]) => !names.includes(name)));
  const times = ['createdAt', 'updatedAt'];
  const withoutIdentity = (document: Json): Json => ({
    ...without(document, 'id', 'fullyQualifiedName', 'objectTypeId', ...times),
    properties: (document['properties'] as Json[]).map((one) => without(one, ...times)),
  });
  await fc.assert(
    fc.asyncProperty(definition, async (given) => {
      const [{ key }, copier] = [await gateway.createKey(), await gateway.createKey()];
      const [status, created] = (await call('POST', DEFINITIONS_PATH, key, given)) as readonly [number, Json];
      expect([status, created]).toEqual([201, expect.anything()]);
      const path = `${DEFINITIONS_PATH}/${String(created['name'])}`;
      const [, read] = (await call('GET', path, key)) as readonly [number, { properties: Json[] } & Json];
      const custom = read.properties.filter(({ isDefault }) => isDefault === false);

      const { label, description } = writable('EventDefinition', read);
      expect((await call('PATCH', path, key, { label, description }))[0]).toBe(200);
      for (const one of custom) {
        const changes = without(writable('EventProperty', one), 'type');
        expect(await call('PATCH', `${path}/property`, key, changes)).toMatchObject([200, { options: one['options'] }]);
      }
      expect(withoutIdentity((await call('GET', path, key))[1] as Json)).toEqual(withoutIdentity(read));

      const propertyDefinitions = custom.map((one) => writable('EventProperty', one));
      const body = { ...writable('EventDefinition', read), propertyDefinitions };
      const [copied, copy] = await call('POST', DEFINITIONS_PATH, copier.key, body);
      expect([copied, copied === 201 ? withoutIdentity(copy as Json) : copy]).toEqual([201, withoutIdentity(read)]);
    }),
    { numRuns: sampledRuns(15, 4) },
  );
});

/** The fields that the OpenAPI document marks as read-only, by schema. */
async function readOnlyFields(): Promise<(schema: string) => string[]> {
  type Schemas = Record<string, { properties: Record<string, { readOnly?: boolean }> }>;
  const { body } = await gateway.rest<{ components: { schemas: Schemas } }>('GET', '/openapi.json');
  return (schema) =>
    Object.entries(body.components.schemas[schema]?.properties ?? {}).flatMap(([name, { readOnly }]) =>
      readOnly ? [name] : [],
    );
}
