import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { dumpTables } from '../../support/fixtures/second-gateway.ts';

const E = '/events/2026-03/event-definitions';
const DOORS = ['REST', 'GraphQL'] as const;
type DoorName = (typeof DOORS)[number];

let gateway: TestGateway;
/** Another process on the same database. */
let beside: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ MONTHLY_OCCURRENCE_LIMIT: '1000' });
  beside = await startTestGateway({ MONTHLY_OCCURRENCE_LIMIT: '1000' }, { beside: gateway });
});
afterEach(() => [gateway, beside].forEach((each) => each.setClock(undefined)));
afterAll(async () => {
  await beside.close();
  await gateway.close();
});

interface Refusal {
  readonly status: number;
  readonly faults: readonly string[];
}
type Input = Record<string, unknown>;

const STATUS_OF: Record<string, number> = { INVALID_INPUT: 400, FORBIDDEN: 403, NOT_FOUND: 404, RATE_LIMITED: 429 };

/** Sends a batch; undefined when it was taken. */
async function send(door: DoorName, key: string, inputs: readonly Input[], by = gateway): Promise<Refusal | undefined> {
  if (door === 'REST') {
    const answer = await by.rest<RestError>('POST', '/events/2026-03/send/batch', { key, body: { inputs } });
    return answer.status === 204 && answer.text === '' ? undefined : refusalOfRest(answer);
  }
  const query = `mutation($input: SendEventOccurrencesInput!) { sendEventOccurrences(input: $input) { __typename
    ... on SendEventOccurrencesPayload { acceptedCount } ... on Error { message code } ... on ValidationError { faults { path message } } } }`;
  const { data, errors } = await by.graphql<{ sendEventOccurrences: GraphQLResult }>(key, query, { input: { inputs } });
  if (!data)
    return { status: STATUS_OF[String(errors?.[0]?.extensions?.['code'])] ?? 0, faults: [errors?.[0]?.message ?? ''] };
  const { __typename, acceptedCount, message = '', code = '', faults } = data.sendEventOccurrences;
  if (__typename === 'SendEventOccurrencesPayload' && acceptedCount === inputs.length) return undefined;
  const listed = faults?.map((fault) => `${fault.path.join('.')}: ${fault.message}`);
  return { status: STATUS_OF[code] ?? 0, faults: listed ?? [message] };
}

interface RestError {
  readonly message: string;
  readonly category: string;
  readonly errors: { message: string; in: string }[];
}

function refusalOfRest({ status, body }: { status: number; body: RestError }): Refusal {
  const named = body.category === 'VALIDATION_ERROR';
  return { status, faults: body.errors.map((fault) => (named ? `${fault.in}: ${fault.message}` : fault.message)) };
}

interface GraphQLResult {
  readonly __typename: string;
  readonly acceptedCount?: number;
  readonly message?: string;
  readonly code?: string;
  readonly faults?: { path: string[]; message: string }[];
}

/** A name of its own, so that each test has a definition of its own. */
async function define(key: string, body: Input = {}): Promise<string> {
  const name = `event_${randomUUID().slice(0, 8)}`;
  const given = { label: 'Event', name, includeDefaultProperties: false, ...body };
  const answer = await gateway.rest<{ name: string }>('POST', E, { key, body: given });
  expect([answer.status, answer.text.slice(0, 300)]).toEqual([201, expect.any(String)]);
  return name;
}

const FIELDS = 'occurredAt email utk objectId uuid properties';

async function gql<Data>(key: string, query: string, variables: Input = {}): Promise<Data> {
  const { data, errors } = await gateway.graphql<Data>(key, query, variables);
  if (!data || errors) throw new Error(JSON.stringify(errors));
  return data;
}

async function stored(key: string, name: string): Promise<Input[]> {
  const query = `query($name: String!) { eventDefinition(name: $name) { occurrences(direction: ASC, first: 100) { totalCount nodes { ${FIELDS} } } } }`;
  type Data = { eventDefinition: { occurrences: { totalCount: number; nodes: Input[] } } };
  const { occurrences } = (await gql<Data>(key, query, { name })).eventDefinition;
  expect(occurrences.totalCount).toBe(occurrences.nodes.length);
  return occurrences.nodes;
}

