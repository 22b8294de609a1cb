import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { onStatement } from '../../../src/core/postgres/driver/statement-channels.ts';
import { WORK } from '../../../src/core/work-budget.ts';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import { EventStream } from '../../support/fixtures/sessions.ts';
import { deliver, receive } from '../../support/fixtures/webhooks.ts';
import { type RecordedStatement, measurePlan } from '../../support/statement-plans.ts';

/** A page of a rare type looks at a bounded number of entries, and goes on where it stopped. */

const gateway = useOwnGateway({ ALLOW_PRIVATE_NETWORK: 'true' });

const ENTRIES = 45_000;
/** Of the rare type: the first and last of those that a page can look at, and some in between. */
const RARE = [1, 10_000, 10_001, 10_002, 44_000];
/** Deleted before the others, such as by retention: ids do not begin at 1, and have gaps. */
const GONE = { from: 12_000, to: 26_000 };

let client: pg.Client;
let key: string;
const sent: RecordedStatement[] = [];
beforeAll(async () => {
  const created = await gateway.createKey();
  key = created.key;
  client = new pg.Client(gateway.databaseUrl);
  await client.connect();
  const { rows } = await client.query<{ id: string }>('select id from organization where slug = $1', [
    created.organization,
  ]);
  const organizationId = rows[0]?.id;
  // What creating the organization has published.
  await client.query('delete from feed_entry where organization_id = $1', [organizationId]);
  await client.query(
    `insert into feed_entry (organization_id, key, id, recorded_at, position, created_at, type, subject_type, subject_id, data)
      select $1, gen_random_uuid(), n, now(), 0, now(), case when n = any($2) then 'member.left' else 'event_definition.changed' end,
        case when n = any($2) then 'User' else 'EventDefinition' end, gen_random_uuid(), '{}'
      from generate_series(1, $3::int) n where not n between $4 and $5`,
    [organizationId, RARE, ENTRIES, GONE.from, GONE.to],
  );
  await client.query(
    `insert into feed_stream (organization_id, last_id) values ($1, $2) on conflict (organization_id) do update set last_id = $2`,
    [organizationId, ENTRIES],
  );
  await client.query('analyze feed_entry');
  onStatement(await gateway.dependencies.database.driver.getConnection().getNativeClient(), ({ text, values }) => {
    if (text.startsWith('select') && text.includes('"feed_entry"')) sent.push({ text, values });
  });
});
afterAll(() => client.end());

/** The largest number of rows that one of the statements reads that were sent meanwhile, with either plan. */
async function mostRowsRead(): Promise<number> {
  const rows = [0];
  for (const statement of sent.splice(0))
    for (const mode of ['force_generic_plan', 'force_custom_plan'] as const)
      rows.push((await measurePlan(client, statement, mode)).rows);
  return Math.max(...rows);
}

interface Page {
  readonly items: { readonly id: number }[];
  readonly nextCursor: string;
}

test('REST: pages with few or no entries lead on to all of them, and each looks at a bounded number', async () => {
  const found: number[] = [];
  const cursors: string[] = [];
  sent.length = 0;
  let path = '/v1/feed?types=member.left&limit=3';
  while (path !== '') {
    const { body, headers } = await gateway.rest<Page>('GET', path, { key });
    found.push(...body.items.map(({ id }) => id));
    cursors.push(body.nextCursor);
    path = /<[^>]*(\/v1\/feed[^>]*)>; rel="next"/.exec(headers.get('link') ?? '')?.[1] ?? '';
  }
  expect(found).toEqual(RARE);
  // The third page, which is empty, looks at ids from the end of the gap on.
  expect(cursors).toEqual(['10000', '20000', '36000', String(ENTRIES)]);
  const rows = await mostRowsRead();
  expect(rows).toBeGreaterThan(WORK.feedEntries / 2);
  expect(rows).toBeLessThanOrEqual(WORK.feedEntries + 20);
});

interface Connection {
  readonly pageInfo: Record<'hasNextPage' | 'hasPreviousPage', boolean> &
    Record<'startCursor' | 'endCursor', string | null>;
  readonly nodes: readonly { readonly databaseId: number }[];
}

const QUERY = `query($first: Int, $after: String, $last: Int, $before: String, $direction: OrderDirection!) { viewer { organization {
  feed(first: $first, after: $after, last: $last, before: $before, filter: { types: [MEMBER_LEFT] }, orderBy: { direction: $direction }) {
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor } nodes { databaseId } } } } }`;

async function read(variables: Record<string, unknown>): Promise<Connection> {
  const { data, errors } = await gateway.graphql<{ viewer: { organization: { feed: Connection } } }>(
    key,
    QUERY,
    variables,
  );
  if (!data) throw new Error(JSON.stringify(errors));
  return data.viewer.organization.feed;
}

test.each(['ASC', 'DESC'])('GraphQL: the same from both ends, in the direction %s', async (direction) => {
  const expected = direction === 'ASC' ? RARE : RARE.toReversed();
  for (const isBackward of [false, true]) {
    sent.length = 0;
    const found: number[][] = [];
    let isLast = false;
    let empty = 0;
    for (let cursor: string | null = null; !isLast;) {
      const asked = isBackward ? { last: 2, before: cursor } : { first: 2, after: cursor };
      const { nodes, pageInfo }: Connection = await read({ direction, ...asked });
      found.push(nodes.map(({ databaseId }) => databaseId));
      if (nodes.length === 0) empty += 1;
      cursor = isBackward ? pageInfo.startCursor : pageInfo.endCursor;
      isLast = !(isBackward ? pageInfo.hasPreviousPage : pageInfo.hasNextPage);
    }
    expect((isBackward ? found.toReversed() : found).flat()).toEqual(expected);
    expect(empty).toBeGreaterThan(0);
    expect(await mostRowsRead()).toBeLessThanOrEqual(WORK.feedEntries + 20);
  }
});

test('a live tail and a webhook get the entries beyond those that one page looks at', async () => {
  const headers = { Authorization: `Bearer ${key}`, Accept: 'text/event-stream' };
  const stream = new EventStream(await gateway.fetch('/v1/feed?types=member.left', { headers }));
  expect((await stream.take(RARE.length)).map(({ id }) => Number(id))).toEqual(RARE);
  await stream.close();

  await using webhook = await receive(gateway, key, { types: ['member.left'] });
  await gateway.rest('POST', `/v1/webhooks/${webhook.id}/replay`, { key, body: { after: 10_002 } });
  sent.length = 0;
  await deliver(gateway);
  expect(webhook.receiver.received.map(({ data }) => data.id)).toEqual([44_000]);
  const { body } = await gateway.rest<{ cursor: number }>('GET', `/v1/webhooks/${webhook.id}`, { key });
  expect(body.cursor).toBe(ENTRIES);
});
