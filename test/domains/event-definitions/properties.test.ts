import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  type Door,
  E,
  done,
  doorsOf,
  graphqlDoor,
  refused,
  restDoor,
  settled,
} from '../../support/fixtures/event-definitions.ts';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterEach(() => gateway.setClock(undefined));
afterAll(() => gateway.close());

const A_AND_B = [
  { label: 'A', value: 'a' },
  { label: 'B', value: 'b' },
];

/** A new organization with the event `event`, seen through one door; `other` is the other door to the same. */
async function workspace(which: Door['door'], event: object = {}) {
  const { key } = await gateway.createKey();
  const [rest, graphql] = doorsOf(gateway, key);
  const [door, other] = which === 'REST' ? [rest, graphql] : [graphql, rest];
  done(await door.create({ label: 'Event', includeDefaultProperties: false, ...event }));
  return { key, door, other };
}

function many(count: number) {
  return Array.from({ length: count }, (_, index) => ({ label: `P${index}`, type: 'bool' }));
}

const conflict = (message: string, field: string) => ({
  status: 409,
  message,
  faults: [{ message: message.replace(`${field}: `, ''), code: 'conflict', in: field }],
});
const missingProperty = {
  status: 404,
  message: 'event property not found',
  faults: [{ message: 'event property not found', code: 'not_found', in: '' }],
};

test('the documents of REST are whole', async () => {
  const { key } = await workspace('REST');
  const body = { label: 'Paid by', type: 'enumeration', description: 'Means.', options: A_AND_B };
  const added = await gateway.rest('POST', `${E}/event/property`, { key, body });
  expect({ status: added.status, body: settled(added.body) }).toMatchInlineSnapshot(`
    {
      "body": {
        "archived": false,
        "createdAt": "<time>",
        "description": "Means.",
        "displayOrder": 32,
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
            "label": "A",
            "value": "a",
          },
          {
            "description": null,
            "displayOrder": 1,
            "hidden": false,
            "label": "B",
            "value": "b",
          },
        ],
        "type": "enumeration",
        "updatedAt": "<time>",
      },
      "status": 201,
    }
  `);
  const document = added.body as object;
  const changed = { ...document, label: 'How', description: null, updatedAt: expect.any(String) };
  const byBody = await gateway.rest('PATCH', `${E}/event/property`, {
    key,
    body: { name: 'paid_by', label: 'How', description: null },
  });
  expect({ status: byBody.status, body: byBody.body }).toEqual({ status: 200, body: changed });
  const byPath = await gateway.rest('PATCH', `${E}/event/property/paid_by`, { key, body: { label: 'Which way' } });
  expect({ status: byPath.status, body: byPath.body }).toEqual({
    status: 200,
    body: { ...changed, label: 'Which way' },
  });
  const read = await gateway.rest<{ properties: object[] }>('GET', `${E}/event`, { key });
  expect(read.body.properties).toEqual([byPath.body]);
  const deleted = await gateway.rest('DELETE', `${E}/event/property/paid_by`, { key });
  expect({ status: deleted.status, text: deleted.text }).toEqual({ status: 204, text: '' });
});

