import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { PRODUCT_FAMILIES, SUBSCRIPTION_LEVELS } from '../src/core/config.ts';
import { SCOPES } from '../src/core/operation.ts';
import { DEFAULT_PROPERTIES } from '../src/domains/event-definitions/default-properties.ts';
import { PRIMARY_OBJECTS } from '../src/domains/event-definitions/input.ts';
import { type Door, E, done, doorsOf, refused, settled } from './helpers/event-doors.ts';
import { type TestGateway, startTestGateway } from './helpers/gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterEach(() => gateway.setClock(undefined));
afterAll(() => gateway.close());

const BARE = { includeDefaultProperties: false };

/** A new organization, seen through one door; `other` is the other door to the same. */
async function workspace(which: Door['door'], options?: Parameters<TestGateway['createKey']>[0]) {
  const issued = await gateway.createKey(options);
  const [rest, graphql] = doorsOf(gateway, issued.key);
  return { ...issued, door: which === 'REST' ? rest : graphql, other: which === 'REST' ? graphql : rest };
}

/** The same on both doors of one organization: what was refused, and in which words. */
async function refusedByBoth(
  run: (door: Door) => Promise<Parameters<typeof refused>[0]>,
  options?: Parameters<TestGateway['createKey']>[0],
) {
  const { door, other } = await workspace('REST', options);
  const first = refused(await run(door));
  expect(refused(await run(other))).toEqual(first);
  return first;
}

test('the documents of REST are whole', async () => {
  const { key } = await gateway.createKey();
  const body = {
    label: 'Order completed',
    description: 'A customer has paid.',
    primaryObject: 'ORDER',
    includeDefaultProperties: false,
    customMatchingId: { primaryObjectRule: { targetObjectPropertyName: 'order_number', eventPropertyName: 'number' } },
    propertyDefinitions: [
      { label: 'Number', type: 'string' },
      { label: 'Paid by', type: 'enumeration', description: 'Means.', options: [{ label: 'Card', value: 'card' }] },
    ],
  };
  const created = await gateway.rest('POST', E, { key, body });
  expect({ status: created.status, body: settled(created.body) }).toMatchInlineSnapshot(`
    {
      "body": {
        "archived": false,
        "associations": [],
        "createdAt": "<time>",
        "customMatchingId": {
          "primaryObjectRule": {
            "eventPropertyName": "number",
            "targetObjectPropertyName": "order_number",
          },
        },
        "description": "A customer has paid.",
        "fullyQualifiedName": "pe<number>_order_completed",
        "id": "<uuid>",
        "includeDefaultProperties": false,
        "label": "Order completed",
        "labels": {
          "plural": null,
          "singular": "Order completed",
        },
        "name": "order_completed",
        "objectTypeId": "6-<number>",
        "primaryObject": "ORDER",
        "properties": [
          {
            "archived": false,
            "createdAt": "<time>",
            "description": null,
            "displayOrder": 32,
            "fieldType": "text",
            "groupName": "event_properties",
            "isDefault": false,
            "label": "Number",
            "name": "number",
            "options": [],
            "type": "string",
            "updatedAt": "<time>",
          },
          {
            "archived": false,
            "createdAt": "<time>",
            "description": "Means.",
            "displayOrder": 33,
            "fieldType": "select",
            "groupName": "event_properties",
            "isDefault": false,
            "label": "Paid by",
            "name": "paid_by",
            "options": [
              {
                "description": null,
                "displayOrder": 0,
                "hidden": false,
                "label": "Card",
                "value": "card",
              },
            ],
            "type": "enumeration",
            "updatedAt": "<time>",
          },
        ],
        "trackingType": "MANUAL",
        "updatedAt": "<time>",
      },
      "status": 201,
    }
  `);
  const read = await gateway.rest('GET', `${E}/order_completed`, { key });
  expect({ status: read.status, body: read.body }).toEqual({ status: 200, body: created.body });
  const listed = await gateway.rest('GET', `${E}?includeProperties=true`, { key });
  expect({ status: listed.status, body: listed.body }).toEqual({
    status: 200,
    body: { results: [created.body], total: 1 },
  });
  const bare = await gateway.rest('GET', E, { key });
  expect(bare.body).toEqual({ results: [{ ...(created.body as object), properties: [] }], total: 1 });
  const patched = await gateway.rest('PATCH', `${E}/order_completed`, {
    key,
    body: { label: 'Order paid', description: null },
  });
  expect({ status: patched.status, body: patched.body }).toEqual({
    status: 200,
    body: {
      ...(created.body as object),
      label: 'Order paid',
      labels: { singular: 'Order paid', plural: null },
      description: null,
      updatedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    },
  });
  const deleted = await gateway.rest('DELETE', `${E}/order_completed`, { key });
  expect({ status: deleted.status, text: deleted.text }).toEqual({ status: 204, text: '' });
  const gone = await gateway.rest('GET', `${E}/order_completed`, { key, headers: { 'X-Request-Id': 'r-1' } });
  expect({ status: gone.status, body: gone.body }).toMatchInlineSnapshot(`
    {
      "body": {
        "category": "OBJECT_NOT_FOUND",
        "correlationId": "r-1",
        "errors": [
          {
            "code": "not_found",
            "in": "",
            "message": "event definition not found",
          },
        ],
        "message": "event definition not found",
        "status": "error",
      },
      "status": 404,
    }
  `);
});

