import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Input, define, register, send } from '../../support/fixtures/event-occurrences.ts';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';

/** Searching occurrences over the REST API. */

const OCCURRENCES = '/events/event-occurrences/2026-03';
const PUBLIC_URL = 'https://api.example.com';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ PUBLIC_URL });
});
afterAll(() => gateway.close());

interface Page {
  readonly results: readonly Input[];
  readonly paging?: {
    readonly next?: { readonly after: string; readonly link: string };
    readonly prev?: { readonly before: string; readonly link: string };
  };
}

const minute = (index: number) => new Date(Date.UTC(2026, 2, 1, 10, index)).toISOString();
const NOTE_PROPERTY = [{ label: 'Note', name: 'note', type: 'string' }];

async function find(key: string, query: string | Record<string, string>, path = OCCURRENCES): Promise<Page> {
  const { status, body, text } = await gateway.rest<Page>('GET', `${path}?${new URLSearchParams(query)}`, { key });
  expect([status, text]).toEqual([200, expect.any(String)]);
  return body;
}

const notes = ({ results }: Page) => results.map(({ properties }) => (properties as { note?: string }).note);

/** Creates two events of contacts and one of companies. Their occurrences have the notes `0` to `7`, one a minute. */
async function workspace() {
  const { key } = await gateway.createKey();
  const events = [
    await define(gateway, key, { propertyDefinitions: NOTE_PROPERTY, includeDefaultProperties: true }),
    await define(gateway, key, { propertyDefinitions: NOTE_PROPERTY }),
    await define(gateway, key, { propertyDefinitions: NOTE_PROPERTY, primaryObject: 'COMPANY' }),
  ] as const;
  const inputs = Array.from({ length: 8 }, (_, index) => ({
    eventName: events[index % 3],
    objectId: String(index % 2),
    occurredAt: minute(index),
    uuid: `order-${index}`,
    properties: { note: String(index), ...(index % 3 === 0 && { svc_city: index === 0 ? 'Bonn' : 'New York' }) },
    ...(index === 1 && { email: 'Ada@Example.com' }),
  }));
  expect(await send(gateway, 'REST', key, inputs)).toBeUndefined();
  return { key, events };
}

test('occurrences of all events are listed, latest first, with their event and object', async () => {
  const { key, events } = await workspace();
  const page = await find(key, {});
  expect(notes(page)).toEqual(['7', '6', '5', '4', '3', '2', '1', '0']);
  expect(page.paging).toBeUndefined();
  expect(page.results[2]).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    eventType: expect.stringMatching(new RegExp(`^pe\\d+_${events[2]}$`)),
    objectType: 'COMPANY',
    objectId: '1',
    occurredAt: minute(5),
    properties: { note: '5' },
  });
  for (const path of [`${OCCURRENCES}/`, '/events/v3/events', '/events/v3/events/'])
    expect(await find(key, {}, path)).toEqual(page);
});

test('each condition filters the list, and all given conditions must match', async () => {
  const { key, events } = await workspace();
  const [first, second] = events;
  const { results } = await find(key, { eventType: first });
  expect(notes(await find(key, { eventType: String(results[0]?.['eventType']) }))).toEqual(['6', '3', '0']);
  expect(notes(await find(key, { eventType: second }))).toEqual(['7', '4', '1']);
  for (const objectType of ['COMPANY', 'company', 'companies', 'Companies'])
    expect(notes(await find(key, { objectType }))).toEqual(['5', '2']);
  expect(notes(await find(key, { objectType: 'contacts', objectId: '0' }))).toEqual(['6', '4', '0']);
  expect(notes(await find(key, { occurredAfter: minute(5) }))).toEqual(['7', '6']);
  expect(notes(await find(key, { occurredBefore: String(Date.parse(minute(2))) }))).toEqual(['1', '0']);
  expect(notes(await find(key, 'id=order-3&id=order-5&id=absent'))).toEqual(['5', '3']);
  expect(notes(await find(key, { id: String(results[0]?.['id']).toUpperCase() }))).toEqual(['6']);
  expect(notes(await find(key, 'property.hs_city=New+York'))).toEqual(['6', '3']);
  expect(notes(await find(key, 'property.svc_city=New%20York&property.note=3'))).toEqual(['3']);
  expect((await find(key, 'eventType=' + first + '&properties=hs_city&limit=1')).results[0]).toMatchObject({
    properties: { svc_city: 'New York' },
  });
  const all = { eventType: second, objectType: 'CONTACT', objectId: '0', occurredAfter: minute(1), sort: 'ASCENDING' };
  expect(notes(await find(key, { ...all, occurredBefore: minute(7), limit: '5' }))).toEqual(['4']);
  expect(notes(await find(key, { objectType: 'DEAL' }))).toEqual([]);
});

test('objectProperty finds the object of a registered identifier, and a contact by its e-mail address', async () => {
  const { key } = await workspace();
  await register(gateway, key, {
    objectType: 'CONTACT',
    propertyName: 'member_number',
    identifiers: [{ value: 'M-1', objectId: '0' }],
  });
  const by = async (query: string) => notes(await find(key, query));
  expect(await by('objectType=contact&objectProperty.member_number=M-1')).toEqual(['6', '4', '0']);
  expect(await by('objectType=contact&objectProperty.member_number=M-2')).toEqual([]);
  expect(await by('objectType=company&objectProperty.member_number=M-1')).toEqual([]);
  expect(await by('objectType=contact&objectProperty.email=ADA@example.com')).toEqual(['1']);
});