async function usage(key: string) {
  const query = '{ viewer { organization { monthlyOccurrenceUsage { month count limit resetsAt } } } }';
  type Data = {
    viewer: { organization: { monthlyOccurrenceUsage: { month: string; count: string; limit: string | null } } };
  };
  return (await gql<Data>(key, query)).viewer.organization.monthlyOccurrenceUsage;
}

const AT = '2026-03-01T10:20:30.500Z';
const PROPERTIES = [
  { label: 'Price', name: 'price', type: 'number' },
  { label: 'Paid', name: 'paid', type: 'bool' },
  { label: 'Day', name: 'day', type: 'date' },
  { label: 'Moment', name: 'moment', type: 'datetime' },
  { label: 'Colour', name: 'colour', type: 'enumeration', options: [{ label: 'Red', value: 'red' }] },
  { label: 'Note', name: 'note', type: 'string' },
];

describe.each(DOORS)('through %s', (door) => {
  test('an occurrence is stored with its values as their properties hold them, and default properties serve', async () => {
    const { key } = await gateway.createKey();
    const name = await define(key, { propertyDefinitions: PROPERTIES, includeDefaultProperties: true });
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
    expect(await send(door, key, [given])).toBeUndefined();
    const values = { ...properties, price: 12.5, paid: true, day: '2026-03-01' };
    expect(await stored(key, name)).toEqual([
      { occurredAt: AT, email: 'ada@example.com', utk: 'token', objectId: '42', uuid, properties: values },
    ]);
  });

  test('without a time it occurs now, and null is the same as absent everywhere', async () => {
    const { key } = await gateway.createKey();
    const name = await define(key, { propertyDefinitions: PROPERTIES });
    gateway.setClock(new Date(AT));
    const nothing = { utk: null, objectId: null, occurredAt: null, uuid: null };
    expect(
      await send(door, key, [{ eventName: name, email: 'a@example.com', properties: { price: null }, ...nothing }]),
    ).toBeUndefined();
    expect(await stored(key, name)).toEqual([
      { occurredAt: AT, email: 'a@example.com', utk: null, objectId: null, uuid: null, properties: {} },
    ]);
  });

  test('a definition is meant by its name, its fully qualified name or its id', async () => {
    const { key } = await gateway.createKey();
    const name = await define(key);
    const { body } = await gateway.rest<{ id: string; fullyQualifiedName: string }>('GET', `${E}/${name}`, { key });
    const names = [name, body.fullyQualifiedName, body.id, body.id.toUpperCase()];
    expect(
      await send(
        door,
        key,
        names.map((eventName) => ({ eventName, email: 'a@example.com', properties: {} })),
      ),
    ).toBeUndefined();
    expect(await stored(key, name)).toHaveLength(4);
  });

  test('400: every fault is told with its place, and nothing of the batch is stored', async () => {
    const { key } = await gateway.createKey();
    const name = await define(key, { propertyDefinitions: PROPERTIES });
    const good = { eventName: name, email: 'a@example.com', uuid: randomUUID() };
    const inputs = [
      { ...good, properties: {} },
      { ...good, properties: { price: 0.25, note: 'x'.repeat(257) } },
      { ...good, properties: JSON.parse('{"absent": 1, "__proto__": {"x": 1}, "constructor": 1}') },
      { eventName: name, properties: { colour: 'blue' } },
    ];
    const before = await dumpTables(gateway);
    expect(await send(door, key, inputs)).toEqual({
      status: 400,
      faults: [
        'inputs.1.properties.price: must be a number with at most one decimal and 15 digits',
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

  test('400: what is not even of the shape of an occurrence', async () => {
    const { key } = await gateway.createKey();
    const refusals = await Promise.all([
      send(door, key, []),
      send(
        door,
        key,
        Array.from({ length: 501 }, () => ({ eventName: 'x', properties: {} })),
      ),
      send(door, key, [{ eventName: '', properties: [], email: 'nobody', objectId: '', utk: 'x'.repeat(256) }]),
    ]);
    expect(refusals).toEqual([
      { status: 400, faults: ['inputs: must have at least 1 items'] },
      { status: 400, faults: ['inputs: must have at most 500 items'] },
      {
        status: 400,
        faults: [
          'inputs.0.eventName: must not be empty',
          'inputs.0.properties: must be an object',
          'inputs.0.email: must be an e-mail address',
          'inputs.0.utk: must be at most 255 characters',
          'inputs.0.objectId: must not be empty',
        ],
      },
    ]);
  });

  test('404: an unknown, a deleted and a foreign event; neighbours are not stored', async () => {
    const [{ key }, stranger] = [await gateway.createKey(), await gateway.createKey()];
    const [name, gone, foreign] = [await define(key), await define(key), await define(stranger.key)];
    expect((await gateway.rest('DELETE', `${E}/${gone}`, { key })).status).toBe(204);
    for (const eventName of ['absent', gone, foreign, randomUUID(), 'a\0b', '\uD800', 'x"{},']) {
      const inputs = [
        { eventName: name, email: 'a@example.com', properties: {} },
        { eventName, email: 'a@example.com', properties: {} },
      ];
      expect(await send(door, key, inputs)).toEqual({
        status: 404,
        faults: ['inputs.1.eventName: event definition not found'],
      });
    }
    expect(await stored(key, name)).toEqual([]);
  });

  test('identifiers: a contact by any, another object by objectId alone', async () => {
    const { key } = await gateway.createKey();
    const [contact, company] = [await define(key), await define(key, { primaryObject: 'COMPANY' })];
    const tried = async (eventName: string, identifiers: Input) =>
      (await send(door, key, [{ eventName, properties: {}, ...identifiers }]))?.faults;
    expect(await tried(contact, { utk: 'token' })).toBeUndefined();
    expect(await tried(contact, { objectId: '1' })).toBeUndefined();
    expect(await tried(company, { objectId: '1' })).toBeUndefined();
    expect(await tried(company, {})).toEqual([
      'inputs.0.objectId: is required for an event of the primary object COMPANY',
    ]);
    expect(await tried(company, { objectId: '1', email: 'a@example.com' })).toEqual([
      'inputs.0.email: must not be given for an event of the primary object COMPANY',
    ]);
    const odd = await define(key, { primaryObject: 'constructor' });
    expect(await tried(odd, { utk: 'token' })).toHaveLength(2);
    expect(await tried(odd, { objectId: '1' })).toBeUndefined();
  });

  test('2.5: for NO_OBJECT an identifier is refused, nothing is stored, and the month counts all the same', async () => {
    const { key } = await gateway.createKey();
    const name = await define(key, { primaryObject: 'NO_OBJECT', propertyDefinitions: PROPERTIES });
    for (const identifiers of [{ email: 'a@example.com' }, { utk: 'token' }, { objectId: '1' }]) {
      const [identifier] = Object.keys(identifiers);
      expect(await send(door, key, [{ eventName: name, properties: {}, ...identifiers }])).toEqual({
        status: 400,
        faults: [`inputs.0.${identifier}: must not be given for an event of the primary object NO_OBJECT`],
      });
    }
    expect(await send(door, key, [{ eventName: name, properties: { price: 'x' } }])).toMatchObject({ status: 400 });
    const secret = randomUUID();
    expect(await send(door, key, [{ eventName: name, properties: { note: secret } }])).toBeUndefined();
    expect(await dumpTables(gateway)).not.toContain(secret);
    expect(await stored(key, name)).toEqual([]);
    expect(await usage(key)).toMatchObject({ count: '1', limit: '1000' });
  });

  test('a uuid counts once per definition: within a batch, over batches, and again after a year', async () => {
    const { key } = await gateway.createKey();
    const [name, other] = [await define(key, { propertyDefinitions: PROPERTIES }), await define(key)];
    const uuid = randomUUID();
    const one = (note: string) => ({ eventName: name, email: 'a@example.com', uuid, properties: { note } });
    const notes = async () => (await stored(key, name)).map(({ properties }) => (properties as { note: string }).note);
    gateway.setClock(new Date('2026-01-10T00:00:00Z'));
    expect(await send(door, key, [one('first'), one('second')])).toBeUndefined();
    gateway.setClock(new Date('2027-01-09T23:59:59Z'));
    expect(await send(door, key, [one('third'), { ...one(''), eventName: other, properties: {} }])).toBeUndefined();
    expect(await notes()).toEqual(['first']);
    expect(await stored(key, other)).toHaveLength(1);
    expect((await usage(key)).count).toBe('1');
    gateway.setClock(new Date('2027-01-10T00:00:00Z'));
    expect(await send(door, key, [one('fourth')])).toBeUndefined();
    expect(await notes()).toEqual(['first', 'fourth']);
  });

  test('2.3: custom matching links by what was registered beforehand, and no identifier is needed', async () => {
    const { key } = await gateway.createKey();
    const matching = (eventPropertyName: string) => ({
      propertyDefinitions: PROPERTIES,
      customMatchingId: { primaryObjectRule: { targetObjectPropertyName: 'member_number', eventPropertyName } },
    });
    const [byNote, byPrice] = [await define(key, matching('note')), await define(key, matching('price'))];
    await register(key, {
      objectType: 'CONTACT',
      propertyName: 'member_number',
      identifiers: [
        { value: 'A?7', objectId: '7' },
        { value: '12.5', objectId: '8' },
      ],
    });
    await register(key, {
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
    expect(await send(door, key, [...timed, { eventName: byPrice, properties: { price: '12.5' } }])).toBeUndefined();
    expect((await stored(key, byNote)).map(({ objectId }) => objectId)).toEqual(['7', null, null, '1', '7']);
    expect((await stored(key, byPrice)).map(({ objectId }) => objectId)).toEqual(['8']);
    await register(key, {
      objectType: 'CONTACT',
      propertyName: 'member_number',
      identifiers: [{ value: 'A?7', objectId: '70' }],
    });
    expect(
      await send(door, key, [{ eventName: byNote, properties: { note: 'A?7' }, occurredAt: '2026-04-01T00:00:00Z' }]),
    ).toBeUndefined();
    expect((await stored(key, byNote)).map(({ objectId }) => objectId)).toEqual(['7', null, null, '1', '7', '70']);
  });

  test('of 20 at once with one uuid, over two processes, one is stored and counted', async () => {
    const { key } = await gateway.createKey();
    const [a, b] = [await define(key), await define(key)];
    const uuids = [randomUUID(), randomUUID()];
    const sent = Array.from({ length: 20 }, (_, index) => {
      const inputs = [a, b].flatMap((eventName) =>
        uuids.map((uuid) => ({ eventName, uuid, email: `${index}@example.com`, properties: {} })),
      );
      return send(door, key, index % 4 < 2 ? inputs : inputs.toReversed(), index % 2 === 0 ? gateway : beside);
    });
    expect(new Set(await Promise.all(sent))).toEqual(new Set([undefined]));
    expect([await stored(key, a), await stored(key, b)].map((list) => list.length)).toEqual([2, 2]);
    expect((await usage(key)).count).toBe('4');
  });

  test('429: the month’s limit is exact under parallel sends, and the next month begins anew', async () => {
    const { key } = await gateway.createKey();
    const name = await define(key);
    const batch = (count: number) =>
      Array.from({ length: count }, () => ({ eventName: name, email: 'a@example.com', properties: {} }));
    gateway.setClock(new Date('2026-02-28T23:59:00.250Z'));
    beside.setClock(new Date('2026-02-28T23:59:00.250Z'));
    const sent = Array.from({ length: 20 }, (_, index) =>
      send(door, key, batch(60), index % 2 === 0 ? gateway : beside),
    );
    const outcomes = await Promise.all(sent);
    const message =
      'the organization may send 1000 event occurrences a month, and these would be more; the next month begins at 2026-03-01T00:00:00.000Z';
    expect(outcomes.filter((outcome) => outcome !== undefined)).toEqual(
      Array.from({ length: 4 }, () => ({ status: 429, faults: [message] })),
    );
    expect(await send(door, key, batch(41))).toEqual({ status: 429, faults: [message] });
    expect(await send(door, key, batch(40))).toBeUndefined();
    expect(await usage(key)).toEqual({
      month: '2026-02',
      count: '1000',
      limit: '1000',
      resetsAt: '2026-03-01T00:00:00.000Z',
    });
    gateway.setClock(new Date('2026-03-01T00:00:00Z'));
    expect(await send(door, key, batch(1))).toBeUndefined();
    expect((await usage(key)).count).toBe('1');
  });

  test('403: without the scope; 400: in no organization', async () => {
    const { key } = await gateway.createKey({ scopes: ['behavioral_events.event_definitions.read_write'] });
    const input = { eventName: await define(key), email: 'a@example.com', properties: {} };
    expect(await send(door, key, [input])).toEqual({
      status: 403,
      faults: ['the API key lacks the scope analytics.behavioral_events.send'],
    });
    const nowhere = await gateway.createKey();
    await gateway.dependencies.sql.query('update api_key set organization_id = null where id = $1', [nowhere.keyId]);
    await gateway.dependencies.sql.query('delete from membership where user_id = $1', [nowhere.userId]);
    expect(await send(door, nowhere.key, [input])).toMatchObject({
      status: 400,
      faults: [expect.stringContaining('missing required organization information')],
    });
  });
});

async function register(key: string, input: Input): Promise<void> {
  const query = `mutation($input: RegisterObjectIdentifiersInput!) { registerObjectIdentifiers(input: $input) { __typename ... on RegisterObjectIdentifiersPayload { registeredCount } ... on Error { message } } }`;
  const answer = await gql<{ registerObjectIdentifiers: unknown }>(key, query, { input });
  expect(answer.registerObjectIdentifiers).toEqual({
    __typename: 'RegisterObjectIdentifiersPayload',
    registeredCount: (input['identifiers'] as unknown[]).length,
  });
}

test('POST /send takes one occurrence, and names faults without a place in a list', async () => {
  const { key } = await gateway.createKey();
  const name = await define(key, { propertyDefinitions: PROPERTIES });
  const path = '/events/2026-03/send';
  const sent = await gateway.rest('POST', path, {
    key,
    body: { eventName: name, email: 'a@example.com', properties: { price: 1 } },
  });
  expect([sent.status, sent.text]).toEqual([204, '']);
  expect(await stored(key, name)).toHaveLength(1);
  const refused = await gateway.rest<RestError>('POST', path, {
    key,
    body: { eventName: name, email: 'a@example.com', properties: { price: 'x', y: 1 } },
    headers: { 'X-Request-Id': 'same' },
  });
  const [number, unknown] = ['must be a number with at most one decimal and 15 digits', 'is not a known property'];
  expect([refused.status, refused.body]).toEqual([
    400,
    {
      status: 'error',
      message: `properties.price: ${number}; properties.y: ${unknown}`,
      category: 'VALIDATION_ERROR',
      correlationId: 'same',
      errors: [
        { message: number, code: 'custom', in: 'properties.price' },
        { message: unknown, code: 'unknown_property', in: 'properties.y' },
      ],
    },
  ]);
  const shapes = await gateway.rest<RestError>('POST', path, {
    key,
    body: { eventName: name, occurredAt: 'yesterday', uuid: 'x', more: 1 },
  });
  expect(refusalOfRest(shapes).faults).toEqual([
    'properties: is required; it may be {}',
    'occurredAt: must be an ISO 8601 date and time with its offset, such as 2026-03-01T10:20:30.500Z',
    'uuid: must be a UUID',
    'more: is not a known property',
  ]);
  const absent = await gateway.rest<RestError>('POST', path, { key, body: { eventName: 'absent', properties: {} } });
  expect([absent.status, absent.body.message]).toEqual([404, 'event definition not found']);
});

test('429 over the month’s limit has Retry-After until the next month, and the documented form', async () => {
  const small = await startTestGateway({ MONTHLY_OCCURRENCE_LIMIT: '1' }, { beside: gateway });
  small.setClock(new Date('2026-02-28T23:59:00.250Z'));
  const { key } = await gateway.createKey();
  const eventName = await define(key, { primaryObject: 'NO_OBJECT' });
  const post = () =>
    small.rest<RestError>('POST', '/events/2026-03/send', { key, body: { eventName, properties: {} } });
  expect((await post()).status).toBe(204);
  const { status, headers, body } = await post();
  expect([status, headers.get('retry-after'), body.category]).toEqual([429, '60', 'RATE_LIMITS']);
  await small.close();
});

test('a deleted property is unknown, and past occurrences keep its values', async () => {
  const { key } = await gateway.createKey();
  const name = await define(key, { propertyDefinitions: PROPERTIES });
  const input = { eventName: name, email: 'a@example.com', properties: { price: 1, colour: 'red' } };
  expect(await send('REST', key, [input])).toBeUndefined();
  expect((await gateway.rest('DELETE', `${E}/${name}/property/price`, { key })).status).toBe(204);
  const options = [{ label: 'Blue', value: 'blue' }];
  expect(
    (await gateway.rest('PATCH', `${E}/${name}/property`, { key, body: { name: 'colour', options } })).status,
  ).toBe(200);
  expect((await send('REST', key, [input]))?.faults).toEqual([
    'inputs.0.properties.price: is not a known property',
    'inputs.0.properties.colour: must be one of "blue"',
  ]);
  expect((await stored(key, name)).map(({ properties }) => properties)).toEqual([{ price: 1, colour: 'red' }]);
});

describe('reading', () => {
  const PAGE =
    'totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor } nodes { objectId occurredAt }';
  type Page = {
    totalCount: number;
    pageInfo: Record<string, unknown>;
    nodes: { objectId: string; occurredAt: string }[];
  };
  async function page(key: string, name: string, given: string): Promise<Page> {
    const data = await gql<{ eventDefinition: { occurrences: Page } }>(
      key,
      `query($name: String!) { eventDefinition(name: $name) { occurrences(${given}) { ${PAGE} } } }`,
      { name },
    );
    return data.eventDefinition.occurrences;
  }

  async function sevenDays(): Promise<{ key: string; name: string }> {
    const { key } = await gateway.createKey();
    const name = await define(key);
    const inputs = Array.from({ length: 7 }, (_, day) => ({
      eventName: name,
      properties: {},
      objectId: String(day % 2),
      email: `${day}@example.com`,
      occurredAt: `2026-03-0${day + 1}T12:00:00+02:00`,
    }));
    expect(await send('GraphQL', key, [...inputs, ...inputs.slice(0, 1)])).toBeUndefined();
    return { key, name };
  }

  test('pages in both directions of both orders give every occurrence once', async () => {
    const { key, name } = await sevenDays();
    for (const [size, from, cursor, more] of [
      ['first', 'after', 'endCursor', 'hasNextPage'],
      ['last', 'before', 'startCursor', 'hasPreviousPage'],
    ] as const) {
      for (const direction of ['ASC', 'DESC']) {
        const seen: string[][] = [];
        let position = '';
        for (let going = true; going;) {
          const { nodes, pageInfo, totalCount } = await page(
            key,
            name,
            `${size}: 3, direction: ${direction}${position}`,
          );
          expect(totalCount).toBe(8);
          seen.push(nodes.map(({ occurredAt }) => occurredAt.slice(8, 10)));
          position = `, ${from}: "${String(pageInfo[cursor])}"`;
          going = pageInfo[more] === true;
        }
        const days = (size === 'first' ? seen : seen.toReversed()).flat();
        const ascending = ['01', '01', '02', '03', '04', '05', '06', '07'];
        expect(days).toEqual(direction === 'ASC' ? ascending : ascending.toReversed());
      }
    }
  });

  test('filters hold together', async () => {
    const { key, name } = await sevenDays();
    const days = async (filter: string) =>
      (await page(key, name, `direction: ASC, filter: { ${filter} }`)).nodes.map(({ occurredAt }) => occurredAt);
    expect(await days('objectId: "1"')).toEqual([
      '2026-03-02T10:00:00.000Z',
      '2026-03-04T10:00:00.000Z',
      '2026-03-06T10:00:00.000Z',
    ]);
    expect(await days('occurredFrom: "2026-03-06T10:00:00Z", occurredBefore: "2026-03-07T10:00:00Z"')).toEqual([
      '2026-03-06T10:00:00.000Z',
    ]);
    expect(await days('email: "3@Example.com"')).toEqual(['2026-03-04T10:00:00.000Z']);
    expect(await days('email: "3@example.com", objectId: "0"')).toEqual([]);
    expect((await page(key, name, 'filter: { objectId: "0" }')).totalCount).toBe(5);
  });

  test('counts per day are whole, days without any included, and bounded', async () => {
    const { key, name } = await sevenDays();
    const perDay = async (given: string) => {
      const data = await gateway.graphql<{ eventDefinition: { occurrencesPerDay: { day: string; count: number }[] } }>(
        key,
        `{ eventDefinition(name: "${name}") { occurrencesPerDay${given} { day count } } }`,
      );
      return (
        data.errors?.map(({ message }) => message) ??
        data.data?.eventDefinition.occurrencesPerDay.map(({ day, count }) => `${day} ${count}`)
      );
    };
    expect(await perDay('(from: "2026-02-28T23:00:00Z", until: "2026-03-02T00:00:00Z")')).toEqual([
      '2026-02-28 0',
      '2026-03-01 2',
      '2026-03-02 1',
    ]);
    gateway.setClock(new Date('2026-03-08T12:00:00Z'));
    const recent = await perDay('');
    expect([recent?.length, recent?.[0], recent?.at(-1), recent?.at(-2)]).toEqual([
      30,
      '2026-02-07 0',
      '2026-03-08 0',
      '2026-03-07 1',
    ]);
    expect(await perDay('(from: "2026-03-02T00:00:00Z", until: "2026-03-01T00:00:00Z")')).toEqual([
      'from: must not lie behind until',
    ]);
    expect(await perDay('(from: "2025-01-01T00:00:00Z", until: "2026-01-02T00:00:00Z")')).toEqual([
      'from: must lie at most 366 days before until',
    ]);
  });

  test('node finds an occurrence again, for its own organization alone', async () => {
    const { key, name } = await sevenDays();
    type Data = { eventDefinition: { occurrences: { nodes: { id: string; databaseId: string }[] } } };
    const { eventDefinition } = await gql<Data>(
      key,
      `{ eventDefinition(name: "${name}") { occurrences(first: 2) { nodes { id databaseId } } } }`,
    );
    const [first, second] = eventDefinition.occurrences.nodes;
    const ids = [first?.id, 'RXZlbnRPY2N1cnJlbmNlOng6MTp5', second?.id];
    const query = 'query($ids: [ID!]!) { nodes(ids: $ids) { ... on EventOccurrence { databaseId } } }';
    expect(await gql(key, query, { ids })).toEqual({
      nodes: [{ databaseId: first?.databaseId }, null, { databaseId: second?.databaseId }],
    });
    const stranger = await gateway.createKey();
    expect(await gql(stranger.key, query, { ids })).toEqual({ nodes: [null, null, null] });
    expect((await gateway.rest('DELETE', `${E}/${name}`, { key })).status).toBe(204);
    expect(await gql(key, query, { ids })).toEqual({ nodes: [null, null, null] });
  });

  test('the preview of a deletion counts what would be lost', async () => {
    const { key, name } = await sevenDays();
    expect(await gql(key, `{ deleteEventDefinitionPreview(eventName: "${name}") { occurrenceCount } }`)).toEqual({
      deleteEventDefinitionPreview: { occurrenceCount: 8 },
    });
  });

  test('403: without the scope of definitions nothing can be read', async () => {
    const { key } = await gateway.createKey({ scopes: ['analytics.behavioral_events.send'] });
    const { errors } = await gateway.graphql(key, '{ viewer { organization { monthlyOccurrenceUsage { count } } } }');
    expect(errors?.map(({ extensions }) => extensions?.['code'])).toEqual(['FORBIDDEN']);
  });
});

test('a send beside a deletion is stored before it or refused after it: nothing comes after the deletion', async () => {
  const { key, organizationId } = await gateway.createKey();
  const name = await define(key);
  const { body } = await gateway.rest<{ id: string }>('GET', `${E}/${name}`, { key });
  const count = 'select count(*)::int as n from event_occurrence where definition_id = $1';
  const input = { eventName: name, email: 'a@example.com', properties: {} };
  expect(await send('REST', key, [input])).toBeUndefined();
  let deleted = false;
  const [sending, deleting] = await gateway.dependencies.database.em.fork().transactional(async (em) => {
    // The month's count is held here, so that the send stands still after it has checked the definition.
    await em.execute('select from monthly_occurrence_count where organization_id = ? for update', [organizationId]);
    const sent = send('REST', key, [input], beside);
    await untilWaiting(1);
    const deletion = gateway.rest('DELETE', `${E}/${name}`, { key }).finally(() => (deleted = true));
    await untilWaiting(2, () => deleted);
    return [sent, deletion] as const;
  });
  const [outcome, { status }] = await Promise.all([sending, deleting]);
  expect([outcome, status]).toEqual([undefined, 204]);
  expect(await gateway.dependencies.sql.query(count, [body.id])).toEqual([{ n: 2 }]);
  expect(await send('REST', key, [input])).toMatchObject({ status: 404 });

  async function untilWaiting(waiters: number, orElse = () => false): Promise<void> {
    const waiting = `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    for (let n = 0; n < waiters && !orElse();) {
      n = (await gateway.dependencies.sql.query<{ n: number }>(waiting, []))[0]?.n ?? 0;
    }
    expect(deleted).toBe(false);
  }
});

test('registering: bounds, the object without records, and values that repeat', async () => {
  const { key } = await gateway.createKey();
  const query =
    'mutation($input: RegisterObjectIdentifiersInput!) { registerObjectIdentifiers(input: $input) { ... on ValidationError { message } } }';
  const tried = async (input: Input) =>
    (await gql<{ registerObjectIdentifiers: { message: string } }>(key, query, { input })).registerObjectIdentifiers
      .message;
  const one = { value: 'v', objectId: '1' };
  expect(await tried({ objectType: 'NO_OBJECT', propertyName: '', identifiers: [] })).toBe(
    'objectType: must be an object that has records, which NO_OBJECT has not; propertyName: must not be empty; identifiers: must have at least 1 items',
  );
  expect(await tried({ objectType: '9', propertyName: 'p', identifiers: [one, one] })).toBe(
    'objectType: must be a letter, then at most 99 letters, digits or underscores; identifiers: must have values that differ from each other',
  );
  const large = Array.from({ length: 1001 }, (_, index) => ({ value: String(index), objectId: '1' }));
  expect(await tried({ objectType: 'CONTACT', propertyName: 'p', identifiers: large })).toBe(
    'identifiers: must have at most 1000 items',
  );
  // The largest that is taken fits into the index.
  const widest = {
    objectType: 'x'.repeat(100),
    propertyName: '\u{FFFD}'.repeat(255),
    identifiers: [{ value: '\u4E2D'.repeat(500), objectId: '1' }],
  };
  await register(key, widest);
});
