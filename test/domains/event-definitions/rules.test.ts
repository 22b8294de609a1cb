import { afterEach, describe, expect, test } from 'vitest';
import { DEFAULT_PROPERTIES } from '../../../src/domains/event-definitions/default-properties.ts';
import { PRIMARY_OBJECTS } from '../../../src/domains/event-definitions/entity.ts';
import {
  type Api,
  DEFINITIONS_PATH,
  done,
  apisOf,
  refused,
  withPlaceholders,
} from '../../support/fixtures/event-definitions.ts';
import { type TestGateway, useTestGateway } from '../../support/fixtures/gateway.ts';

const gateway = useTestGateway();
afterEach(() => gateway.setClock(undefined));

const BARE = { includeDefaultProperties: false };

/** A new organization, with a client for the chosen API and, in `other`, for the other one. */
async function workspace(which: Api['api'], options?: Parameters<TestGateway['createKey']>[0]) {
  const issued = await gateway.createKey(options);
  const [rest, graphql] = apisOf(gateway, issued.key);
  return { ...issued, api: which === 'REST' ? rest : graphql, other: which === 'REST' ? graphql : rest };
}

test('REST returns the complete document of a definition from every operation', async () => {
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
  const created = await gateway.rest('POST', DEFINITIONS_PATH, { key, body });
  expect({ status: created.status, body: withPlaceholders(created.body) }).toMatchInlineSnapshot(`
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
            "description": "",
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
                "description": "",
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
  const read = await gateway.rest('GET', `${DEFINITIONS_PATH}/order_completed`, { key });
  expect({ status: read.status, body: read.body }).toEqual({ status: 200, body: created.body });
  const listed = await gateway.rest('GET', `${DEFINITIONS_PATH}?includeProperties=true`, { key });
  expect({ status: listed.status, body: listed.body }).toEqual({
    status: 200,
    body: { results: [created.body], total: 1 },
  });
  const bare = await gateway.rest('GET', DEFINITIONS_PATH, { key });
  expect(bare.body).toEqual({ results: [{ ...(created.body as object), properties: [] }], total: 1 });
  const patched = await gateway.rest('PATCH', `${DEFINITIONS_PATH}/order_completed`, {
    key,
    body: { label: 'Order paid', description: null },
  });
  expect({ status: patched.status, body: patched.body }).toEqual({
    status: 200,
    body: {
      ...(created.body as object),
      label: 'Order paid',
      labels: { singular: 'Order paid', plural: null },
      description: '',
      updatedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    },
  });
  const deleted = await gateway.rest('DELETE', `${DEFINITIONS_PATH}/order_completed`, { key });
  expect({ status: deleted.status, text: deleted.text }).toEqual({ status: 204, text: '' });
  const gone = await gateway.rest('GET', `${DEFINITIONS_PATH}/order_completed`, {
    key,
    headers: { 'X-Request-Id': 'r-1' },
  });
  expect({ status: gone.status, body: gone.body }).toMatchInlineSnapshot(`
    {
      "body": {
        "category": "OBJECT_NOT_FOUND",
        "correlationId": "r-1",
        "errors": [
          {
            "code": "NOT_FOUND",
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
  test('a creation with only a label gets all defaults, and the default properties come first', async () => {
    const { api, other } = await workspace(which);
    const created = done(
      await api.create({ label: 'Item added', propertyDefinitions: [{ label: 'Size', type: 'number' }] }),
    );
    const { properties, ...rest } = created;
    expect(withPlaceholders(rest)).toMatchInlineSnapshot(`
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
    expect(done(await api.read('item_added'))).toEqual(created);
    expect(done(await other.read('item_added'))).toEqual(created);
  });

  test('null for an optional field of a creation is the same as an absent field', async () => {
    const { api } = await workspace(which);
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
    } = done(await api.create({ label: 'With nulls', ...nulls }));
    const {
      id: ____,
      createdAt: _____,
      updatedAt: ______,
      ...absent
    } = done(await (await workspace(which)).api.create({ label: 'With nulls' }));
    expect(withPlaceholders({ ...created, properties: created.properties.length })).toEqual(
      withPlaceholders({ ...absent, properties: absent.properties.length }),
    );
    const property = { label: 'Note', type: 'string', name: null, description: null, options: null };
    const second = done(await api.create({ label: 'Second', ...BARE, propertyDefinitions: [property] }));
    expect(second.properties.map(({ name, description, options }) => ({ name, description, options }))).toEqual([
      { name: 'note', description: null, options: [] },
    ]);
  });

  test('every operation accepts the name, the fully qualified name and the id of a definition', async () => {
    const { api, other } = await workspace(which);
    const created = done(await api.create({ label: 'Seen', ...BARE }));
    const globalId = Buffer.from(`EventDefinition:${created.id}`).toString('base64');
    const references = ['seen', created.fullyQualifiedName, created.id, ...(which === 'GraphQL' ? [globalId] : [])];
    for (const reference of references) {
      expect(done(await api.read(reference))).toEqual(done(await other.read('seen')));
      const updated = done(await api.update(reference, { description: reference }));
      expect(updated.description).toBe(reference);
      expect(done(await api.addProperty(reference, { label: 'P', type: 'bool' })).name).toBe('p');
      expect(done(await api.updateProperty(reference, 'p', { label: 'Q' })).label).toBe('Q');
      done(await api.deleteProperty(reference, 'p'));
    }
    done(await api.delete(created.fullyQualifiedName));
    for (const reference of references) expect(refused(await api.read(reference)).status).toBe(404);
  });

  test('an update keeps absent fields, clears the description for null, and changes nothing if it is empty', async () => {
    const { api, other } = await workspace(which);
    gateway.setClock(new Date('2026-01-01T00:00:00.250Z'));
    const created = done(await api.create({ label: 'First', description: 'Text', ...BARE }));
    expect(done(await api.update('first', {}))).toEqual(created);
    gateway.setClock(new Date('2026-01-02T00:00:00.500Z'));
    const relabelled = done(await api.update('first', { label: 'Renamed' }));
    expect(relabelled).toEqual({ ...created, label: 'Renamed', updatedAt: '2026-01-02T00:00:00.500Z' });
    gateway.setClock(new Date('2026-01-03T00:00:00.000Z'));
    const cleared = done(await api.update('first', { description: null }));
    expect(cleared).toEqual({ ...relabelled, description: null, updatedAt: '2026-01-03T00:00:00.000Z' });
    expect(cleared.createdAt).toBe('2026-01-01T00:00:00.250Z');
    expect(done(await other.read('first'))).toEqual(cleared);
  });

  test('a deleted definition can be neither read nor listed, and its name cannot be used again', async () => {
    const { api, other } = await workspace(which);
    done(await api.create({ label: 'Burnt', ...BARE }));
    done(await api.create({ label: 'Kept', ...BARE }));
    expect(done(await api.delete('burnt'))).toBeNull();
    expect(done(await api.search({}))).toEqual({ names: ['kept'], total: 1 });
    expect(done(await other.search({}))).toEqual({ names: ['kept'], total: 1 });
    for (const attempt of [
      api.read('burnt'),
      api.update('burnt', { label: 'X' }),
      api.delete('burnt'),
      other.read('burnt'),
    ]) {
      expect(refused(await attempt)).toEqual({
        status: 404,
        message: 'event definition not found',
        faults: [{ message: 'event definition not found', code: 'NOT_FOUND', in: '' }],
      });
    }
    const message =
      'name: burnt was used by a deleted event definition and can never be used again; choose another name';
    expect(refused(await api.create({ label: 'Again', name: 'burnt' }))).toEqual({
      status: 409,
      message,
      faults: [{ message: message.replace('name: ', ''), code: 'NAME_USED_BEFORE', in: 'name' }],
    });
    // A generated name also avoids the names of deleted definitions.
    expect(done(await api.create({ label: 'Burnt', ...BARE })).name).toBe('burnt_2');
    expect(done(await api.create({ label: 'Burnt', ...BARE })).name).toBe('burnt_3');
  });

  test('409: a given name that is taken', async () => {
    const { api, other } = await workspace(which);
    done(await api.create({ label: 'Mine', name: 'mine', ...BARE }));
    const message = 'name: mine already exists as the name of another event definition; choose another name';
    expect(refused(await other.create({ label: 'Other', name: 'mine' }))).toEqual({
      status: 409,
      message,
      faults: [{ message: message.replace('name: ', ''), code: 'NAME_TAKEN', in: 'name' }],
    });
    // Names that other organizations use are available.
    expect(done(await (await workspace(which)).api.create({ label: 'Mine', name: 'mine', ...BARE })).name).toBe('mine');
  });

  test('a generated name is in ASCII, starts with a letter, is numbered if it is taken, and has at most 50 characters', async () => {
    const { api } = await workspace(which);
    const nameOf = async (label: string) => done(await api.create({ label, ...BARE })).name;
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
    const { api } = await workspace(which);
    for (const primaryObject of [...PRIMARY_OBJECTS, 'wishlist', 'Custom_Object9', 'A'.repeat(100)]) {
      expect(done(await api.create({ label: 'Object', ...BARE, primaryObject })).primaryObject).toBe(primaryObject);
    }
  });

  test('the custom matching must name a custom or default property of type string or number', async () => {
    const { api, other } = await workspace(which);
    const matching = (eventPropertyName: string) => ({
      customMatchingId: { primaryObjectRule: { targetObjectPropertyName: 'key', eventPropertyName } },
    });
    const propertyDefinitions = [
      { label: 'Made up', type: 'string' },
      { label: 'N', type: 'number' },
      { label: 'B', type: 'bool' },
    ];
    for (const eventPropertyName of ['made_up', 'n', 'svc_page_id', 'svc_screen_width']) {
      const created = done(await api.create({ label: 'Matched', propertyDefinitions, ...matching(eventPropertyName) }));
      expect(created.customMatchingId).toEqual(matching(eventPropertyName).customMatchingId);
      expect(done(await other.read(created.name)).customMatchingId).toEqual(created.customMatchingId);
    }
    const messageOf = async (input: object) => {
      const { status, message, faults } = refused(
        await api.create({ label: 'Matched', propertyDefinitions, ...input }),
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
        "400 | customMatchingId.primaryObjectRule.eventPropertyName: must be the name of a property of this definition; there is no property missing | customMatchingId.primaryObjectRule.eventPropertyName",
        "400 | customMatchingId.primaryObjectRule.eventPropertyName: must be the name of a property of type string or number; b is of type bool | customMatchingId.primaryObjectRule.eventPropertyName",
        "400 | customMatchingId.primaryObjectRule.eventPropertyName: must be the name of a property of type string or number; svc_device_type is of type enumeration | customMatchingId.primaryObjectRule.eventPropertyName",
        "400 | customMatchingId.primaryObjectRule.eventPropertyName: must be the name of a property of this definition; there is no property svc_page_id | customMatchingId.primaryObjectRule.eventPropertyName",
        "400 | customMatchingId: must not be given with the primaryObject NO_OBJECT, which has no records to match | customMatchingId",
      ]
    `);
    // A refused creation stores nothing and reserves no name.
    expect(done(await api.create({ label: 'Matched', name: 'matched_5', ...BARE })).name).toBe('matched_5');
  });

  test('a search finds any part of the name, ignores case, and has no wildcards', async () => {
    const { api } = await workspace(which);
    for (const name of ['cart_viewed', 'cartxviewed', 'page_viewed', 'order'])
      done(await api.create({ label: 'L', name, ...BARE }));
    const namesOf = async (searchString: string) => done(await api.search({ searchString }));
    expect(await namesOf('CART_V')).toEqual({ names: ['cart_viewed'], total: 1 });
    expect(await namesOf('art')).toEqual({ names: ['cart_viewed', 'cartxviewed'], total: 2 });
    expect(await namesOf('%')).toEqual({ names: [], total: 0 });
    expect(await namesOf('_')).toEqual({ names: ['cart_viewed', 'page_viewed'], total: 2 });
    expect(await namesOf('\\')).toEqual({ names: [], total: 0 });
    expect(await namesOf('\0')).toEqual({ names: [], total: 0 });
    expect(await namesOf('')).toEqual({ names: ['cart_viewed', 'cartxviewed', 'order', 'page_viewed'], total: 4 });
    // The fully qualified name and the label are not searched.
    expect(await namesOf('pe')).toEqual({ names: [], total: 0 });
    expect(done(await api.search({ sortOrder: 'DESC', limit: 2 }))).toEqual({
      names: ['page_viewed', 'order'],
      total: 4,
    });
    expect(done(await api.search({ searchString: 'viewed', limit: 1 }))).toEqual({ names: ['cart_viewed'], total: 3 });
  });
});