describe.each(['REST', 'GraphQL'] as const)('through %s', (which) => {
  test('a minimal definition gets every default, and the default properties first', async () => {
    const { door, other } = await workspace(which);
    const created = done(
      await door.create({ label: 'Item added', propertyDefinitions: [{ label: 'Size', type: 'number' }] }),
    );
    const { properties, ...rest } = created;
    expect(settled(rest)).toMatchInlineSnapshot(`
      {
        "createdAt": "<time>",
        "customMatchingId": null,
        "description": null,
        "fullyQualifiedName": "pe<number>_item_added",
        "id": "<uuid>",
        "includeDefaultProperties": true,
        "label": "Item added",
        "name": "item_added",
        "objectTypeId": "6-<number>",
        "primaryObject": "CONTACT",
        "updatedAt": "<time>",
      }
    `);
    expect(properties.map(({ name, isDefault, displayOrder }) => `${displayOrder} ${name} ${isDefault}`)).toEqual([
      ...DEFAULT_PROPERTIES.map(({ name }, index) => `${index} ${name} true`),
      `${DEFAULT_PROPERTIES.length} size false`,
    ]);
    expect(done(await door.read('item_added'))).toEqual(created);
    expect(done(await other.read('item_added'))).toEqual(created);
  });

  test('null for an optional field of a create is the same as absent', async () => {
    const { door } = await workspace(which);
    const nulls = {
      name: null,
      description: null,
      propertyDefinitions: null,
      primaryObject: null,
      customMatchingId: null,
      includeDefaultProperties: null,
    };
    const {
      id: _,
      createdAt: __,
      updatedAt: ___,
      ...created
    } = done(await door.create({ label: 'With nulls', ...nulls }));
    const {
      id: ____,
      createdAt: _____,
      updatedAt: ______,
      ...absent
    } = done(await (await workspace(which)).door.create({ label: 'With nulls' }));
    expect(settled({ ...created, properties: created.properties.length })).toEqual(
      settled({ ...absent, properties: absent.properties.length }),
    );
    const property = { label: 'Note', type: 'string', name: null, description: null, options: null };
    const second = done(await door.create({ label: 'Second', ...BARE, propertyDefinitions: [property] }));
    expect(second.properties.map(({ name, description, options }) => ({ name, description, options }))).toEqual([
      { name: 'note', description: null, options: [] },
    ]);
  });

  test('a definition answers to its name, its fully qualified name and its id, on every operation', async () => {
    const { door, other } = await workspace(which);
    const created = done(await door.create({ label: 'Seen', ...BARE }));
    const globalId = Buffer.from(`EventDefinition:${created.id}`).toString('base64');
    const references = ['seen', created.fullyQualifiedName, created.id, ...(which === 'GraphQL' ? [globalId] : [])];
    for (const reference of references) {
      expect(done(await door.read(reference))).toEqual(done(await other.read('seen')));
      const updated = done(await door.update(reference, { description: reference }));
      expect(updated.description).toBe(reference);
      expect(done(await door.addProperty(reference, { label: 'P', type: 'bool' })).name).toBe('p');
      expect(done(await door.updateProperty(reference, 'p', { label: 'Q' })).label).toBe('Q');
      done(await door.deleteProperty(reference, 'p'));
    }
    done(await door.delete(created.fullyQualifiedName));
    for (const reference of references) expect(refused(await door.read(reference)).status).toBe(404);
  });

  test('PATCH: what is absent stays, null clears the description, an empty change changes nothing', async () => {
    const { door, other } = await workspace(which);
    gateway.setClock(new Date('2026-01-01T00:00:00.250Z'));
    const created = done(await door.create({ label: 'First', description: 'Text', ...BARE }));
    expect(done(await door.update('first', {}))).toEqual(created);
    gateway.setClock(new Date('2026-01-02T00:00:00.500Z'));
    const relabelled = done(await door.update('first', { label: 'Renamed' }));
    expect(relabelled).toEqual({ ...created, label: 'Renamed', updatedAt: '2026-01-02T00:00:00.500Z' });
    gateway.setClock(new Date('2026-01-03T00:00:00.000Z'));
    const cleared = done(await door.update('first', { description: null }));
    expect(cleared).toEqual({ ...relabelled, description: null, updatedAt: '2026-01-03T00:00:00.000Z' });
    expect(cleared.createdAt).toBe('2026-01-01T00:00:00.250Z');
    expect(done(await other.read('first'))).toEqual(cleared);
  });

  test('a deleted definition is gone from reading, lists and counts, and its name is burnt for ever', async () => {
    const { door, other } = await workspace(which);
    done(await door.create({ label: 'Burnt', ...BARE }));
    done(await door.create({ label: 'Kept', ...BARE }));
    expect(done(await door.delete('burnt'))).toBeNull();
    expect(done(await door.search({}))).toEqual({ names: ['kept'], total: 1 });
    expect(done(await other.search({}))).toEqual({ names: ['kept'], total: 1 });
    for (const attempt of [
      door.read('burnt'),
      door.update('burnt', { label: 'X' }),
      door.delete('burnt'),
      other.read('burnt'),
    ]) {
      expect(refused(await attempt)).toEqual({
        status: 404,
        message: 'event definition not found',
        faults: [{ message: 'event definition not found', code: 'not_found', in: '' }],
      });
    }
    const message =
      'name: burnt was used by a deleted event definition and can never be used again; choose another name';
    expect(refused(await door.create({ label: 'Again', name: 'burnt' }))).toEqual({
      status: 409,
      message,
      faults: [{ message, code: 'conflict', in: 'name' }],
    });
    // A generated name steps aside for a burnt one as for a living one.
    expect(done(await door.create({ label: 'Burnt', ...BARE })).name).toBe('burnt_2');
    expect(done(await door.create({ label: 'Burnt', ...BARE })).name).toBe('burnt_3');
  });

  test('409: a given name that is taken', async () => {
    const { door, other } = await workspace(which);
    done(await door.create({ label: 'Mine', name: 'mine', ...BARE }));
    const message = 'name: mine is taken by another event definition; choose another name';
    expect(refused(await other.create({ label: 'Other', name: 'mine' }))).toEqual({
      status: 409,
      message,
      faults: [{ message, code: 'conflict', in: 'name' }],
    });
    // Names of other organizations are free.
    expect(done(await (await workspace(which)).door.create({ label: 'Mine', name: 'mine', ...BARE })).name).toBe(
      'mine',
    );
  });

  test('generated names: folded, lettered, numbered within 50 characters', async () => {
    const { door } = await workspace(which);
    const nameOf = async (label: string) => done(await door.create({ label, ...BARE })).name;
    expect(await nameOf('  Crème Brûlée — bestellt!  ')).toBe('creme_brulee_bestellt');
    expect(await nameOf('404 seen')).toBe('e_404_seen');
    expect(await nameOf('svc_browser')).toBe('svc_browser');
    const long = 'a'.repeat(49);
    expect(await nameOf(`${long} b`)).toBe(long);
    expect(await nameOf(`${long} b`)).toBe(`${'a'.repeat(48)}_2`);
    expect(await nameOf('a'.repeat(100))).toBe('a'.repeat(50));
    expect(await nameOf('a'.repeat(100))).toBe(`${'a'.repeat(48)}_3`);
  });

  test('every documented primary object and custom object names are kept as given', async () => {
    const { door } = await workspace(which);
    for (const primaryObject of [...PRIMARY_OBJECTS, 'wishlist', 'Custom_Object9', 'A'.repeat(100)]) {
      expect(done(await door.create({ label: 'Object', ...BARE, primaryObject })).primaryObject).toBe(primaryObject);
    }
  });

  test('custom matching names a custom or default property of type string or number', async () => {
    const { door, other } = await workspace(which);
    const matching = (eventPropertyName: string) => ({
      customMatchingId: { primaryObjectRule: { targetObjectPropertyName: 'key', eventPropertyName } },
    });
    const propertyDefinitions = [
      { label: 'Made up', type: 'string' },
      { label: 'N', type: 'number' },
      { label: 'B', type: 'bool' },
    ];
    for (const eventPropertyName of ['made_up', 'n', 'svc_page_id', 'svc_screen_width']) {
      const created = done(
        await door.create({ label: 'Matched', propertyDefinitions, ...matching(eventPropertyName) }),
      );
      expect(created.customMatchingId).toEqual(matching(eventPropertyName).customMatchingId);
      expect(done(await other.read(created.name)).customMatchingId).toEqual(created.customMatchingId);
    }
    const messageOf = async (input: object) => {
      const { status, message, faults } = refused(
        await door.create({ label: 'Matched', propertyDefinitions, ...input }),
      );
      return [status, message, faults.map((fault) => fault.in)].join(' | ');
    };
    expect([
      await messageOf(matching('missing')),
      await messageOf(matching('b')),
      await messageOf(matching('svc_device_type')),
      await messageOf({ ...BARE, ...matching('svc_page_id') }),
      await messageOf({ primaryObject: 'NO_OBJECT', ...matching('n') }),
    ]).toMatchInlineSnapshot(`
      [
        "400 | customMatchingId.primaryObjectRule.eventPropertyName: must name a property of this definition; missing is none | customMatchingId.primaryObjectRule.eventPropertyName",
        "400 | customMatchingId.primaryObjectRule.eventPropertyName: must name a property of type string or number; b is of type bool | customMatchingId.primaryObjectRule.eventPropertyName",
        "400 | customMatchingId.primaryObjectRule.eventPropertyName: must name a property of type string or number; svc_device_type is of type enumeration | customMatchingId.primaryObjectRule.eventPropertyName",
        "400 | customMatchingId.primaryObjectRule.eventPropertyName: must name a property of this definition; svc_page_id is none | customMatchingId.primaryObjectRule.eventPropertyName",
        "400 | customMatchingId: must not be given with the primaryObject NO_OBJECT, which has no records to match | customMatchingId",
      ]
    `);
    // Nothing of a refused creation is left behind, not even its name.
    expect(done(await door.create({ label: 'Matched', name: 'matched_5', ...BARE })).name).toBe('matched_5');
  });

  test('search: a part of the name, case ignored, % and _ as they stand', async () => {
    const { door } = await workspace(which);
    for (const name of ['cart_viewed', 'cartxviewed', 'page_viewed', 'order'])
      done(await door.create({ label: 'L', name, ...BARE }));
    const namesOf = async (searchString: string) => done(await door.search({ searchString }));
    expect(await namesOf('CART_V')).toEqual({ names: ['cart_viewed'], total: 1 });
    expect(await namesOf('art')).toEqual({ names: ['cart_viewed', 'cartxviewed'], total: 2 });
    expect(await namesOf('%')).toEqual({ names: [], total: 0 });
    expect(await namesOf('_')).toEqual({ names: ['cart_viewed', 'page_viewed'], total: 2 });
    expect(await namesOf('\\')).toEqual({ names: [], total: 0 });
    expect(await namesOf('\0')).toEqual({ names: [], total: 0 });
    expect(await namesOf('')).toEqual({ names: ['cart_viewed', 'cartxviewed', 'order', 'page_viewed'], total: 4 });
    // The fully qualified name and the label are not searched.
    expect(await namesOf('pe')).toEqual({ names: [], total: 0 });
    expect(done(await door.search({ sortOrder: 'DESC', limit: 2 }))).toEqual({
      names: ['page_viewed', 'order'],
      total: 4,
    });
    expect(done(await door.search({ searchString: 'viewed', limit: 1 }))).toEqual({ names: ['cart_viewed'], total: 3 });
  });
});