describe.each(['REST', 'GraphQL'] as const)('through %s', (which) => {
  test('each type is stored as its field type', async () => {
    const { door, other } = await workspace(which);
    for (const type of ['bool', 'date', 'datetime', 'enumeration', 'number', 'string']) {
      const options = type === 'enumeration' ? { options: A_AND_B } : {};
      expect(done(await door.addProperty('event', { label: type, type, ...options })).type).toBe(type);
    }
    expect(
      done(await other.read('event')).properties.map(
        ({ displayOrder, name, type, fieldType }) => `${displayOrder} ${name} ${type} ${fieldType}`,
      ),
    ).toEqual([
      '32 bool bool radio',
      '33 date date date',
      '34 datetime datetime date',
      '35 enumeration enumeration select',
      '36 number number number',
      '37 string string text',
    ]);
  });

  test('a change of label, description and options: absent stays, null clears the description', async () => {
    const { door, other } = await workspace(which);
    gateway.setClock(new Date('2026-01-01T00:00:00.250Z'));
    const added = done(
      await door.addProperty('event', { label: 'Kind', type: 'enumeration', description: 'Text', options: A_AND_B }),
    );
    expect(settled(added)).toMatchInlineSnapshot(`
      {
        "createdAt": "<time>",
        "description": "Text",
        "displayOrder": 32,
        "fieldType": "select",
        "isDefault": false,
        "label": "Kind",
        "name": "kind",
        "options": [
          {
            "label": "A",
            "value": "a",
          },
          {
            "label": "B",
            "value": "b",
          },
        ],
        "type": "enumeration",
        "updatedAt": "<time>",
      }
    `);
    expect(done(await door.updateProperty('event', 'kind', {}))).toEqual(added);
    gateway.setClock(new Date('2026-01-02T00:00:00.500Z'));
    const cleared = done(await door.updateProperty('event', 'kind', { description: null }));
    expect(cleared).toEqual({ ...added, description: null, updatedAt: '2026-01-02T00:00:00.500Z' });
    const options = [
      { label: 'Bee', value: 'b' },
      { label: 'C', value: 'c' },
    ];
    gateway.setClock(new Date('2026-01-03T00:00:00.000Z'));
    const changed = done(await door.updateProperty('event', 'kind', { label: 'Sort', options }));
    expect(changed).toEqual({ ...cleared, label: 'Sort', options, updatedAt: '2026-01-03T00:00:00.000Z' });
    expect(changed.createdAt).toBe('2026-01-01T00:00:00.250Z');
    expect(done(await other.read('event')).properties).toEqual([changed]);
  });

  test('a deleted property is gone, its name may be used again, and the order stays that of creation', async () => {
    const { door, other } = await workspace(which, { propertyDefinitions: [...many(3)] });
    done(await door.deleteProperty('event', 'p1'));
    expect(refused(await door.deleteProperty('event', 'p1'))).toEqual(missingProperty);
    expect(refused(await other.updateProperty('event', 'p1', { label: 'X' }))).toEqual(missingProperty);
    const again = done(await door.addProperty('event', { label: 'Again', name: 'p1', type: 'date' }));
    expect([again.name, again.type]).toEqual(['p1', 'date']);
    expect(done(await other.read('event')).properties.map(({ name }) => name)).toEqual(['p0', 'p2', 'p1']);
    for (const name of ['p0', 'p2', 'p1']) done(await door.deleteProperty('event', name));
    expect(done(await door.read('event')).properties).toEqual([]);
  });

  test('generated names: lettered, never reserved, numbered when taken; given names first', async () => {
    const { door } = await workspace(which, {
      propertyDefinitions: [
        { label: 'Size', type: 'string' },
        { label: 'Other', name: 'size', type: 'string' },
        { label: 'size!', type: 'string' },
        { label: '2nd', type: 'string' },
        { label: 'Svc Mine', type: 'string' },
        { label: 'Svc', type: 'string' },
        { label: 'svc', type: 'string' },
      ],
    });
    const names = done(await door.read('event')).properties.map(({ name }) => name);
    expect(names).toEqual(['size_2', 'size', 'size_3', 'p_2nd', 'p_svc_mine', 'svc', 'p_svc']);
    expect(done(await door.addProperty('event', { label: 'Size', type: 'bool' })).name).toBe('size_4');
    const message = 'name: size is taken by another property of this event definition; choose another name';
    expect(refused(await door.addProperty('event', { label: 'S', name: 'size', type: 'bool' }))).toEqual(
      conflict(message, 'name'),
    );
  });

  test('50 custom properties and not one more; default ones do not count; a deleted one makes room', async () => {
    const { door, other } = await workspace(which, { includeDefaultProperties: true, propertyDefinitions: many(50) });
    const message = 'an event definition has at most 50 custom properties; delete one first';
    const full = { status: 400, message, faults: [{ message, code: 'too_many_properties', in: '' }] };
    expect(refused(await door.addProperty('event', { label: 'One more', type: 'bool' }))).toEqual(full);
    done(await door.deleteProperty('event', 'p7'));
    done(await door.addProperty('event', { label: 'One more', type: 'bool' }));
    expect(refused(await other.addProperty('event', { label: 'Yet another', type: 'bool' }))).toEqual(full);
    expect(done(await door.read('event')).properties.filter(({ isDefault }) => !isDefault)).toHaveLength(50);
  });

  test('default properties cannot be changed or deleted, nor their names taken; without them there are none', async () => {
    const { door, other } = await workspace(which, { includeDefaultProperties: true });
    const refusal = (what: string) => ({
      status: 400,
      message: `name: svc_browser is a default property, which cannot be ${what}`,
      faults: [{ message: `svc_browser is a default property, which cannot be ${what}`, code: 'invalid', in: 'name' }],
    });
    expect(refused(await door.updateProperty('event', 'svc_browser', { label: 'X' }))).toEqual(refusal('changed'));
    expect(refused(await door.deleteProperty('event', 'svc_browser'))).toEqual(refusal('deleted'));
    const reserved = 'must not start with svc_, which is reserved for default properties';
    for (const name of ['svc_browser', 'svc_new']) {
      expect(refused(await door.addProperty('event', { label: 'X', name, type: 'string' }))).toEqual({
        status: 400,
        message: `name: ${reserved}`,
        faults: [{ message: reserved, code: 'custom', in: 'name' }],
      });
    }
    done(await door.create({ label: 'Bare', includeDefaultProperties: false }));
    expect(refused(await door.updateProperty('bare', 'svc_browser', { label: 'X' }))).toEqual(missingProperty);
    expect(refused(await other.deleteProperty('bare', 'svc_browser'))).toEqual(missingProperty);
  });

  test('409: the property of a custom matching cannot be deleted while it is in use', async () => {
    const { door, other } = await workspace(which, {
      propertyDefinitions: [
        { label: 'Key', type: 'string' },
        { label: 'Free', type: 'string' },
      ],
      customMatchingId: { primaryObjectRule: { targetObjectPropertyName: 'key', eventPropertyName: 'key' } },
    });
    const message = 'property key is used by the custom matching of this event definition and cannot be deleted';
    expect(refused(await door.deleteProperty('event', 'key'))).toEqual(conflict(message, ''));
    done(await door.deleteProperty('event', 'free'));
    expect(done(await other.read('event')).properties.map(({ name }) => name)).toEqual(['key']);
    expect(done(await door.updateProperty('event', 'key', { label: 'Changed' })).label).toBe('Changed');
  });

  test('404: a missing event or property, whatever its name is made of', async () => {
    const { door } = await workspace(which);
    const missingEvent = {
      status: 404,
      message: 'event definition not found',
      faults: [{ message: 'event definition not found', code: 'not_found', in: '' }],
    };
    for (const name of ['absent', 'UPPER', '%', "' or true --", 'a\0b', '\u{1F600}', '__proto__', 'constructor']) {
      expect(refused(await door.addProperty(name, { label: 'X', type: 'bool' }))).toEqual(missingEvent);
      expect(refused(await door.update(name, { label: 'X' }))).toEqual(missingEvent);
      expect(refused(await door.deleteProperty(name, 'x'))).toEqual(missingEvent);
      expect(refused(await door.deleteProperty('event', name))).toEqual(missingProperty);
      expect(refused(await door.updateProperty('event', name, { label: 'X' }))).toEqual(missingProperty);
    }
  });
});