test.each(['ASCENDING', 'DESCENDING', '-occurredAt', 'occurredAt'])(
  'pages with sort=%s contain every occurrence once, forward and backward, by cursors and by links',
  async (sort) => {
    const { key } = await workspace();
    const ascending = sort === 'ASCENDING' || sort === 'occurredAt';
    const expected = ascending ? [0, 1, 2, 3, 4, 5, 6, 7] : [7, 6, 5, 4, 3, 2, 1, 0];
    const seen: unknown[] = [];
    let page = await find(key, { sort, limit: '3' });
    for (;;) {
      seen.push(...notes(page));
      const next = page.paging?.next;
      if (!next) break;
      const byCursor = await find(key, { sort, limit: '3', after: next.after });
      expect(next.link.startsWith(`${PUBLIC_URL}${OCCURRENCES}?`)).toBe(true);
      expect(await find(key, new URL(next.link).search)).toEqual(byCursor);
      page = byCursor;
    }
    expect(seen).toEqual(expected.map(String));
    const previous = page.paging?.prev;
    expect(notes(await find(key, new URL(previous?.link ?? '').search))).toEqual(expected.slice(3, 6).map(String));
    const first = await find(key, { sort, limit: '6', before: previous?.before ?? '' });
    expect([notes(first), first.paging?.prev]).toEqual([expected.slice(0, 6).map(String), undefined]);
  },
);

test('every path for event types lists the fully qualified names of all events', async () => {
  const { key, events } = await workspace();
  const paths = [OCCURRENCES, '/events/v3/events'].flatMap((path) => [`${path}/event-types`, `${path}/event-types/`]);
  for (const path of paths) {
    const { status, body } = await gateway.rest<{ eventTypes: string[] }>('GET', path, { key });
    expect([status, body.eventTypes.map((name) => name.replace(/^pe\d+_/, ''))]).toEqual([200, events.toSorted()]);
  }
});

test('occurrences of another organization, of a deleted event and of an event with NO_OBJECT are not found', async () => {
  const { key, events } = await workspace();
  const stranger = await gateway.createKey();
  expect(await find(stranger.key, {})).toEqual({ results: [] });
  const foreign = await gateway.rest('GET', `${OCCURRENCES}?eventType=${events[0]}`, { key: stranger.key });
  expect(foreign.status).toBe(404);
  expect((await gateway.rest('DELETE', `/events/v3/event-definitions/${events[0]}`, { key })).status).toBe(204);
  expect(notes(await find(key, {}))).toEqual(['7', '5', '4', '2', '1']);
  const withoutRecords = await define(gateway, key, { primaryObject: 'NO_OBJECT' });
  expect(await send(gateway, 'REST', key, [{ eventName: withoutRecords, properties: {} }])).toBeUndefined();
  expect(await find(key, { eventType: withoutRecords })).toEqual({ results: [] });
});

test('400 for invalid parameters; 403 without the scope', async () => {
  const { key } = await gateway.createKey();
  const tried = async (query: string) => {
    const { status, body } = await gateway.rest<{ message: string }>('GET', `${OCCURRENCES}?${query}`, { key });
    return `${status} ${body.message}`;
  };
  expect(await tried('limit=0&occurredAfter=yesterday')).toBe(
    '400 occurredAfter: must be an ISO 8601 date and time with an offset, such as 2026-03-01T10:20:30.500Z, or a UNIX timestamp in milliseconds; limit: must be at least 1',
  );
  expect(await tried('sort=newest')).toMatch(/^400 sort.0: must be one of "ASCENDING"/);
  expect(await tried('objectProperty.email=a@example.com')).toBe(
    '400 objectType: is required with objectProperty.email',
  );
  expect(await tried(`property.note=${'x'.repeat(1025)}`)).toBe('400 property.note: must be at most 1024 characters');
  expect(await tried('after=x&before=y')).toBe('400 before: must not be given together with after');
  expect(await tried('after=x')).toBe('400 after: is not a cursor of this list and order');
  for (const name of ['property.', 'property.{propname}', 'property.a%00b', 'objectProperty.{propname}']) {
    expect(await tried(`${name}=x&objectType=contact`)).toBe(
      `400 ${decodeURIComponent(name)}: must be named ${name.split('.')[0]}.NAME, with the name of a property in place of NAME`,
    );
  }
  expect(await tried('property.note=%00')).toBe('200 undefined');
  expect(await tried('objectType=contact&objectProperty.a%00b=%00')).toBe('200 undefined');
  const limited = await gateway.createKey({ scopes: ['analytics.behavioral_events.send'] });
  for (const path of [OCCURRENCES, `${OCCURRENCES}/event-types`]) {
    const { status, body } = await gateway.rest<{ category: string }>('GET', path, { key: limited.key });
    expect([status, body.category]).toEqual([403, 'MISSING_SCOPES']);
  }
});
