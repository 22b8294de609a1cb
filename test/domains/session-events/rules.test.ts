import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import {
  type EventDocument,
  type EventPage,
  append,
  createSession,
  eventsOf,
  readAll,
} from '../../support/fixtures/sessions.ts';
import { sampled } from '../../support/sample.ts';

const gateway = useOwnGateway();
let key: string;
let organization: string;
beforeAll(async () => {
  ({ key, organization } = await gateway.createKey());
});

const list = (sessionId: string, query = '', as = key) =>
  gateway.rest<EventPage>('GET', `/v1/sessions/${sessionId}/events${query}`, { key: as });
const indexes = (events: readonly EventDocument[]) => events.map(({ eventData }) => eventData.index);
const range = (from: number, to: number) =>
  Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);

const CONNECTION = `query($id: ID!, $first: Int, $after: String, $last: Int, $before: String, $filter: SessionEventFilter) {
  session(id: $id) { events(first: $first, after: $after, last: $last, before: $before, filter: $filter) {
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    nodes { id: databaseId createdAt eventType messageId session { databaseId } provider eventData: eventDataJson } } } }`;

interface Connection {
  readonly pageInfo: {
    hasNextPage: boolean;
    hasPreviousPage: boolean;
    startCursor: string | null;
    endCursor: string | null;
  };
  readonly nodes: EventDocument[];
}

interface Answered extends Omit<Connection, 'nodes'> {
  readonly nodes: (Omit<EventDocument, 'sessionId'> & { session: { databaseId: string } })[];
}

async function connection(id: string, variables: object): Promise<Connection> {
  const { data, errors } = await gateway.graphql<{ session: { events: Answered | null } | null }>(key, CONNECTION, {
    id,
    ...variables,
  });
  const events = data?.session?.events;
  if (!events) throw new Error(JSON.stringify(errors));
  const nodes = events.nodes.map(({ session, ...node }) => ({ ...node, sessionId: session.databaseId }));
  return { ...events, nodes };
}