test('400: what is refused of a property, in the same words on both doors', async () => {
  const { door, other, key } = await workspace('REST', {
    propertyDefinitions: [
      { label: 'Text', type: 'string' },
      { label: 'Kind', type: 'enumeration', options: A_AND_B },
    ],
  });
  const attempts: readonly ((through: Door) => ReturnType<Door['addProperty']>)[] = [
    (through) => through.addProperty('event', { label: '', name: 'A', type: 'bool', options: A_AND_B }),
    (through) => through.addProperty('event', { label: '…', type: 'enumeration' }),
    (through) => through.updateProperty('event', 'text', { options: A_AND_B }),
    (through) => through.updateProperty('event', 'text', { label: null }),
    (through) => through.updateProperty('event', 'kind', { options: null, label: 'x'.repeat(51) }),
    (through) => through.updateProperty('event', 'kind', { options: [] }),
    (through) => through.updateProperty('event', 'kind', { options: [...A_AND_B, { label: 'again', value: 'a' }] }),
  ];
  const messages = [];
  for (const attempt of attempts) {
    const first = refused(await attempt(door));
    expect(refused(await attempt(other))).toEqual(first);
    messages.push(`${first.status} ${first.message}`);
  }
  const patch = async (path: string, body: object) => {
    const answer = await gateway.rest<{ message: string }>('PATCH', `${E}/event/property${path}`, { key, body });
    messages.push(`${answer.status} ${answer.body.message}`);
  };
  await patch('', { label: 'X' });
  await patch('', { name: 'text', type: 'number' });
  await patch('/text', { name: 'text', label: 'X' });
  await patch('/kind', { options: [{ label: 1, value: null, hidden: true }] });
  expect(messages).toMatchInlineSnapshot(`
    [
      "400 label: must not be empty; name: must start with a letter and contain only lowercase letters, digits and underscores; options: is only for the type enumeration, not for bool",
      "400 options: is required for the type enumeration, with at least one option; label: leaves no name, because it has neither letters nor digits; give a name",
      "400 options: is only for the type enumeration; text is of type string",
      "400 label: must be a string",
      "400 label: must be at most 50 characters; options: must be an array",
      "400 options: must have at least 1 items",
      "400 options: must have values that differ from each other",
      "400 name: is required",
      "400 type: is not a known property",
      "400 name: is not a known property",
      "400 options.0.label: must be a string; options.0.value: must be a string; options.0.hidden: is not a known property",
    ]
  `);
  expect(done(await door.read('event')).properties.map(({ label }) => label)).toEqual(['Text', 'Kind']);
});

