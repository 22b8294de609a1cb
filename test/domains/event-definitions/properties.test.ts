import { afterEach, describe, expect, test } from 'vitest';
import {
  A_AND_B,
  type Api,
  DEFINITIONS_PATH,
  done,
  manyProperties,
  refused,
  withPlaceholders,
  workspaceWithEvent,
} from '../../support/fixtures/event-definitions.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';

const gateway = useTestGateway();
afterEach(() => gateway.setClock(undefined));

const workspace = (which: Api['api'], event?: object) => workspaceWithEvent(gateway, which, event);

const conflict = (message: string, field: string, code = 'NAME_TAKEN') => ({
  status: 409,
  message,
  faults: [{ message: message.replace(`${field}: `, ''), code, in: field }],
});
const missingProperty = {
  status: 404,
  message: 'event property not found',
  faults: [{ message: 'event property not found', code: 'NOT_FOUND', in: '' }],
};

test('REST returns the complete document of a property from every operation', async () => {
  const { key } = await workspace('REST');
  const body = { label: 'Paid by', type: 'enumeration', description: 'Means.', options: A_AND_B };
  const added = await gateway.rest('POST', `${DEFINITIONS_PATH}/event/property`, { key, body });
  expect({ status: added.status, body: withPlaceholders(added.body) }).toMatchInlineSnapshot(`
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
            "description": "",
            "displayOrder": 0,
            "hidden": false,
            "label": "A",
            "value": "a",
          },
          {
            "description": "",
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
  const changed = { ...document, label: 'How', description: '', updatedAt: expect.any(String) };
  const byBody = await gateway.rest('PATCH', `${DEFINITIONS_PATH}/event/property`, {
    key,
    body: { name: 'paid_by', label: 'How', description: null },
  });
  expect({ status: byBody.status, body: byBody.body }).toEqual({ status: 200, body: changed });
  const byPath = await gateway.rest('PATCH', `${DEFINITIONS_PATH}/event/property/paid_by`, {
    key,
    body: { label: 'Which way' },
  });
  expect({ status: byPath.status, body: byPath.body }).toEqual({
    status: 200,
    body: { ...changed, label: 'Which way' },
  });
  const read = await gateway.rest<{ properties: object[] }>('GET', `${DEFINITIONS_PATH}/event`, { key });
  expect(read.body.properties).toEqual([byPath.body]);
  const deleted = await gateway.rest('DELETE', `${DEFINITIONS_PATH}/event/property/paid_by`, { key });
  expect({ status: deleted.status, text: deleted.text }).toEqual({ status: 204, text: '' });
});

describe.each(['REST', 'GraphQL'] as const)('through %s', (which) => {
  test('each property type is returned with its field type', async () => {
    const { api, other } = await workspace(which);
    for (const type of ['bool', 'date', 'datetime', 'enumeration', 'number', 'string']) {
      const options = type === 'enumeration' ? { options: A_AND_B } : {};
      expect(done(await api.addProperty('event', { label: type, type, ...options })).type).toBe(type);
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

  test('an update changes label, description and options; absent fields stay unchanged, and null clears the description', async () => {
    const { api, other } = await workspace(which);
    gateway.setClock(new Date('2026-01-01T00:00:00.250Z'));
    const added = done(
      await api.addProperty('event', { label: 'Kind', type: 'enumeration', description: 'Text', options: A_AND_B }),
    );
    expect(withPlaceholders(added)).toMatchInlineSnapshot(`
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
    expect(done(await api.updateProperty('event', 'kind', {}))).toEqual(added);
    gateway.setClock(new Date('2026-01-02T00:00:00.500Z'));
    const cleared = done(await api.updateProperty('event', 'kind', { description: null }));
    expect(cleared).toEqual({ ...added, description: null, updatedAt: '2026-01-02T00:00:00.500Z' });
    const options = [
      { label: 'Bee', value: 'b' },
      { label: 'C', value: 'c' },
    ];
    gateway.setClock(new Date('2026-01-03T00:00:00.000Z'));
    const changed = done(await api.updateProperty('event', 'kind', { label: 'Sort', options }));
    expect(changed).toEqual({ ...cleared, label: 'Sort', options, updatedAt: '2026-01-03T00:00:00.000Z' });
    expect(changed.createdAt).toBe('2026-01-01T00:00:00.250Z');
    expect(done(await other.read('event')).properties).toEqual([changed]);
  });

  test('a deleted property is 404, its name can be used again, and the order remains that of creation', async () => {
    const { api, other } = await workspace(which, { propertyDefinitions: [...manyProperties(3)] });
    done(await api.deleteProperty('event', 'p1'));
    expect(refused(await api.deleteProperty('event', 'p1'))).toEqual(missingProperty);
    expect(refused(await other.updateProperty('event', 'p1', { label: 'X' }))).toEqual(missingProperty);
    const again = done(await api.addProperty('event', { label: 'Again', name: 'p1', type: 'date' }));
    expect([again.name, again.type]).toEqual(['p1', 'date']);
    expect(done(await other.read('event')).properties.map(({ name }) => name)).toEqual(['p0', 'p2', 'p1']);
    for (const name of ['p0', 'p2', 'p1']) done(await api.deleteProperty('event', name));
    expect(done(await api.read('event')).properties).toEqual([]);
  });

  test('a generated name starts with a letter, never with the reserved prefix, and is numbered if it is taken; given names take precedence', async () => {
    const { api } = await workspace(which, {
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
    const names = done(await api.read('event')).properties.map(({ name }) => name);
    expect(names).toEqual(['size_2', 'size', 'size_3', 'p_2nd', 'p_svc_mine', 'svc', 'p_svc']);
    expect(done(await api.addProperty('event', { label: 'Size', type: 'bool' })).name).toBe('size_4');
    const message =
      'name: size already exists as the name of another property of this event definition; choose another name';
    expect(refused(await api.addProperty('event', { label: 'S', name: 'size', type: 'bool' }))).toEqual(
      conflict(message, 'name'),
    );
  });

  test('a definition has at most 50 custom properties; default properties and deleted ones do not count', async () => {
    const { api, other } = await workspace(which, {
      includeDefaultProperties: true,
      propertyDefinitions: manyProperties(50),
    });
    const message = 'an event definition has at most 50 custom properties; delete one first';
    const full = { status: 400, message, faults: [{ message, code: 'TOO_MANY', in: '' }] };
    expect(refused(await api.addProperty('event', { label: 'One more', type: 'bool' }))).toEqual(full);
    done(await api.deleteProperty('event', 'p7'));
    done(await api.addProperty('event', { label: 'One more', type: 'bool' }));
    expect(refused(await other.addProperty('event', { label: 'Yet another', type: 'bool' }))).toEqual(full);
    expect(done(await api.read('event')).properties.filter(({ isDefault }) => !isDefault)).toHaveLength(50);
  });

  test('default properties can be neither changed nor deleted, and their names cannot be used; a definition without them answers 404', async () => {
    const { api, other } = await workspace(which, { includeDefaultProperties: true });
    const refusal = (what: string) => ({
      status: 400,
      message: `name: svc_browser is a default property, which cannot be ${what}`,
      faults: [
        { message: `svc_browser is a default property, which cannot be ${what}`, code: 'NOT_ALLOWED', in: 'name' },
      ],
    });
    expect(refused(await api.updateProperty('event', 'svc_browser', { label: 'X' }))).toEqual(refusal('changed'));
    expect(refused(await api.deleteProperty('event', 'svc_browser'))).toEqual(refusal('deleted'));
    const reserved = 'must not start with svc_, which is reserved for default properties';
    for (const name of ['svc_browser', 'svc_new']) {
      expect(refused(await api.addProperty('event', { label: 'X', name, type: 'string' }))).toEqual({
        status: 400,
        message: `name: ${reserved}`,
        faults: [{ message: reserved, code: 'NOT_ALLOWED', in: 'name' }],
      });
    }
    done(await api.create({ label: 'Bare', includeDefaultProperties: false }));
    expect(refused(await api.updateProperty('bare', 'svc_browser', { label: 'X' }))).toEqual(missingProperty);
    expect(refused(await other.deleteProperty('bare', 'svc_browser'))).toEqual(missingProperty);
  });

  test('409: a property cannot be deleted while the custom matching uses it', async () => {
    const { api, other } = await workspace(which, {
      propertyDefinitions: [
        { label: 'Key', type: 'string' },
        { label: 'Free', type: 'string' },
      ],
      customMatchingId: { primaryObjectRule: { targetObjectPropertyName: 'key', eventPropertyName: 'key' } },
    });
    const message = 'property key is used by the custom matching of this event definition and cannot be deleted';
    expect(refused(await api.deleteProperty('event', 'key'))).toEqual(conflict(message, '', 'IN_USE'));
    done(await api.deleteProperty('event', 'free'));
    expect(done(await other.read('event')).properties.map(({ name }) => name)).toEqual(['key']);
    expect(done(await api.updateProperty('event', 'key', { label: 'Changed' })).label).toBe('Changed');
  });

  test('404: a missing event or property, whatever its name contains', async () => {
    const { api } = await workspace(which);
    const missingEvent = {
      status: 404,
      message: 'event definition not found',
      faults: [{ message: 'event definition not found', code: 'NOT_FOUND', in: '' }],
    };
    for (const name of ['absent', 'UPPER', '%', "' or true --", 'a\0b', '\u{1F600}', '__proto__', 'constructor']) {
      expect(refused(await api.addProperty(name, { label: 'X', type: 'bool' }))).toEqual(missingEvent);
      expect(refused(await api.update(name, { label: 'X' }))).toEqual(missingEvent);
      expect(refused(await api.deleteProperty(name, 'x'))).toEqual(missingEvent);
      expect(refused(await api.deleteProperty('event', name))).toEqual(missingProperty);
      expect(refused(await api.updateProperty('event', name, { label: 'X' }))).toEqual(missingProperty);
    }
  });
});
