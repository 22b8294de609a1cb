import { beforeAll, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { type EventPage, append, createSession, eventsOf, moveTo, subscribe } from '../../support/fixtures/sessions.ts';
import { sampled } from '../../support/sample.ts';

const gateway = useTestGateway();
let key: string;
let id: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
  id = await createSession(gateway, key);
  await append(gateway, key, id, eventsOf(5));
  await moveTo(gateway, key, id, 'CANCELLED');
});

const REFUSED = 'must be the id of an event, in decimal digits';

async function restPage(cursor: string) {
  const path = `/v1/sessions/${id}/events?cursor=${encodeURIComponent(cursor)}`;
  const { status, body } = await gateway.rest<EventPage & { error: string }>('GET', path, { key });
  return status === 200 ? body.items.map((event) => event.id) : [status, body.error];
}

async function restTail(query: string, headers: Record<string, string> = {}) {
  const response = await gateway.fetch(`/v1/sessions/${id}/events${query}`, {
    headers: { Authorization: `Bearer ${key}`, Accept: 'text/event-stream', ...headers },
  });
  // The session is finished, so the stream ends.
  const text = await response.text();
  // A resumption at the end.
  if (response.status === 204) return [];
  if (response.status !== 200) return [response.status, (JSON.parse(text) as { error: string }).error];
  const events = text.split('\n\n').filter((event) => !event.includes('event: end'));
  return events.flatMap((event) => /^id: (\d+)$/m.exec(event)?.slice(1).map(Number) ?? []);
}

async function graphqlPage(after: string) {
  const query =
    'query($id: ID!, $after: String) { session(id: $id) { events(after: $after) { nodes { databaseId } } } }';
  const { data, errors } = await gateway.graphql<{
    session: { events: { nodes: { databaseId: number }[] } | null } | null;
  }>(key, query, { id, after });
  return data?.session?.events?.nodes.map(({ databaseId }) => databaseId) ?? [400, errors?.[0]?.message];
}

async function graphqlTail(after: string) {
  const query = 'subscription($id: ID!, $after: ID) { sessionEvents(sessionId: $id, after: $after) { databaseId } }';
  const messages = await (await subscribe(gateway, key, query, { id, after })).take(9);
  const results = messages.flatMap(({ event, data = '' }) =>
    event === 'next'
      ? [
          JSON.parse(data) as {
            data?: { sessionEvents: { databaseId: number } } | null;
            errors?: { message: string }[];
          },
        ]
      : [],
  );
  const [first] = results;
  return first?.errors ? [400, first.errors[0]?.message] : results.map(({ data }) => data?.sessionEvents.databaseId);
}

const everywhere = async (cursor: string) => ({
  page: await restPage(cursor),
  tail: await restTail(`?cursor=${encodeURIComponent(cursor)}`),
  graphqlPage: await graphqlPage(cursor),
  graphqlTail: await graphqlTail(cursor),
});

sampled(test, 3).for([
  ['0', [1, 2, 3, 4, 5]],
  ['3', [4, 5]],
  ['0003', [4, 5]],
  ['5', []],
  ['999999999999999', []],
  ['9007199254740993', []],
  ['9223372036854775807', []],
] as const)('the cursor %s continues after the same event on both APIs, in pages and tails', async ([cursor, ids]) => {
  expect(await everywhere(cursor)).toEqual({ page: ids, tail: ids, graphqlPage: ids, graphqlTail: ids });
  expect(await restTail('', { 'Last-Event-ID': cursor })).toEqual(ids);
});

test('an empty cursor is none in GraphQL, where some clients send one for an empty page, and refused in REST', async () => {
  const ids = [1, 2, 3, 4, 5];
  const { page, tail, ...relay } = await everywhere('');
  expect([page, tail]).toEqual([
    [400, `cursor: ${REFUSED}`],
    [400, `cursor: ${REFUSED}`],
  ]);
  expect(relay).toEqual({ graphqlPage: ids, graphqlTail: ids });
});

sampled(test, 3).for(['x', '-1', '1.5', ' 1', '1 ', '1e3', '0x1', '１', '٣', "1'--", '1\n'])(
  'the cursor %j is refused with the same message on both APIs, in pages and tails',
  async (cursor) => {
    const rest = [400, `cursor: ${REFUSED}`];
    const graphql = [400, `after: ${REFUSED}`];
    expect(await everywhere(cursor)).toEqual({ page: rest, tail: rest, graphqlPage: graphql, graphqlTail: graphql });
  },
);

const LARGE = 'must be at most 9223372036854775807';

test.for(['9223372036854775808', '9'.repeat(300)])('the cursor %s is refused with the bound', async (cursor) => {
  const [rest, graphql] = [
    [400, `cursor: ${LARGE}`],
    [400, `after: ${LARGE}`],
  ];
  expect(await everywhere(cursor)).toEqual({ page: rest, tail: rest, graphqlPage: graphql, graphqlTail: graphql });
  expect(await restTail('', { 'Last-Event-ID': cursor })).toEqual([400, `Last-Event-ID: ${LARGE}`]);
});

test.for(['', 'x', '-1'])('the header Last-Event-ID: %j is refused', async (header) => {
  expect(await restTail('', { 'Last-Event-ID': header })).toEqual([400, `Last-Event-ID: ${REFUSED}`]);
});