describe('pages', () => {
  let id: string;
  const messageId = randomUUID();
  beforeAll(async () => {
    id = await createSession(gateway, key);
    await append(gateway, key, id, eventsOf(1000));
    await append(
      gateway,
      key,
      id,
      eventsOf(200, { from: 1001, messageId: messageId.toUpperCase(), createdAt: '2026-03-01T12:00:00+02:00' }),
    );
  });

  test('both APIs return the same list, forward and backward and with any page size', async () => {
    const all = await readAll(gateway, key, id, 1000);
    expect(all.map((event) => event.id)).toEqual(range(1, 1200));
    expect(all[0]).toStrictEqual({
      id: 1,
      createdAt: all[0]?.createdAt,
      eventType: 'text',
      messageId: null,
      sessionId: id,
      provider: 'anthropic',
      eventData: { type: 'text', index: 1 },
    });
    expect(all[1199]).toStrictEqual({
      ...all[0],
      id: 1200,
      createdAt: '2026-03-01T10:00:00.000Z',
      messageId,
      eventData: { type: 'text', index: 1200 },
    });
    expect(await readAll(gateway, key, id, 7)).toEqual(all);
    expect(await readAll(gateway, key, id.toUpperCase(), 1000)).toEqual(all);
    const forward: EventDocument[] = [];
    for (let after: string | null | undefined; ;) {
      const { nodes, pageInfo } = await connection(id, { first: 170, after });
      forward.push(...nodes);
      after = pageInfo.endCursor;
      if (!pageInfo.hasNextPage) break;
    }
    expect(forward).toEqual(all);
    const backward: EventDocument[] = [];
    for (let before: string | null | undefined; ;) {
      const { nodes, pageInfo } = await connection(id, { last: 400, before });
      backward.unshift(...nodes);
      before = pageInfo.startCursor;
      if (!pageInfo.hasPreviousPage) break;
    }
    expect(backward).toEqual(all);
  });

  sampled(test, 3).each([
    ['', 1, 50, '50'],
    ['?limit=1', 1, 1, '1'],
    ['?limit=1000', 1, 1000, '1000'],
    ['?limit=0005&cursor=0', 1, 5, '5'],
    ['?cursor=1190', 1191, 1200, '1200'],
    ['?cursor=1200', 1201, 1200, '1200'],
    ['?cursor=999999999999999', 1201, 1200, '999999999999999'],
  ])('%j returns the events %i to %i and the nextCursor %j', async (query, from, to, nextCursor) => {
    const { status, body } = await list(id, query);
    expect({ status, ids: body.items.map((event) => event.id), nextCursor: body.nextCursor }).toEqual({
      status: 200,
      ids: range(from, to),
      nextCursor,
    });
    expect(Object.keys(body)).toEqual(['items', 'nextCursor']);
  });

  test('a session without events has the nextCursor "0", which can be used for polling', async () => {
    const empty = await createSession(gateway, key);
    expect((await list(empty)).text).toBe('{"items":[],"nextCursor":"0"}');
    await append(gateway, key, empty, eventsOf(2));
    expect((await list(empty, '?cursor=0')).body).toMatchObject({ items: [{ id: 1 }, { id: 2 }], nextCursor: '2' });
  });

  test('the Link header leads from the first to the last page, and is absent on the last', async () => {
    const first = await list(id, '?limit=400');
    expect(first.headers.get('Link')).toBe(
      `<http://127.0.0.1:4000/v1/sessions/${id}/events?limit=400&cursor=400>; rel="next"`,
    );
    const pages = [first];
    for (let link = first.headers.get('Link'); link; link = pages.at(-1)?.headers.get('Link') ?? null) {
      const { pathname, search } = new URL(/^<([^>]+)>; rel="next"$/.exec(link)?.[1] ?? '');
      pages.push(await gateway.rest<EventPage>('GET', pathname + search, { key }));
    }
    expect(pages.map(({ body }) => [body.items.length, body.nextCursor])).toEqual([
      [400, '400'],
      [400, '800'],
      [400, '1200'],
    ]);
    const ofMessage = await list(id, `?limit=100&messageId=${messageId}`);
    expect(ofMessage.headers.get('Link')).toContain(`?limit=100&cursor=1100&messageId=${messageId}>`);
    for (const end of ['?limit=200&cursor=1000', `?limit=200&messageId=${messageId}`, '?cursor=1200'])
      expect([end, (await list(id, end)).headers.get('Link')]).toEqual([end, null]);
  });

  test('messageId, in any case, filters the events of that message; without further events the cursor stays the same', async () => {
    const { body } = await list(id, `?messageId=${messageId.toUpperCase()}&limit=1000`);
    expect([body.items.map((event) => event.id), body.nextCursor]).toEqual([range(1001, 1200), '1200']);
    expect((await list(id, `?messageId=${randomUUID()}&cursor=7`)).body).toEqual({ items: [], nextCursor: '7' });
    // A client can poll with any cursor, even one beyond the last event.
    const beyond = '9007199254740993';
    expect((await list(id, `?cursor=${beyond}`)).body).toEqual({ items: [], nextCursor: beyond });
  });

  const whole = 'must be a whole number';
  const ofEvent = 'must be the id of an event, in decimal digits';
  sampled(test, 4).each([
    ['?limit=0', 'limit: must be from 1 to 1000'],
    ['?limit=1001', 'limit: must be from 1 to 1000'],
    ['?limit=', `limit: ${whole}`],
    ['?limit=abc', `limit: ${whole}`],
    ['?limit=-1', 'limit: must be from 1 to 1000'],
    ['?limit=1.5', `limit: ${whole}`],
    ['?limit=5.0', `limit: ${whole}`],
    ['?limit=%D9%A3', `limit: ${whole}`],
    ['?cursor=', `cursor: ${ofEvent}`],
    ['?cursor=x', `cursor: ${ofEvent}`],
    ['?cursor=-1', `cursor: ${ofEvent}`],
    ['?cursor=1&cursor=2', 'cursor: must be given only once'],
    ['?messageId=x', 'messageId: must be a UUID'],
    ['?messageid=x', 'messageid: is not a known property; did you mean messageId?'],
    ['?limit=0&cursor=x', `limit: must be from 1 to 1000; cursor: ${ofEvent}`],
  ])('%j is refused: 400', async (query, error) => {
    const answer = await list(id, query);
    expect([answer.status, answer.body]).toEqual([400, { error }]);
  });

  sampled(test, 3).each([
    [{ first: 0 }, 'first: must be from 1 to 1000'],
    [{ first: 1001 }, 'first: must be from 1 to 1000'],
    [{ last: -1 }, 'last: must be from 1 to 1000'],
    [{ first: 1, last: 1 }, 'last: must not be given together with first'],
    [{ after: 'x' }, 'after: must be the id of an event, in decimal digits'],
    [
      { before: Buffer.from('["SESSION_CREATED_AT"]').toString('base64url') },
      'before: must be the id of an event, in decimal digits',
    ],
    [{ filter: { eventTypes: ['a\0'] } }, 'filter.eventTypes.0: must be well-formed text without NUL characters'],
    [{ filter: { providers: Array<string>(101).fill('a') } }, 'filter.providers: must have at most 100 items'],
    [{ filter: { createdFrom: '0000-01-01T00:00:00Z' } }, 'filter.createdFrom: must be between the years 1 and 9999'],
  ])('GraphQL refuses %j', async (variables, message) => {
    const { errors } = await gateway.graphql(key, CONNECTION, { id, ...variables });
    expect(errors?.map((error) => [error.message, error.extensions?.['code']])).toEqual([[message, 'INVALID_INPUT']]);
  });
});