describe('what is refused, in the same words on both doors', () => {
  test('400: each rule of a creation, with path and bound', async () => {
    const { door, other } = await workspace('REST');
    const property = (given: object) => ({
      label: 'L',
      propertyDefinitions: [{ label: 'P', type: 'string', ...given }],
    });
    const cases: object[] = [
      { label: '' },
      { label: 'x'.repeat(101) },
      { label: 'a\0b' },
      { label: '!?' },
      { label: '注文' },
      { label: 'L', name: '' },
      { label: 'L', name: 'x'.repeat(51) },
      { label: 'L', name: 'Upper' },
      { label: 'L', name: '1st' },
      { label: 'L', name: '_x' },
      { label: 'L', name: 'a-b' },
      { label: 'L', name: 'a\n' },
      { label: 'L', description: 'x'.repeat(10_001) },
      { label: 'L', primaryObject: '' },
      { label: 'L', primaryObject: '9lives' },
      { label: 'L', primaryObject: 'A'.repeat(101) },
      {
        label: 'L',
        customMatchingId: { primaryObjectRule: { targetObjectPropertyName: '', eventPropertyName: 'Bad Name' } },
      },
      {
        label: 'L',
        propertyDefinitions: Array.from({ length: 51 }, (_, index) => ({ label: `P${index}`, type: 'bool' })),
      },
      property({ label: '' }),
      property({ label: 'x'.repeat(51) }),
      property({ label: '★' }),
      property({ name: 'svc_mine' }),
      property({ name: 'x'.repeat(51) }),
      property({ options: [{ label: 'A', value: 'a' }] }),
      property({ type: 'enumeration' }),
      property({ type: 'enumeration', options: null }),
      property({ type: 'enumeration', options: [] }),
      property({
        type: 'enumeration',
        options: [
          { label: 'A', value: 'a' },
          { label: 'B', value: 'a' },
        ],
      }),
      property({ type: 'enumeration', options: [{ label: '', value: '' }] }),
      {
        label: 'L',
        propertyDefinitions: [
          { label: 'A', name: 'a', type: 'bool' },
          { label: 'B', name: 'a', type: 'bool' },
        ],
      },
    ];
    const messages: string[] = [];
    for (const input of cases) {
      const first = refused(await door.create(input));
      expect(refused(await other.create(input))).toEqual(first);
      messages.push(`${first.status} ${first.message}`);
    }
    expect(messages).toMatchInlineSnapshot(`
      [
        "400 label: must not be empty",
        "400 label: must be at most 100 characters",
        "400 label: must be well-formed text without NUL characters",
        "400 label: leaves no name, because it has neither letters nor digits; give a name",
        "400 label: leaves no name, because it has neither letters nor digits; give a name",
        "400 name: must not be empty; name: must start with a letter and contain only lowercase letters, digits and underscores",
        "400 name: must be at most 50 characters; name: must start with a letter and contain only lowercase letters, digits and underscores",
        "400 name: must start with a letter and contain only lowercase letters, digits and underscores",
        "400 name: must start with a letter and contain only lowercase letters, digits and underscores",
        "400 name: must start with a letter and contain only lowercase letters, digits and underscores",
        "400 name: must start with a letter and contain only lowercase letters, digits and underscores",
        "400 name: must start with a letter and contain only lowercase letters, digits and underscores",
        "400 description: must be at most 10000 characters",
        "400 primaryObject: must be one of APPOINTMENT, COMPANY, CONTACT, COURSE, DEAL, LEAD, LISTING, ORDER, PROJECT, SERVICE, TICKET, NO_OBJECT, or a custom object name: a letter, then at most 99 letters, digits or underscores",
        "400 primaryObject: must be one of APPOINTMENT, COMPANY, CONTACT, COURSE, DEAL, LEAD, LISTING, ORDER, PROJECT, SERVICE, TICKET, NO_OBJECT, or a custom object name: a letter, then at most 99 letters, digits or underscores",
        "400 primaryObject: must be one of APPOINTMENT, COMPANY, CONTACT, COURSE, DEAL, LEAD, LISTING, ORDER, PROJECT, SERVICE, TICKET, NO_OBJECT, or a custom object name: a letter, then at most 99 letters, digits or underscores",
        "400 customMatchingId.primaryObjectRule.targetObjectPropertyName: must not be empty; customMatchingId.primaryObjectRule.eventPropertyName: must start with a letter and contain only lowercase letters, digits and underscores",
        "400 propertyDefinitions: must have at most 50 items",
        "400 propertyDefinitions.0.label: must not be empty",
        "400 propertyDefinitions.0.label: must be at most 50 characters",
        "400 propertyDefinitions.0.label: leaves no name, because it has neither letters nor digits; give a name",
        "400 propertyDefinitions.0.name: must not start with svc_, which is reserved for default properties",
        "400 propertyDefinitions.0.name: must be at most 50 characters; propertyDefinitions.0.name: must start with a letter and contain only lowercase letters, digits and underscores",
        "400 propertyDefinitions.0.options: is only for the type enumeration, not for string",
        "400 propertyDefinitions.0.options: is required for the type enumeration, with at least one option",
        "400 propertyDefinitions.0.options: is required for the type enumeration, with at least one option",
        "400 propertyDefinitions.0.options: must have at least 1 items",
        "400 propertyDefinitions.0.options: must have values that differ from each other",
        "400 propertyDefinitions.0.options.0.label: must not be empty; propertyDefinitions.0.options.0.value: must not be empty",
        "400 propertyDefinitions.1.name: a is the name of an earlier property; names must differ",
      ]
    `);
    expect(done(await door.search({})).total).toBe(0);
  });

  test('400: several faults are told together, also those of rules over several fields', async () => {
    const input = {
      label: '',
      name: 'A b',
      primaryObject: 'NO_OBJECT',
      customMatchingId: { primaryObjectRule: { targetObjectPropertyName: '', eventPropertyName: 'a' } },
      propertyDefinitions: [
        { label: '', type: 'enumeration' },
        { label: 'a', name: 'svc_a', type: 'date', options: [{ label: 'x', value: 'x' }] },
        { label: '—', type: 'bool' },
        { label: 'b', name: 'svc_a', type: 'bool' },
      ],
    };
    expect(await refusedByBoth((door) => door.create(input))).toMatchInlineSnapshot(`
      {
        "faults": [
          {
            "code": "too_small",
            "in": "label",
            "message": "must not be empty",
          },
          {
            "code": "invalid_format",
            "in": "name",
            "message": "must start with a letter and contain only lowercase letters, digits and underscores",
          },
          {
            "code": "too_small",
            "in": "propertyDefinitions.0.label",
            "message": "must not be empty",
          },
          {
            "code": "custom",
            "in": "propertyDefinitions.0.options",
            "message": "is required for the type enumeration, with at least one option",
          },
          {
            "code": "custom",
            "in": "propertyDefinitions.1.name",
            "message": "must not start with svc_, which is reserved for default properties",
          },
          {
            "code": "custom",
            "in": "propertyDefinitions.1.options",
            "message": "is only for the type enumeration, not for date",
          },
          {
            "code": "custom",
            "in": "propertyDefinitions.2.label",
            "message": "leaves no name, because it has neither letters nor digits; give a name",
          },
          {
            "code": "custom",
            "in": "propertyDefinitions.3.name",
            "message": "must not start with svc_, which is reserved for default properties",
          },
          {
            "code": "custom",
            "in": "propertyDefinitions.3.name",
            "message": "svc_a is the name of an earlier property; names must differ",
          },
          {
            "code": "too_small",
            "in": "customMatchingId.primaryObjectRule.targetObjectPropertyName",
            "message": "must not be empty",
          },
          {
            "code": "custom",
            "in": "customMatchingId",
            "message": "must not be given with the primaryObject NO_OBJECT, which has no records to match",
          },
        ],
        "message": "label: must not be empty; name: must start with a letter and contain only lowercase letters, digits and underscores; propertyDefinitions.0.label: must not be empty; propertyDefinitions.0.options: is required for the type enumeration, with at least one option; propertyDefinitions.1.name: must not start with svc_, which is reserved for default properties; propertyDefinitions.1.options: is only for the type enumeration, not for date; propertyDefinitions.2.label: leaves no name, because it has neither letters nor digits; give a name; propertyDefinitions.3.name: must not start with svc_, which is reserved for default properties; propertyDefinitions.3.name: svc_a is the name of an earlier property; names must differ; customMatchingId.primaryObjectRule.targetObjectPropertyName: must not be empty; customMatchingId: must not be given with the primaryObject NO_OBJECT, which has no records to match",
        "status": 400,
      }
    `);
  });

  test('400: values of another type and unknown properties at every depth, on REST', async () => {
    const { key } = await gateway.createKey();
    const messageOf = async (body: unknown, method = 'POST', path = E) => {
      const answer = await gateway.rest<{ message: string; errors: unknown[] }>(method, path, { key, body });
      return `${answer.status} ${answer.body.message}`;
    };
    expect([
      await messageOf({}),
      await messageOf({
        label: 5,
        name: 7,
        description: false,
        includeDefaultProperties: 'true',
        propertyDefinitions: {},
        customMatchingId: [],
      }),
      await messageOf({ label: null }),
      await messageOf({ label: 'L', propertyDefinitions: [null, 5, {}, { label: 'P', type: 'text' }] }),
      await messageOf({ label: 'L', customMatchingId: {} }),
      await messageOf({ label: 'L', customMatchingId: { primaryObjectRule: { extra: 1 } } }),
      await messageOf({
        label: 'L',
        extra: 1,
        propertyDefinitions: [
          { label: 'P', type: 'enumeration', extra: 2, options: [{ label: 'A', value: 'a', displayOrder: 1 }] },
        ],
      }),
      // A rule over several fields is told beside faults of the fields themselves.
      await messageOf({
        label: '…',
        extra: 1,
        primaryObject: 'NO_OBJECT',
        customMatchingId: 5,
        propertyDefinitions: [{ type: 'enumeration' }, { extra: 1, label: 5, type: 'bool', options: [] }],
      }),
      await messageOf({ label: 'L', propertyDefinitions: [{ label: 'A', name: 'a' }, { label: 'A', name: 'a' }, 5] }),
      await messageOf('{"label":"L","__proto__":{"name":"x"}}'),
      await messageOf('{"label":"L","constructor":1}'),
      await messageOf([]),
      await messageOf('null'),
      await messageOf('{"label":'),
      await messageOf({ label: 'L' }, 'PATCH', `${E}/a?label=x`),
    ]).toMatchInlineSnapshot(`
      [
        "400 label: is required",
        "400 label: must be a string; name: must be a string; description: must be a string; propertyDefinitions: must be an array; customMatchingId: must be an object; includeDefaultProperties: must be a boolean",
        "400 label: must be a string",
        "400 propertyDefinitions.0: must be an object; propertyDefinitions.1: must be an object; propertyDefinitions.2.label: is required; propertyDefinitions.2.type: must be one of "bool", "date", "datetime", "enumeration", "number", "string"; propertyDefinitions.3.type: must be one of "bool", "date", "datetime", "enumeration", "number", "string"",
        "400 customMatchingId.primaryObjectRule: is required",
        "400 customMatchingId.primaryObjectRule.targetObjectPropertyName: is required; customMatchingId.primaryObjectRule.eventPropertyName: is required; customMatchingId.primaryObjectRule.extra: is not a known property",
        "400 propertyDefinitions.0.options.0.displayOrder: is not a known property; propertyDefinitions.0.extra: is not a known property; extra: is not a known property",
        "400 propertyDefinitions.0.label: is required; propertyDefinitions.0.options: is required for the type enumeration, with at least one option; propertyDefinitions.1.label: must be a string; propertyDefinitions.1.options: must have at least 1 items; propertyDefinitions.1.extra: is not a known property; propertyDefinitions.1.options: is only for the type enumeration, not for bool; customMatchingId: must be an object; extra: is not a known property; customMatchingId: must not be given with the primaryObject NO_OBJECT, which has no records to match; label: leaves no name, because it has neither letters nor digits; give a name",
        "400 propertyDefinitions.0.type: must be one of "bool", "date", "datetime", "enumeration", "number", "string"; propertyDefinitions.1.type: must be one of "bool", "date", "datetime", "enumeration", "number", "string"; propertyDefinitions.2: must be an object; propertyDefinitions.1.name: a is the name of an earlier property; names must differ",
        "400 __proto__: is not a known property",
        "400 constructor: is not a known property",
        "400 the body must be a JSON object",
        "400 the body must be a JSON object",
        "400 the body is not well-formed JSON",
        "404 event definition not found",
      ]
    `);
  });

  test('400: what cannot change, null for what cannot be cleared', async () => {
    const { door, other, key } = await workspace('REST');
    done(await door.create({ label: 'A', ...BARE }));
    const cases = [
      { label: null },
      { label: '' },
      { label: 'x'.repeat(101) },
      { description: 'x'.repeat(10_001) },
      { label: null, description: 'a\0' },
    ];
    const messages = [];
    for (const changes of cases) {
      const first = refused(await door.update('a', changes));
      expect(refused(await other.update('a', changes))).toEqual(first);
      messages.push(`${first.status} ${first.message}`);
    }
    const immutable = {
      name: 'b',
      primaryObject: 'DEAL',
      includeDefaultProperties: true,
      customMatchingId: null,
      propertyDefinitions: [],
    };
    const answer = await gateway.rest<{ message: string }>('PATCH', `${E}/a`, { key, body: immutable });
    messages.push(`${answer.status} ${answer.body.message}`);
    expect(messages).toMatchInlineSnapshot(`
      [
        "400 label: must be a string",
        "400 label: must not be empty",
        "400 label: must be at most 100 characters",
        "400 description: must be at most 10000 characters",
        "400 label: must be a string; description: must be well-formed text without NUL characters",
        "400 name: is not a known property; primaryObject: is not a known property; includeDefaultProperties: is not a known property; customMatchingId: is not a known property; propertyDefinitions: is not a known property",
      ]
    `);
    // The path says which definition; the body cannot say another.
    const doubled = await gateway.rest<{ message: string }>('PATCH', `${E}/a`, {
      key,
      body: { eventName: 'b', label: 'B' },
    });
    expect([doubled.status, doubled.body.message]).toEqual([400, 'eventName: is not a known property']);
    expect(done(await door.read('a')).label).toBe('A');
  });

  test('403: a key without the scope', async () => {
    const scopes = SCOPES.filter((scope) => scope !== 'behavioral_events.event_definitions.read_write');
    const message = 'the API key lacks the scope behavioral_events.event_definitions.read_write';
    const expected = { status: 403, message, faults: [{ message, code: 'forbidden', in: '' }] };
    for (const run of EVERY_WRITE) expect(await refusedByBoth(run, { scopes })).toEqual(expected);
    for (const run of EVERY_READ)
      expect(await refusedByBoth(async (door) => withoutFaults(await run(door)), { scopes })).toEqual({
        ...expected,
        faults: [],
      });
  });

  test('403 below professional in every family; professional or higher in any one is enough', async () => {
    const { door, other, organizationId } = await workspace('REST');
    const subscribe = (subscriptions: object) =>
      gateway.dependencies.sql.query('update organization set subscriptions = $1 where id = $2', [
        JSON.stringify(subscriptions),
        organizationId,
      ]);
    const message =
      'event definitions need a subscription at professional level or higher in at least one product family';
    const expected = { status: 403, message, faults: [{ message, code: 'forbidden', in: '' }] };
    for (const level of ['free', 'starter'] as const) {
      await subscribe(Object.fromEntries(PRODUCT_FAMILIES.map((family) => [family, level])));
      for (const either of [door, other]) {
        for (const run of EVERY_WRITE) expect(refused(await run(either))).toEqual(expected);
        for (const run of EVERY_READ)
          expect(refused(withoutFaults(await run(either)))).toEqual({ ...expected, faults: [] });
      }
    }
    await subscribe({});
    expect(refused(await door.create({ label: 'A' }))).toEqual(expected);
    for (const family of PRODUCT_FAMILIES) {
      for (const level of SUBSCRIPTION_LEVELS.slice(SUBSCRIPTION_LEVELS.indexOf('professional'))) {
        await subscribe({ ...Object.fromEntries(PRODUCT_FAMILIES.map((each) => [each, 'free'])), [family]: level });
        expect(done(await door.create({ label: `${family} ${level}`, ...BARE })).name).toBe(`${family}_${level}`);
        done(await other.read(`${family}_${level}`));
      }
    }
  });

  test('400: no organization to act in', async () => {
    const { door, other } = await workUnbound();
    const message =
      'missing required organization information: send the header X-Organization-Id with the id or slug of one of your organizations';
    const expected = { status: 400, message, faults: [{ message, code: 'invalid', in: '' }] };
    for (const either of [door, other]) {
      for (const run of EVERY_WRITE) expect(refused(await run(either))).toEqual(expected);
      expect(refused(withoutFaults(await either.read('a')))).toEqual({ ...expected, faults: [] });
    }
  });
});