describe('replaceEventPropertyType', () => {
  const MUTATION = `mutation Replace($input: ReplaceEventPropertyTypeInput!) { replaceEventPropertyType(input: $input) {
    __typename
    ... on ReplaceEventPropertyTypePayload { eventDefinition { name } property { name label type description options { label value } displayOrder isDefault } }
    ... on Error { message code path }
  } }`;
  const replace = async (key: string, input: object) => {
    const { data, errors } = await gateway.graphql<{ replaceEventPropertyType: object }>(key, MUTATION, {
      input: { eventName: 'event', ...input },
    });
    expect(errors).toBeUndefined();
    return data?.replaceEventPropertyType;
  };

  test('gives a property another type in its place, and is what deleting and creating it again on REST comes to', async () => {
    const { key, other } = await workspace('GraphQL', {
      propertyDefinitions: [
        { label: 'First', type: 'string', description: 'Text' },
        { label: 'Second', type: 'bool' },
      ],
    });
    expect(await replace(key, { name: 'first', type: 'ENUMERATION', options: A_AND_B, label: 'One' })).toEqual({
      __typename: 'ReplaceEventPropertyTypePayload',
      eventDefinition: { name: 'event' },
      property: {
        name: 'first',
        label: 'One',
        type: 'ENUMERATION',
        description: 'Text',
        options: A_AND_B,
        displayOrder: 32,
        isDefault: false,
      },
    });
    await replace(key, { name: 'first', type: 'NUMBER', description: null });
    expect(
      done(await other.read('event')).properties.map(({ name, type, label, description, options }) => ({
        name,
        type,
        label,
        description,
        options,
      })),
    ).toEqual([
      { name: 'first', type: 'number', label: 'One', description: null, options: [] },
      { name: 'second', type: 'bool', label: 'Second', description: null, options: [] },
    ]);
    done(await other.deleteProperty('event', 'first'));
    expect(done(await other.addProperty('event', { name: 'first', label: 'One', type: 'date' })).type).toBe('date');
  });

  test('works on a full definition, and refuses what cannot be', async () => {
    const { key } = await workspace('GraphQL', {
      includeDefaultProperties: true,
      propertyDefinitions: [{ label: 'Key', type: 'string' }, ...many(49)],
      customMatchingId: { primaryObjectRule: { targetObjectPropertyName: 'key', eventPropertyName: 'key' } },
    });
    expect(await replace(key, { name: 'p3', type: 'DATE' })).toMatchObject({ property: { name: 'p3', type: 'DATE' } });
    expect(await replace(key, { name: 'key', type: 'NUMBER' })).toMatchObject({
      property: { name: 'key', type: 'NUMBER' },
    });
    expect([
      await replace(key, { name: 'key', type: 'BOOL' }),
      await replace(key, { name: 'svc_city', type: 'BOOL' }),
      await replace(key, { name: 'absent', type: 'BOOL' }),
      await replace(key, { eventName: 'absent', name: 'p3', type: 'BOOL' }),
      await replace(key, { name: 'p3', type: 'ENUMERATION' }),
      await replace(key, { name: 'p3', type: 'STRING', options: A_AND_B, label: '' }),
    ]).toMatchInlineSnapshot(`
      [
        {
          "__typename": "ConflictError",
          "code": "CONFLICT",
          "message": "property key is used by the custom matching of this event definition, which needs the type string or number",
          "path": null,
        },
        {
          "__typename": "ValidationError",
          "code": "INVALID_INPUT",
          "message": "name: svc_city is a default property, which cannot be replaced",
          "path": [
            "name",
          ],
        },
        {
          "__typename": "NotFoundError",
          "code": "NOT_FOUND",
          "message": "event property not found",
          "path": null,
        },
        {
          "__typename": "NotFoundError",
          "code": "NOT_FOUND",
          "message": "event definition not found",
          "path": null,
        },
        {
          "__typename": "ValidationError",
          "code": "INVALID_INPUT",
          "message": "options: is required for the type enumeration, with at least one option",
          "path": [
            "options",
          ],
        },
        {
          "__typename": "ValidationError",
          "code": "INVALID_INPUT",
          "message": "label: must not be empty; options: is only for the type enumeration, not for string",
          "path": [
            "label",
          ],
        },
      ]
    `);
  });
});