test('a page ends early at 4 MiB, and the next page continues after it, on both APIs and in both directions', async () => {
  const id = await createSession(gateway, key);
  const [event] = eventsOf(1);
  const large = { ...event, eventData: { type: 'tool_result', accumulatedText: 'x'.repeat(1_040_000) } };
  for (let batch = 0; batch < 3; batch += 1) await append(gateway, key, id, [large, large, large]);
  const first = await list(id, '?limit=1000');
  const second = await list(id, `?limit=1000&cursor=${first.body.nextCursor}`);
  const pages = [first, second].map(({ body }) => body.items.map((item) => item.id));
  expect(pages).toEqual([range(1, 5), range(6, 9)]);
  expect([first, second].map(({ headers }) => headers.has('Link'))).toEqual([true, false]);
  const ids = ({ nodes }: Connection) => nodes.map((node) => node.id);
  const forward = await connection(id, { first: 100 });
  const rest = await connection(id, { first: 100, after: forward.pageInfo.endCursor });
  expect([forward, rest].map(ids)).toEqual(pages);
  expect([forward, rest].map(({ pageInfo }) => pageInfo.hasNextPage)).toEqual([true, false]);
  const backward = await connection(id, { last: 100 });
  const start = await connection(id, { last: 100, before: backward.pageInfo.startCursor });
  expect([backward, start].map(ids)).toEqual([range(5, 9), range(1, 4)]);
  expect([backward, start].map(({ pageInfo }) => pageInfo.hasPreviousPage)).toEqual([true, false]);

  // The last event reaches the maximum, so the page is cut where the events end.
  const last = await list(id, '?limit=1000&cursor=4');
  expect([last.body.items.length, last.headers.has('Link')]).toEqual([5, false]);
  expect(await connection(id, { first: 100, after: '4' })).toMatchObject({
    nodes: { length: 5 },
    pageInfo: { hasNextPage: false },
  });
  expect(await connection(id, { last: 100, before: '6' })).toMatchObject({
    nodes: { length: 5 },
    pageInfo: { hasPreviousPage: false },
  });
});

