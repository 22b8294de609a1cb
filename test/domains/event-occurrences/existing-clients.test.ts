import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';

/** What existing clients of the event API send: every family of paths, each version, and inputs in other forms than the documented one. */

type Json = Record<string, unknown>;

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ RATE_LIMIT_PER_MINUTE: '0' });
});
afterAll(() => gateway.close());

const VERSIONS = ['2026-03', 'v3', '2025-09', '2026-09'];
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
