import { beforeAll, expect, test } from 'vitest';
import { type TestGateway, startTestGateway, useOwnGateway } from '../../support/fixtures/gateway.ts';
import { createSession } from '../../support/fixtures/sessions.ts';

/** What a search reads follows from its page, not from the number of texts that have the words. */

const TEXTS = 12_000;
const gateway = useOwnGateway();
/** With few connections, which can be asked for what they have read. */
const CONNECTIONS = 4;
let reading: TestGateway;
let key: string;

beforeAll(async () => {
  reading = await startTestGateway({ DATABASE_POOL_SIZE: String(CONNECTIONS) }, { beside: gateway });
  ({ key } = await gateway.createKey());
  const sessionId = await createSession(gateway, key);
  const { body } = await gateway.rest<{ items: { id: string }[] }>('GET', '/v1/organizations', { key });
  // The newest has the greatest number. Two have the same time each.
  await gateway.dependencies.sql.query(
    `insert into session_text (session_id, item, organization_id, event_id, created_at, document)
      select s.id, lpad(n::text, 6, '0'), s.organization_id, n, '2026-01-01'::timestamptz + n / 2 * interval '1 second',
        to_tsvector('simple', 'often' || case when n % 1000 = 7 then ' seldom' else '' end || case when n % 10 = 3 then ' sometimes' else '' end
          || case when n <= ${TEXTS / 2} then ' past' else '' end)
      from session s, generate_series(1, ${TEXTS}) n where s.id = $1 and s.organization_id = $2`,
    [sessionId, body.items[0]?.id],
  );
  await gateway.dependencies.sql.query('analyze session_text', []);
  return () => reading.close();
}, 120_000);

interface Matches {
  readonly items: readonly { readonly eventId: number }[];
  readonly nextCursor: string | null;
}

const READ = `select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int as rows from pg_stat_user_tables where relname in ('session_text', 'session')`;

async function rowsRead(): Promise<number> {
  // At once, so that each connection does it.
  const flush = () => reading.dependencies.sql.query('select pg_stat_force_next_flush() from pg_sleep(0.1)', []);
  await Promise.all(Array.from({ length: CONNECTIONS }, flush));
  const [row] = await gateway.dependencies.sql.query<{ rows: number }>(READ, []);
  return row?.rows ?? 0;
}

/** The texts of some pages, and the number of rows that were read for the first one. */
async function search(text: string, { limit, pages }: { limit: number; pages: number }) {
  const found: number[] = [];
  let cursor = '';
  let rows = 0;
  for (let page = 0; page < pages; page += 1) {
    const before = await rowsRead();
    const path = `/v1/session-search?text=${text}&limit=${limit}${cursor && `&cursor=${cursor}`}`;
    const { body } = await reading.rest<Matches>('GET', path, { key });
    if (page === 0) rows = (await rowsRead()) - before;
    found.push(...body.items.map(({ eventId }) => eventId));
    if (body.nextCursor === null) break;
    cursor = body.nextCursor;
  }
  return { found, rows };
}

const all = Array.from({ length: TEXTS }, (_, index) => TEXTS - index);
const WORDS = [
  // In the first window.
  { text: 'often', has: () => true, rows: 2_000 },
  // Few: the index finds them.
  { text: 'sometimes', has: (n: number) => n % 10 === 3, rows: 5_000 },
  { text: 'seldom', has: (n: number) => n % 1000 === 7, rows: 2_000 },
  // Many, but none of them is new: the windows grow.
  { text: 'past', has: (n: number) => n <= TEXTS / 2, rows: 45_000 },
  { text: 'past+often+seldom', has: (n: number) => n % 1000 === 7 && n <= TEXTS / 2, rows: 2_000 },
  { text: 'nowhere', has: () => false, rows: 2_000 },
];

test.for(WORDS)('pages of $text have each text once, the newest first', async ({ text, has }) => {
  const { found } = await search(text, { limit: 80, pages: 8 });
  expect(found).toEqual(all.filter(has).slice(0, 640));
});

test.for(WORDS)('a page of $text reads a bounded number of rows', async ({ text, rows: most }) => {
  const { rows } = await search(text, { limit: 20, pages: 1 });
  expect(rows).toBeLessThan(most);
});

test('a search from the end, and one with a condition on sessions, find the same', async () => {
  const list = (given: string) =>
    `{ viewer { organization { sessionSearch(text: "past", ${given}) { nodes { eventId } } } } }`;
  const found = async (given: string) => {
    const answer = await reading.graphql<{
      viewer: { organization: { sessionSearch: { nodes: { eventId: number }[] } } };
    }>(key, list(given));
    return answer.data?.viewer.organization.sessionSearch.nodes.map(({ eventId }) => eventId);
  };
  const past = all.filter((n) => n <= TEXTS / 2);
  expect(await found('last: 5')).toEqual(past.slice(-5));
  expect(await found('first: 5, filter: { states: [QUEUED] }')).toEqual(past.slice(0, 5));
  expect(await found('first: 5, filter: { states: [FAILED] }')).toEqual([]);
});
