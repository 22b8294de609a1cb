import { describe, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';

/** What existing clients of the event API send: every family of paths, each version, and inputs in other forms than the documented one. */

type Json = Record<string, unknown>;

const gateway = useTestGateway();

const VERSIONS = ['2026-03', 'v3', '2025-09', '2026-09', '2049-09'];
const FAMILIES = VERSIONS.flatMap((version) => [
  {
    definitions: `/events/${version}/event-definitions`,
    send: `/events/${version}/send`,
    reads: [`/events/event-occurrences/${version}`, `/events/${version}/events`],
  },
  {
    definitions: `/events/custom/${version}/event-definitions`,
    send: `/events/custom/${version}/send`,
    reads: [`/events/custom/${version}/events`],
  },
]);

async function call(key: string, method: string, path: string, body?: object) {
  const answer = await gateway.fetch(path, {
    method,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, body: (text === '' ? {} : JSON.parse(text)) as Json };
}

describe.each(FAMILIES)('$definitions', ({ definitions, send, reads }) => {
  test.each(['', '/'])(
    'defines, sends and reads the documented event, with "%s" at the end of a path',
    async (slash) => {
      const { key } = await gateway.createKey();
      const event = {
        label: 'Order completed',
        primaryObject: 'CONTACT',
        includeDefaultProperties: false,
        propertyDefinitions: [{ label: 'Total', type: 'number' }],
      };
      const created = await call(key, 'POST', `${definitions}${slash}`, event);
      expect([created.status, created.headers.get('location')]).toEqual([
        201,
        expect.stringMatching(new RegExp(`${definitions}/order_completed$`)),
      ]);
      const read = await call(key, 'GET', `${definitions}/order_completed${slash}?includeProperties=true&hapikey=x`);
      expect([read.status, read.body]).toEqual([200, created.body]);
      const listed = await call(key, 'GET', `${definitions}${slash}?includeProperties=true`);
      expect(listed.body).toEqual({ results: [created.body], total: 1 });
      const occurrence = { eventName: 'order_completed', email: 'ada@example.com', properties: { total: 9.5 } };
      expect((await call(key, 'POST', `${send}${slash}`, occurrence)).status).toBe(204);
      expect((await call(key, 'POST', `${send}/batch${slash}`, { inputs: [occurrence] })).status).toBe(204);
      for (const path of reads) {
        const { status, body } = await call(key, 'GET', `${path}${slash}?eventType=order_completed&limit=1`);
        const { results, paging } = body as { results: Json[]; paging: { next: { link: string } } };
        expect([status, results]).toMatchObject([200, [{ objectId: '', properties: { total: '9.5' } }]]);
        expect(new URL(paging.next.link).pathname.replace(/\/$/, '')).toBe(path);
      }
    },
  );
});

test('standard objects are taken in any case, and then are the standard object', async () => {
  const { key } = await gateway.createKey();
  const created = await call(key, 'POST', '/events/v3/event-definitions', {
    label: 'Visited',
    primaryObject: 'company',
  });
  expect(created.body['primaryObject']).toBe('COMPANY');
  const send = { eventName: 'visited', objectId: 1234567, properties: {} };
  expect((await call(key, 'POST', '/events/v3/send', send)).status).toBe(204);
  const { body } = await call(key, 'GET', '/events/v3/events?objectType=company&objectId=1234567');
  expect(body['results']).toMatchObject([{ objectId: '1234567', objectType: 'COMPANY' }]);
});

test('JSON booleans and numbers are taken as text, absent properties and empty text as absent', async () => {
  const { key } = await gateway.createKey();
  const created = await call(key, 'POST', '/events/v3/event-definitions', {
    label: 'Joined',
    primaryObject: 'CONTACT',
    propertyDefinitions: [
      {
        label: 'Member',
        type: 'enumeration',
        options: [
          { label: 'Yes', value: true },
          { label: 'No', value: false },
        ],
      },
      { label: 'City', type: 'string' },
    ],
  });
  const member = (created.body['properties'] as { name: string; options: Json[] }[]).find(
    ({ name }) => name === 'member',
  );
  expect(member?.options).toMatchObject([{ value: 'true' }, { value: 'false' }]);
  for (const body of [
    { eventName: 'joined', email: '', utk: 'token', properties: { member: true, city: 5 } },
    { eventName: 'joined', email: 'ada@example.com', objectId: '' },
  ])
    expect(await call(key, 'POST', '/events/v3/send', body)).toMatchObject({ status: 204 });
  const { body } = await call(key, 'GET', '/events/v3/events?eventType=joined&limit=100000&after=&sort=occurredAt');
  const results = body['results'] as { properties: Json }[];
  expect(results.map(({ properties }) => properties)).toEqual(
    expect.arrayContaining([{}, { member: 'true', city: '5' }]),
  );
});

test('a name that is taken is 409 with the words that clients look for; names that the document forbids stay refused', async () => {
  const { key } = await gateway.createKey();
  const event = { label: 'Paid', name: 'paid' };
  await call(key, 'POST', '/events/v3/event-definitions', event);
  const again = await call(key, 'POST', '/events/v3/event-definitions', event);
  expect([again.status, again.body['message']]).toEqual([409, expect.stringContaining('already exists')]);
  const refused = await call(key, 'POST', '/events/v3/event-definitions', { label: 'Paid', name: 'Paid Twice' });
  expect([refused.status, refused.body['message']]).toEqual([400, expect.stringMatching(/^name: must /)]);
});

test('lists in a query are repeated or joined by commas', async () => {
  const { key } = await gateway.createKey();
  await call(key, 'POST', '/events/v3/event-definitions', { label: 'Seen', primaryObject: 'CONTACT' });
  for (const email of ['a@example.com', 'b@example.com', 'c@example.com'])
    await call(key, 'POST', '/events/v3/send', { eventName: 'seen', email, properties: {} });
  const ids = async (query: string) => {
    const { body } = await call(key, 'GET', `/events/v3/events?eventType=seen${query}`);
    return (body['results'] as { id: string }[]).map(({ id }) => id).toSorted();
  };
  const [one, two] = await ids('');
  expect(await ids(`&id=${one}&id=${two}`)).toEqual([one, two]);
  expect(await ids(`&id=${one},${two}`)).toEqual([one, two]);
  expect(await ids(`&id=${one},&id=,${two}`)).toEqual([one, two]);
  expect(await ids('&id=&properties=&sort=')).toHaveLength(3);
});

test('query parameters that are not known are ignored, also when they are repeated', async () => {
  const { key } = await gateway.createKey();
  await call(key, 'POST', '/events/v3/event-definitions', { label: 'Left', primaryObject: 'CONTACT' });
  await call(key, 'POST', '/events/v3/send', { eventName: 'left', email: 'a@example.com' });
  for (const [path, name] of [
    ['/events/v3/events?eventType=left', 'results'],
    ['/events/v3/event-definitions?searchString=left', 'results'],
    ['/events/v3/event-definitions/left?includeProperties=true', 'properties'],
  ] as const) {
    const { status, body } = await call(key, 'GET', `${path}&hapikey=x&portal=1&portal=2&portal=`);
    expect([status, (body[name] as unknown[]).length > 0]).toEqual([200, true]);
  }
  const repeated = await call(
    key,
    'GET',
    '/events/v3/events?property.svc_city=Bonn&property.svc_city=Ulm&limit=1&limit=2',
  );
  expect([repeated.status, repeated.body['message']]).toEqual([
    400,
    expect.stringContaining('must be given only once'),
  ]);
});

test.each([
  '/events/2025-03/event-definitions',
  '/events/2024-09/send/batch',
  '/events/2026-04/event-definitions/left/property',
  '/events/v4/events',
  '/events/custom/v2/send',
  '/events/event-occurrences/3026-03',
])('%s: a version that does not exist is 404 with the list of versions', async (path) => {
  const { key } = await gateway.createKey();
  const { status, body } = await call(key, 'GET', path);
  expect([status, body['category']]).toEqual([404, 'OBJECT_NOT_FOUND']);
  expect(body['message']).toMatch(
    /^there is no version \S+ of this API; its versions are v3, 2025-09, 2026-03, 2026-09, and every later 20YY-03 and 20YY-09$/,
  );
});

test('a path of no family stays 404 without a word about versions', async () => {
  const { key } = await gateway.createKey();
  for (const path of ['/events/2026-03', '/events/send', '/events/2026-03/senders', '/events/custom/send/batch/x'])
    expect((await call(key, 'GET', path)).body['message']).toBe(
      `there is nothing at ${path}; /docs lists the addresses`,
    );
});

test('sort orders and booleans are taken in any case', async () => {
  const { key } = await gateway.createKey();
  const flag = { label: 'Member', type: 'bool' };
  for (const label of ['A', 'B'])
    await call(key, 'POST', '/events/v3/event-definitions', { label, propertyDefinitions: [flag] });
  for (const [order, sorted] of [
    ['asc', ['a', 'b']],
    ['Desc', ['b', 'a']],
  ] as const)
    for (const value of ['True', 'TRUE', 'true', 'False']) {
      const query = `includeProperties=${value}&sortOrder=${order}`;
      const { status, body } = await call(key, 'GET', `/events/v3/event-definitions?${query}`);
      const results = body['results'] as { name: string; properties: Json[] }[];
      expect([status, results.map(({ name }) => name)]).toEqual([200, sorted]);
      expect(results.map(({ properties }) => properties.length > 0)).toEqual([value, value].map((v) => v !== 'False'));
    }
  for (const [minute, member] of ['True', 'FALSE'].entries())
    await call(key, 'POST', '/events/v3/send', {
      eventName: 'a',
      email: 'ada@example.com',
      occurredAt: Date.UTC(2026, 2, 1, 10, minute),
      properties: { member },
    });
  const membersBy = async (sort: string) => {
    const { body } = await call(key, 'GET', `/events/v3/events?eventType=a&sort=${sort}`);
    return (body['results'] as { properties: Json }[]).map(({ properties }) => properties['member']);
  };
  expect(await membersBy('ascending')).toEqual(['true', 'false']);
  expect(await membersBy('-OccurredAt')).toEqual(['false', 'true']);
  expect((await call(key, 'GET', '/events/v3/event-definitions?sortOrder=up')).status).toBe(400);
});

test('an empty list of properties is an empty map, as PHP writes it; any other list is refused', async () => {
  const { key } = await gateway.createKey();
  await call(key, 'POST', '/events/v3/event-definitions', { label: 'Seen', primaryObject: 'CONTACT' });
  const occurrence = { eventName: 'seen', email: 'ada@example.com' };
  const send = (properties: unknown) => call(key, 'POST', '/events/v3/send', { ...occurrence, properties });
  expect((await send([])).status).toBe(204);
  const batch = { inputs: [{ ...occurrence, properties: [] }] };
  expect((await call(key, 'POST', '/events/v3/send/batch', batch)).status).toBe(204);
  expect(await send([{}])).toMatchObject({ status: 400, body: { message: 'properties: must be an object' } });
  const { data } = await gateway.graphql<{ eventDefinition: unknown }>(
    key,
    '{ eventDefinition(name: "seen") { occurrences { nodes { properties } } } }',
  );
  expect(data?.eventDefinition).toEqual({ occurrences: { nodes: [{ properties: {} }, { properties: {} }] } });
});

test('plurals of the documented objects mean them when writing too, also for registered identifiers', async () => {
  const { key } = await gateway.createKey();
  const rule = { primaryObjectRule: { targetObjectPropertyName: 'number', eventPropertyName: 'number' } };
  const objects = {
    contacts: 'CONTACT',
    Companies: 'COMPANY',
    deals: 'DEAL',
    SERVICES: 'SERVICE',
    leads: 'LEAD',
    p1_boats: 'p1_boats',
  };
  for (const [index, [given, stored]] of Object.entries(objects).entries()) {
    const name = `made_${index}`;
    const created = await call(key, 'POST', '/events/v3/event-definitions', {
      label: name,
      primaryObject: given,
      customMatchingId: rule,
      propertyDefinitions: [{ label: 'Number', type: 'string' }],
    });
    expect(created).toMatchObject({ status: 201, body: { primaryObject: stored } });
    const register = `mutation($input: RegisterObjectIdentifiersInput!) { registerObjectIdentifiers(input: $input) { __typename } }`;
    const input = { objectType: given, propertyName: 'number', identifiers: [{ value: '7', objectId: `id-${index}` }] };
    await gateway.graphql(key, register, { input });
    await call(key, 'POST', '/events/v3/send', { eventName: name, properties: { number: '7' } });
    const { body } = await call(key, 'GET', `/events/v3/events?objectType=${given}&eventType=${name}`);
    expect(body['results']).toMatchObject([{ objectType: stored, objectId: `id-${index}` }]);
  }
});

test('a moment before 2000 is refused and says that milliseconds are meant', async () => {
  const { key } = await gateway.createKey();
  const propertyDefinitions = [
    { label: 'Seen at', type: 'datetime' },
    { label: 'Day', type: 'date' },
  ];
  await call(key, 'POST', '/events/v3/event-definitions', { label: 'Seen', propertyDefinitions });
  const send = (more: object) =>
    call(key, 'POST', '/events/v3/send', { eventName: 'seen', email: 'ada@example.com', ...more });
  const seconds = Date.UTC(2026, 2, 1) / 1000;
  for (const occurredAt of [seconds, String(seconds), 0, -1, '1999-12-31T23:59:59.999Z', Date.UTC(2000) - 1]) {
    const { status, body } = await send({ occurredAt });
    expect([occurredAt, status, body['message']]).toEqual([
      occurredAt,
      400,
      expect.stringMatching(/^occurredAt: .*milliseconds/),
    ]);
  }
  for (const name of ['seen_at', 'day'])
    for (const value of [seconds, String(seconds)])
      expect(await send({ properties: { [name]: value } })).toMatchObject({
        status: 400,
        body: { message: `properties.${name}: must be in milliseconds: this UNIX timestamp is in seconds` },
      });
  // A birthday is earlier, whatever it is written as.
  for (const properties of [{ day: '1985-05-05' }, { seen_at: Date.UTC(1985, 4, 5) }, { seen_at: 0 }])
    expect((await send({ occurredAt: Date.UTC(2000), properties })).status).toBe(204);
  const found = await call(key, 'GET', `/events/v3/events?occurredAfter=${seconds}`);
  expect([found.status, found.body['message']]).toEqual([400, expect.stringMatching(/^occurredAfter: .*seconds/)]);
  expect((await call(key, 'GET', '/events/v3/events?occurredAfter=0')).body['results']).toHaveLength(3);
});

test('the header private-app has the key on the paths of the event API, and nowhere else', async () => {
  const { key } = await gateway.createKey();
  const status = async (path: string, headers: Record<string, string>) =>
    (await gateway.fetch(path, { headers })).status;
  const events = '/events/2026-09/event-definitions';
  expect(await status(events, { 'private-app': key })).toBe(200);
  expect(await status(events, { 'Private-App': `Bearer ${key}` })).toBe(200);
  expect(await status(events, { 'private-app': `${key}x` })).toBe(401);
  expect(await status(events, { 'private-app': key, Authorization: 'Bearer wrong' })).toBe(401);
  expect(await status('/v1/sessions', { 'private-app': key })).toBe(401);
  const sent = await gateway.fetch('/events/2026-09/send', {
    method: 'POST',
    headers: { 'private-app': key, 'Content-Type': 'application/json' },
    body: JSON.stringify({ eventName: 'none' }),
  });
  expect(sent.status).toBe(404);
});

test('customMatchingId is absent where there is none', async () => {
  const { key } = await gateway.createKey();
  const created = await call(key, 'POST', '/events/v3/event-definitions', { label: 'Seen', customMatchingId: null });
  const read = await call(key, 'GET', '/events/v3/event-definitions/seen');
  const listed = await call(key, 'GET', '/events/v3/event-definitions');
  const [inList] = listed.body['results'] as Json[];
  for (const definition of [created.body, read.body, inList ?? {}])
    expect(Object.keys(definition)).not.toContain('customMatchingId');
});
