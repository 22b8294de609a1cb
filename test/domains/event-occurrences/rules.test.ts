import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import {
  APIS,
  DEFINITIONS_PATH,
  type Input,
  PROPERTIES,
  define,
  send,
  stored,
  usage,
} from '../../support/fixtures/event-occurrences.ts';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import { dumpTables } from '../../support/fixtures/second-gateway.ts';

const gateway = useOwnGateway({ MONTHLY_OCCURRENCE_LIMIT: '1000' });
afterEach(() => gateway.setClock(undefined));

const AT = '2026-03-01T10:20:30.500Z';

describe.each(APIS)('through %s', (api) => {
  test('an occurrence with more than 500 properties is refused, however many they are', async () => {
    const { key } = await gateway.createKey();
    const eventName = await define(gateway, key, { propertyDefinitions: PROPERTIES });
    const properties = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`p${index}`, 1]));
    const refusal = await send(gateway, api, key, [{ eventName, email: 'a@example.com', properties }]);
    expect(JSON.stringify(refusal)).toContain('must have at most 500 names');
    expect(await stored(gateway, key, eventName)).toEqual([]);
  });

  test('an occurrence is stored with its values converted to the types of custom and default properties', async () => {
    const { key } = await gateway.createKey();
    const name = await define(gateway, key, { propertyDefinitions: PROPERTIES, includeDefaultProperties: true });
    const uuid = randomUUID();
    const properties = {
      price: '12.5',
      paid: 'true',
      day: Date.UTC(2026, 2, 1),
      moment: AT,
      colour: 'red',
      note: `it's a "?" \\ $1 ☃ ?`,
      svc_city: 'Bonn',
    };
    const given = {
      eventName: name,
      properties,
      email: 'Ada@Example.com',
      utk: 'token',
      objectId: '42',
      occurredAt: AT,
      uuid: uuid.toUpperCase(),
    };
    expect(await send(gateway, api, key, [given])).toBeUndefined();
    const values = { ...properties, price: 12.5, paid: true, day: '2026-03-01' };
    expect(await stored(gateway, key, name)).toEqual([
      { occurredAt: AT, email: 'ada@example.com', utk: 'token', objectId: '42', uuid, properties: values },
    ]);
  });

  test('occurredAt is now by default, and null is the same as an absent field', async () => {
    const { key } = await gateway.createKey();
    const name = await define(gateway, key, { propertyDefinitions: PROPERTIES });
    gateway.setClock(new Date(AT));
    const nothing = { utk: null, objectId: null, occurredAt: null, uuid: null };
    expect(
      await send(gateway, api, key, [
        { eventName: name, email: 'a@example.com', properties: { price: null }, ...nothing },
      ]),
    ).toBeUndefined();
    expect(await stored(gateway, key, name)).toEqual([
      { occurredAt: AT, email: 'a@example.com', utk: null, objectId: null, uuid: null, properties: {} },
    ]);
  });

  test('eventName can be the name, the fully qualified name or the id of a definition', async () => {
    const { key } = await gateway.createKey();
    const name = await define(gateway, key);
    const { body } = await gateway.rest<{ id: string; fullyQualifiedName: string }>(
      'GET',
      `${DEFINITIONS_PATH}/${name}`,
      { key },
    );
    const names = [name, body.fullyQualifiedName, body.id, body.id.toUpperCase()];
    expect(
      await send(
        gateway,
        api,
        key,
        names.map((eventName) => ({ eventName, email: 'a@example.com', properties: {} })),
      ),
    ).toBeUndefined();
    expect(await stored(gateway, key, name)).toHaveLength(4);
  });

  test('400: every fault is reported with its path, and nothing of the batch is stored', async () => {
    const { key } = await gateway.createKey();
    const name = await define(gateway, key, { propertyDefinitions: PROPERTIES });
    const good = { eventName: name, email: 'a@example.com', uuid: randomUUID() };
    const inputs = [
      { ...good, properties: {} },
      { ...good, properties: { price: 0.25, note: 'x'.repeat(257) } },
      { ...good, properties: JSON.parse('{"absent": 1, "__proto__": {"x": 1}, "constructor": 1}') },
      { eventName: name, properties: { colour: 'blue' } },
    ];
    const before = await dumpTables(gateway);
    expect(await send(gateway, api, key, inputs)).toEqual({
      status: 400,
      faults: [
        'inputs.1.properties.price: must be a number with at most one decimal and 15 digits; round it, or use a string property',
        'inputs.1.properties.note: must be at most 256 characters',
        'inputs.2.properties.absent: is not a known property',
        'inputs.2.properties.__proto__: is not a known property',
        'inputs.2.properties.constructor: is not a known property',
        'inputs.3: one of email, utk and objectId is required for an event of the primary object CONTACT',
        'inputs.3.properties.colour: must be one of "red"',
      ],
    });
    expect(await dumpTables(gateway)).toBe(before);
  });

  test('400: an empty batch, a batch that is too long, and an occurrence with invalid fields', async () => {
    const { key } = await gateway.createKey();
    const refusals = await Promise.all([
      send(gateway, api, key, []),
      send(
        gateway,
        api,
        key,
        Array.from({ length: 501 }, () => ({ eventName: 'x', properties: {} })),
      ),
      send(gateway, api, key, [{ eventName: '', properties: [1], email: 'nobody', utk: 'x'.repeat(256) }]),
    ]);
    expect(refusals).toEqual([
      { status: 400, faults: ['inputs: must have at least 1 item'] },
      { status: 400, faults: ['inputs: must have at most 500 items'] },
      {
        status: 400,
        faults: [
          'inputs.0.eventName: must not be empty',
          'inputs.0.properties: must be an object',
          'inputs.0.email: must be an e-mail address',
          'inputs.0.utk: must be at most 255 characters',
        ],
      },
    ]);
  });

  test('404: an unknown, a deleted and a foreign event; other occurrences of the batch are not stored', async () => {
    const [{ key }, stranger] = [await gateway.createKey(), await gateway.createKey()];
    const [name, gone, foreign] = [
      await define(gateway, key),
      await define(gateway, key),
      await define(gateway, stranger.key),
    ];
    expect((await gateway.rest('DELETE', `${DEFINITIONS_PATH}/${gone}`, { key })).status).toBe(204);
    for (const eventName of ['absent', gone, foreign, randomUUID(), 'a\0b', '\uD800', 'x"{},']) {
      const inputs = [
        { eventName: name, email: 'a@example.com', properties: {} },
        { eventName, email: 'a@example.com', properties: {} },
      ];
      expect(await send(gateway, api, key, inputs)).toEqual({
        status: 404,
        faults: [`inputs.1.eventName: event definition not found: ${JSON.stringify(eventName)}`],
      });
    }
    expect(await stored(gateway, key, name)).toEqual([]);
  });

  test('400: faults of several occurrences, including unknown events, are reported together', async () => {
    const { key } = await gateway.createKey();
    const name = await define(gateway, key, { propertyDefinitions: PROPERTIES });
    const inputs = [
      { eventName: 'absent', properties: {} },
      { eventName: name, email: 'a@example.com', properties: { price: 'x' } },
      { eventName: 'gone', properties: {} },
    ];
    expect(await send(gateway, api, key, inputs)).toEqual({
      status: 400,
      faults: [
        'inputs.0.eventName: event definition not found: "absent"',
        'inputs.1.properties.price: must be a number with at most one decimal and 15 digits',
        'inputs.2.eventName: event definition not found: "gone"',
      ],
    });
    const [absent, , gone] = inputs;
    expect(await send(gateway, api, key, [absent ?? {}, gone ?? {}])).toMatchObject({ status: 404 });
    expect(await stored(gateway, key, name)).toEqual([]);
  });

  test('uuid can be any text and is compared exactly, but a text that is a UUID ignores case', async () => {
    const { key } = await gateway.createKey();
    const name = await define(gateway, key);
    const uuid = randomUUID();
    const texts = ['order-123', 'Order-123', '☃ 注文', 'x'.repeat(255), uuid, uuid.toUpperCase(), 'order-123'];
    gateway.setClock(new Date(AT));
    expect(
      await send(
        gateway,
        api,
        key,
        texts.map((text) => ({ eventName: name, email: 'a@example.com', properties: {}, uuid: text })),
      ),
    ).toBeUndefined();
    const kept = (await stored(gateway, key, name)).map((occurrence) => String(occurrence['uuid']));
    expect(kept.toSorted()).toEqual(texts.slice(0, 5).toSorted());
  });

  test('an hs_ name is another name of the svc_ default property of the same name', async () => {
    const { key } = await gateway.createKey();
    const name = await define(gateway, key, {
      includeDefaultProperties: true,
      propertyDefinitions: [{ label: 'Own', name: 'hs_own', type: 'string' }],
    });
    const bare = await define(gateway, key);
    const one = (eventName: string, properties: Input) => ({ eventName, email: 'a@example.com', properties });
    expect(
      await send(gateway, api, key, [one(name, { hs_city: 'Bonn', hs_screen_width: 80, hs_own: 'kept' })]),
    ).toBeUndefined();
    expect((await stored(gateway, key, name)).map(({ properties }) => properties)).toEqual([
      { svc_city: 'Bonn', svc_screen_width: 80, hs_own: 'kept' },
    ]);
    expect(
      (
        await send(gateway, api, key, [
          one(name, { hs_city: 'Bonn', svc_city: 'Köln' }),
          one(name, { hs_absent: 1, hs_screen_width: 'wide' }),
          one(bare, { hs_city: 'Bonn' }),
        ])
      )?.faults,
    ).toEqual([
      'inputs.0.properties.hs_city: is another name of svc_city, which is given too; send only one of them',
      'inputs.1.properties.hs_absent: is not a known property',
      'inputs.1.properties.hs_screen_width: must be a number with at most one decimal and 15 digits',
      'inputs.2.properties.hs_city: is not a known property',
    ]);
  });

  test('a uuid is stored once for each definition, within a batch and across batches, until a year has passed', async () => {
    const { key } = await gateway.createKey();
    const [name, other] = [await define(gateway, key, { propertyDefinitions: PROPERTIES }), await define(gateway, key)];
    const uuid = randomUUID();
    const one = (note: string) => ({ eventName: name, email: 'a@example.com', uuid, properties: { note } });
    const notes = async () =>
      (await stored(gateway, key, name)).map(({ properties }) => (properties as { note: string }).note);
    gateway.setClock(new Date('2026-01-10T00:00:00Z'));
    expect(await send(gateway, api, key, [one('first'), one('second')])).toBeUndefined();
    gateway.setClock(new Date('2027-01-09T23:59:59Z'));
    expect(
      await send(gateway, api, key, [one('third'), { ...one(''), eventName: other, properties: {} }]),
    ).toBeUndefined();
    expect(await notes()).toEqual(['first']);
    expect(await stored(gateway, key, other)).toHaveLength(1);
    expect((await usage(gateway, key)).count).toBe('1');
    gateway.setClock(new Date('2027-01-10T00:00:00Z'));
    expect(await send(gateway, api, key, [one('fourth')])).toBeUndefined();
    expect(await notes()).toEqual(['first', 'fourth']);
  });

  test('403 without the scope; 400 for a key that acts in no organization', async () => {
    const { key } = await gateway.createKey({ scopes: ['behavioral_events.event_definitions.read_write'] });
    const input = { eventName: await define(gateway, key), email: 'a@example.com', properties: {} };
    expect(await send(gateway, api, key, [input])).toEqual({
      status: 403,
      faults: ['the API key lacks the scope analytics.behavioral_events.send'],
    });
    const nowhere = await gateway.createKey();
    await gateway.dependencies.sql.query('update api_key set organization_id = null where id = $1', [nowhere.keyId]);
    await gateway.dependencies.sql.query('delete from membership where user_id = $1', [nowhere.userId]);
    expect(await send(gateway, api, nowhere.key, [input])).toMatchObject({
      status: 400,
      faults: [expect.stringContaining('missing required organization information')],
    });
  });
});

test('a deleted property is refused in new occurrences; earlier occurrences keep its values', async () => {
  const { key } = await gateway.createKey();
  const name = await define(gateway, key, { propertyDefinitions: PROPERTIES });
  const input = { eventName: name, email: 'a@example.com', properties: { price: 1, colour: 'red' } };
  expect(await send(gateway, 'REST', key, [input])).toBeUndefined();
  expect((await gateway.rest('DELETE', `${DEFINITIONS_PATH}/${name}/property/price`, { key })).status).toBe(204);
  const options = [{ label: 'Blue', value: 'blue' }];
  expect(
    (await gateway.rest('PATCH', `${DEFINITIONS_PATH}/${name}/property`, { key, body: { name: 'colour', options } }))
      .status,
  ).toBe(200);
  expect((await send(gateway, 'REST', key, [input]))?.faults).toEqual([
    'inputs.0.properties.price: is not a known property',
    'inputs.0.properties.colour: must be one of "blue"',
  ]);
  expect((await stored(gateway, key, name)).map(({ properties }) => properties)).toEqual([{ price: 1, colour: 'red' }]);
});