test('a mutation answers with the definition as it then is', async () => {
  const { key } = await workspace('REST');
  const run = async (mutation: string) => (await gateway.graphql(key, `mutation { ${mutation} }`)).data;
  const after = '{ eventDefinition { properties { name label } } }';
  expect([
    await run(
      `addEventProperty(input: { eventName: "event", label: "One", type: BOOL }) { ... on AddEventPropertyPayload ${after} }`,
    ),
    await run(
      `updateEventProperty(input: { eventName: "event", name: "one", label: "Uno" }) { ... on UpdateEventPropertyPayload ${after} }`,
    ),
    await run(
      `deleteEventProperty(input: { eventName: "event", name: "one" }) { ... on DeleteEventPropertyPayload { deletedName eventDefinition { properties { name } } } }`,
    ),
  ]).toEqual([
    { addEventProperty: { eventDefinition: { properties: [{ name: 'one', label: 'One' }] } } },
    { updateEventProperty: { eventDefinition: { properties: [{ name: 'one', label: 'Uno' }] } } },
    { deleteEventProperty: { deletedName: 'one', eventDefinition: { properties: [] } } },
  ]);
});

test('values of a wrong kind never pass the types of GraphQL', async () => {
  const { key } = await workspace('REST');
  const inputs = [
    { eventName: 'event', label: 'X', type: 'bool' },
    { eventName: 'event', label: 'X', type: 'BOOL', extra: 1 },
    { eventName: 'event', label: 5, type: 'BOOL' },
    { eventName: 'event', label: null, type: 'BOOL' },
    { eventName: 'event', label: 'X', type: 'ENUMERATION', options: [{ label: 'A' }] },
  ];
  const query = 'mutation Add($input: AddEventPropertyInput!) { addEventProperty(input: $input) { __typename } }';
  for (const input of inputs) {
    const { data, errors } = await gateway.graphql(key, query, { input });
    expect([data, errors?.length]).toEqual([undefined, 1]);
  }
  expect(done(await restDoor(gateway, key).read('event')).properties).toEqual([]);
  expect(done(await graphqlDoor(gateway, key).read('event')).properties).toEqual([]);
});