test('a definition of another organization looks like a missing one, byte for byte, and stays as it is', async () => {
  const mine = await workspace('REST');
  const theirs = await workspace('REST');
  const foreign = done(
    await theirs.door.create({ label: 'Theirs', ...BARE, propertyDefinitions: [{ label: 'P', type: 'bool' }] }),
  );
  const number = /^pe(\d+)_/.exec(foreign.fullyQualifiedName)?.[1];
  const missing = {
    theirs: 'absent',
    [foreign.fullyQualifiedName]: `pe${number}_absent`,
    [foreign.id]: crypto.randomUUID(),
  };
  for (const [foreignName, missingName] of Object.entries(missing)) {
    const attempts: readonly [string, string, object?][] = [
      ['GET', ''],
      ['PATCH', '', { label: 'X' }],
      ['DELETE', ''],
      ['POST', '/property', { label: 'X', type: 'bool' }],
      ['PATCH', '/property', { name: 'p', label: 'X' }],
      ['PATCH', '/property/p', { label: 'X' }],
      ['DELETE', '/property/p'],
    ];
    for (const [method, rest, body] of attempts) {
      const options = { key: mine.key, body, headers: { 'X-Request-Id': 'same' } };
      const answers = [
        await gateway.rest(method, `${E}/${foreignName}${rest}`, options),
        await gateway.rest(method, `${E}/${missingName}${rest}`, options),
      ];
      const [seen, expected] = answers.map(({ status, text, headers }) => ({ status, text, headers: [...headers] }));
      expect(seen).toEqual(expected);
      expect(seen?.status).toBe(404);
    }
    for (const run of [
      (door: Door, name: string) => door.read(name),
      (door: Door, name: string) => door.update(name, { label: 'X' }),
      (door: Door, name: string) => door.delete(name),
      (door: Door, name: string) => door.addProperty(name, { label: 'X', type: 'bool' }),
      (door: Door, name: string) => door.updateProperty(name, 'p', { label: 'X' }),
      (door: Door, name: string) => door.deleteProperty(name, 'p'),
    ]) {
      expect(refused(await run(mine.other, foreignName))).toEqual(refused(await run(mine.other, missingName)));
    }
  }
  expect(done(await mine.door.search({}))).toEqual({ names: [], total: 0 });
  expect(done(await mine.other.search({}))).toEqual({ names: [], total: 0 });
  expect(done(await theirs.door.read('theirs'))).toEqual(foreign);
});

const EVERY_WRITE: readonly ((door: Door) => Promise<Parameters<typeof refused>[0]>)[] = [
  (door) => door.create({ label: 'A' }),
  (door) => door.update('a', { label: 'A' }),
  (door) => door.delete('a'),
  (door) => door.addProperty('a', { label: 'A', type: 'bool' }),
  (door) => door.updateProperty('a', 'a', { label: 'A' }),
  (door) => door.deleteProperty('a', 'a'),
];

const EVERY_READ: readonly ((door: Door) => Promise<Parameters<typeof refused>[0]>)[] = [
  (door) => door.read('a'),
  (door) => door.search({}),
];

/** A query's error stands at the top of a GraphQL answer, where it has no list of faults. */
function withoutFaults(outcome: Parameters<typeof refused>[0]): Parameters<typeof refused>[0] {
  return 'refused' in outcome ? { refused: { ...outcome.refused, faults: [] } } : outcome;
}

/** A key that is bound to no organization, of a user who has two. */
async function workUnbound() {
  const first = await workspace('REST');
  const second = await gateway.createKey({ email: first.email });
  await gateway.dependencies.sql.query('update api_key set organization_id = null where id = $1', [first.keyId]);
  return { ...first, second: second.organizationId };
}