describe('who may read events', () => {
  test('missing, foreign and private sessions get the same 404; members can read a public session; 403 without the scope', async () => {
    const admin = await gateway.createKey();
    const creator = await gateway.createKey({ organization: admin.organization });
    const member = await gateway.createKey({ organization: admin.organization });
    const id = await createSession(gateway, creator.key);
    await append(gateway, creator.key, id, eventsOf(1));
    const missing = await list(randomUUID(), '', member.key);
    expect([missing.status, missing.text]).toEqual([404, '{"error":"session not found","details":{"type":"Session"}}']);
    for (const as of [member.key, key]) {
      const answer = await list(id, '', as);
      expect([answer.status, answer.text]).toEqual([404, missing.text]);
    }
    for (const as of [creator.key, admin.key]) expect((await list(id, '', as)).body.items).toHaveLength(1);
    await gateway.rest('PATCH', `/v1/sessions/${id}`, { key: creator.key, body: { visibility: 'public' } });
    expect((await list(id, '', member.key)).body.items).toHaveLength(1);
    expect((await list(id, '', key)).status).toBe(404);
    const bare = await gateway.createKey({
      organization: admin.organization,
      scopes: ['sessions.write', 'sessions.record'],
    });
    for (const headers of [{}, { Accept: 'text/event-stream' }] as Record<string, string>[]) {
      const answer = await gateway.rest('GET', `/v1/sessions/${id}/events`, { key: bare.key, headers });
      expect([answer.status, answer.text]).toEqual([
        403,
        '{"error":"the API key lacks the scope sessions.read","details":{"missing":{"scopes":[["sessions.read"]]}}}',
      ]);
    }
    const answer = await list('7');
    expect([answer.status, answer.body]).toEqual([400, { error: 'sessionId: must be a UUID' }]);
  });

  test('sessionEvents answers every list of arguments like Session.events', async () => {
    const id = await createSession(gateway, key);
    await append(gateway, key, id, [...eventsOf(4), ...eventsOf(3, { from: 5, eventType: 'tool' })]);
    const lists = [
      '(first: 2)',
      '(last: 2)',
      '(first: 3, after: "2")',
      '(last: 3, before: "6", orderBy: { field: ID, direction: DESC })',
      '(first: 2, filter: { eventTypes: ["tool"] })',
      '(first: 1001)',
      '(first: 1, after: "x")',
    ];
    const page =
      '{ totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor } edges { cursor node { id eventDataJson } } }';
    const outcomes = new Set<string>();
    for (const args of lists) {
      const direct = await gateway.graphql<{ list: unknown }>(
        key,
        `{ list: sessionEvents${args.replace('(', `(sessionId: "${id}", `)} ${page} }`,
      );
      const below = await gateway.graphql<{ session: { list: unknown } }>(
        key,
        `{ session(id: "${id}") { list: events${args} ${page} } }`,
      );
      const told = (errors: typeof direct.errors) =>
        errors?.map(({ message, extensions }) => [message, extensions?.['code']]);
      expect([args, direct.data?.list, told(direct.errors)]).toEqual([
        args,
        below.data?.session.list,
        told(below.errors),
      ]);
      outcomes.add(JSON.stringify([direct.data, told(direct.errors)]));
    }
    expect(outcomes.size).toBe(lists.length);
  });

  test('sessionEvents reads a page without reading the session; strangers get the same 404 as for a missing session', async () => {
    const id = await createSession(gateway, key);
    await append(gateway, key, id, eventsOf(1));
    const stranger = await gateway.createKey();
    const query = 'query($id: ID!) { sessionEvents(sessionId: $id) { nodes { databaseId } totalCount } }';
    const globalId = Buffer.from(`Session:${id}`).toString('base64');
    for (const given of [id, globalId]) {
      gateway.statements.length = 0;
      const answer = await gateway.graphql(key, query, { id: given });
      expect(answer).toMatchObject({ data: { sessionEvents: { nodes: [{ databaseId: 1 }], totalCount: 1 } } });
      // The key, the page and the count.
      expect(gateway.statements).toHaveLength(3);
    }
    const refusals = [
      await gateway.graphql(stranger.key, query, { id }),
      await gateway.graphql(key, query, { id: randomUUID() }),
      await gateway.graphql(key, query, { id: 'none' }),
    ];
    for (const { data, errors } of refusals)
      expect([data, errors?.map(({ message, path, extensions }) => [message, path, extensions?.['code']])]).toEqual([
        { sessionEvents: null },
        [['session not found', ['sessionEvents'], 'NOT_FOUND']],
      ]);
  });

  test('an event can be read by its global id, but only by callers who may read its session', async () => {
    const id = await createSession(gateway, key);
    await append(gateway, key, id, eventsOf(3));
    const query = 'query($ids: [ID!]!) { nodes(ids: $ids) { id ... on SessionEvent { databaseId } } }';
    const ids = [`${id}:2`, `${id}:4`, `${id}:x`, `x:1`, `${id}:0`, `${id}:1`].map((place) =>
      Buffer.from(`SessionEvent:${place}`).toString('base64'),
    );
    const found = [{ id: ids[0], databaseId: 2 }, null, null, null, null, { id: ids[5], databaseId: 1 }];
    expect((await gateway.graphql(key, query, { ids })).data).toEqual({ nodes: found });
    const stranger = await gateway.createKey();
    expect((await gateway.graphql(stranger.key, query, { ids })).data).toEqual({ nodes: ids.map(() => null) });
  });
});

describe('filters over GraphQL', () => {
  test('each condition filters the events, and all given conditions must match', async () => {
    const id = await createSession(gateway, key);
    const messageId = randomUUID();
    const data = (delivery: string, kind: string) => ({ delivery, scope: { kind } });
    await append(gateway, key, id, [
      ...eventsOf(1, {
        eventType: 'a',
        provider: 'openai',
        createdAt: '2026-03-01T00:00:00Z',
        data: data('realtime', 'foreground'),
      }),
      ...eventsOf(1, { from: 2, eventType: 'b', createdAt: '2026-03-02T00:00:00Z', data: data('persist', 'subagent') }),
      ...eventsOf(1, { from: 3, eventType: 'c', messageId, createdAt: '2026-03-03T00:00:00Z' }),
    ]);
    const cases: [object, number[]][] = [
      [{}, [1, 2, 3]],
      [{ isError: true }, []],
      [{ isError: false }, [1, 2, 3]],
      [{ eventTypes: ['a', 'c'] }, [1, 3]],
      [{ eventTypes: [] }, []],
      [{ eventTypes: null, providers: ['openai'] }, [1]],
      [{ providers: ["'; drop table session; --"] }, []],
      [{ messageId }, [3]],
      [{ delivery: 'REALTIME' }, [1]],
      [{ scope: 'SUBAGENT' }, [2]],
      [{ createdFrom: '2026-03-02T00:00:00Z' }, [2, 3]],
      [{ createdBefore: '2026-03-02T01:00:00+01:00' }, [1]],
      [
        {
          createdFrom: '2026-03-01T00:00:00Z',
          createdBefore: '2026-03-03T00:00:00.000Z',
          delivery: 'PERSIST',
          eventTypes: ['b'],
        },
        [2],
      ],
    ];
    for (const [filter, expected] of cases)
      expect([filter, indexes((await connection(id, { filter })).nodes)]).toEqual([filter, expected]);
    expect(await connection(id, { filter: { eventTypes: ['a', 'c'] }, last: 1 })).toMatchObject({
      nodes: [{ id: 3 }],
      pageInfo: { hasNextPage: false, hasPreviousPage: true, startCursor: '3', endCursor: '3' },
    });
  });

  test('a member of the same organization cannot read events of a private session', async () => {
    const id = await createSession(gateway, key);
    const peer = await gateway.createKey({ organization });
    expect((await gateway.graphql(peer.key, CONNECTION, { id })).data).toEqual({ session: null });
  });
});
