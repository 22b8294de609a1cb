import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { type Api, DEFINITIONS_PATH, done, apisOf, restApi } from '../../support/fixtures/event-definitions.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { sampledRuns } from '../../support/sample.ts';

const gateway = useTestGateway();
afterAll(async () => {
  gateway.setClock(undefined);
});

const BARE = { includeDefaultProperties: false };

interface ListBody {
  results: { name: string; properties: { name: string }[] }[];
  total: number;
  paging?: { next: { after: string; link: string } };
}

async function create(api: Api, ...names: string[]) {
  for (const name of names) done(await api.create({ label: name, name, ...BARE }));
}

async function list(key: string, query: string) {
  const { status, body } = await gateway.rest<ListBody>('GET', `${DEFINITIONS_PATH}${query}`, { key });
  expect(status).toBe(200);
  return { names: body.results.map(({ name }) => name), total: body.total, next: body.paging?.next };
}

/** A cursor with the given content. */
function forged(...content: unknown[]): string {
  return Buffer.from(JSON.stringify(content)).toString('base64url');
}

describe('the REST list', () => {
  test('an organization without definitions has an empty list without a next page', async () => {
    const { key } = await gateway.createKey();
    expect((await gateway.rest('GET', DEFINITIONS_PATH, { key })).body).toEqual({ results: [], total: 0 });
  });

  test('pages neither skip nor repeat a row while rows are added and deleted, in both orders', async () => {
    const { key } = await gateway.createKey();
    const api = restApi(gateway, key);
    await create(api, 'b', 'd', 'f', 'h', 'j');
    const first = await list(key, '?limit=2');
    expect([first.names, first.total]).toEqual([['b', 'd'], 5]);
    // Adds a row before the cursor and one after it; deletes the cursor's row and a later one.
    await create(api, 'a', 'e');
    for (const name of ['d', 'h']) done(await api.delete(name));
    const second = await list(key, `?limit=2&after=${first.next?.after}`);
    expect([second.names, second.total]).toEqual([['e', 'f'], 5]);
    const third = await list(key, `?limit=2&after=${second.next?.after}`);
    expect([third.names, third.next]).toEqual([['j'], undefined]);

    const down = await list(key, '?limit=2&sortOrder=DESC');
    expect(down.names).toEqual(['j', 'f']);
    done(await api.delete('f'));
    await create(api, 'g', 'c');
    const rest = await list(key, `?limit=100&sortOrder=DESC&after=${down.next?.after}`);
    expect([rest.names, rest.next]).toEqual([['e', 'c', 'b', 'a'], undefined]);
  });

  test('a page that ends with the last row has no next page', async () => {
    const { key } = await gateway.createKey();
    await create(restApi(gateway, key), 'a', 'b');
    expect((await list(key, '?limit=2')).next).toBeUndefined();
    expect((await list(key, '?limit=1')).next).toBeDefined();
  });

  test('`link` leads to the next page of the same search', async () => {
    const { key } = await gateway.createKey();
    const api = restApi(gateway, key);
    await create(api, 'x_1', 'x_2', 'x_3', 'y');
    done(await api.addProperty('x_2', { label: 'P', type: 'bool' }));
    const first = await list(key, `?searchString=X%5F&limit=1&includeProperties=true&sortOrder=DESC`);
    expect([first.names, first.total]).toEqual([['x_3'], 3]);
    expect(Object.fromEntries(new URL(first.next?.link ?? '', 'http://gateway').searchParams)).toEqual({
      searchString: 'X_',
      includeProperties: 'true',
      limit: '1',
      sortOrder: 'DESC',
      after: first.next?.after,
    });
    const second = await gateway.rest<ListBody>('GET', first.next?.link ?? '', { key });
    expect(
      second.body.results.map(({ name, properties }) => [name, properties.map((property) => property.name)]),
    ).toEqual([['x_2', ['p']]]);
    const third = await gateway.rest<ListBody>('GET', second.body.paging?.next.link ?? '', { key });
    expect([third.body.results.map(({ name }) => name), third.body.paging]).toEqual([['x_1'], undefined]);
  });

  test('properties are listed only with includeProperties=true', async () => {
    const { key } = await gateway.createKey();
    done(await restApi(gateway, key).create({ label: 'A', propertyDefinitions: [{ label: 'P', type: 'bool' }] }));
    const counts = [];
    for (const query of ['', '?includeProperties=false', '?includeProperties=true']) {
      counts.push(
        (await gateway.rest<ListBody>('GET', `${DEFINITIONS_PATH}${query}`, { key })).body.results[0]?.properties
          .length,
      );
    }
    expect(counts).toEqual([0, 0, 33]);
  });

  test('a page has 100 definitions by default, and at most 500', async () => {
    const { key } = await gateway.createKey();
    const api = restApi(gateway, key);
    for (let index = 0; index < 101; index += 1) done(await api.create({ label: 'Many', ...BARE }));
    expect((await list(key, '')).names).toHaveLength(100);
    expect((await list(key, '?limit=500')).names).toHaveLength(101);
  });

  test('400: values out of bounds, malformed cursors and cursors of other lists, and repeated parameters', async () => {
    const { key } = await gateway.createKey();
    await create(restApi(gateway, key), 'a', 'b');
    const real = (await list(key, '?limit=1')).next?.after ?? '';
    const byCreation = `{ viewer { organization { eventDefinitions(first: 1, orderBy: { field: CREATED_AT }) { pageInfo { endCursor } } members { pageInfo { endCursor } } } } }`;
    type Cursors = {
      viewer: { organization: Record<'eventDefinitions' | 'members', { pageInfo: { endCursor: string } }> };
    };
    const { data } = await gateway.graphql<Cursors>(key, byCreation);
    const { eventDefinitions, members } = data?.viewer.organization ?? {};
    const kind = /^[A-Z_]+/.exec(Buffer.from(real, 'base64url').toString().slice(2))?.[0];
    const queries = [
      'limit=0',
      'limit=-1',
      'limit=1.5',
      'limit=1e1',
      'limit=',
      'limit=ten',
      'sortOrder=up',
      'includeProperties=yes',
      `searchString=${'x'.repeat(1001)}`,
      'limit=1&limit=2',
      'after=nonsense',
      `after=${real}!`,
      `after=${real}&sortOrder=DESC`,
      `after=${eventDefinitions?.pageInfo.endCursor}`,
      `after=${members?.pageInfo.endCursor}`,
      `after=${forged(kind)}`,
      `after=${forged(kind, 5)}`,
      `after=${forged(kind, 'a\0')}`,
      `after=${forged(kind, 'a', 'b')}`,
      `after=${forged('NAME', 'a')}`,
      `after=${'A'.repeat(5000)}`,
    ];
    const answers = [];
    for (const query of queries) {
      const { status, body } = await gateway.rest<{ message: string }>('GET', `${DEFINITIONS_PATH}?${query}`, { key });
      answers.push(`${status} ${body.message}`);
    }
    expect(answers).toMatchInlineSnapshot(`
      [
        "400 limit: must be at least 1",
        "400 limit: must be at least 1",
        "400 limit: must be an integer",
        "400 limit: must be a number",
        "400 limit: must be a number",
        "400 limit: must be a number",
        "400 sortOrder: must be one of "ASC", "DESC"",
        "400 includeProperties: must be a boolean",
        "400 searchString: must be at most 1000 characters",
        "400 limit: must be given only once",
        "400 after: is not a cursor of this list and order",
        "400 after: is not a cursor of this list and order",
        "400 after: is not a cursor of this list and order",
        "400 after: is not a cursor of this list and order",
        "400 after: is not a cursor of this list and order",
        "400 after: is not a cursor of this list and order",
        "400 after: is not a cursor of this list and order",
        "400 after: is not a cursor of this list and order",
        "400 after: is not a cursor of this list and order",
        "400 after: is not a cursor of this list and order",
        "400 after: is not a cursor of this list and order",
      ]
    `);
  });
});

interface FoundPage {
  nodes: { name: string }[];
  edges: { cursor: string }[];
  totalCount: number;
  pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean; startCursor: string | null; endCursor: string | null };
}

async function page(key: string, variables: object): Promise<FoundPage> {
  const query = `query Page($first: Int, $after: String, $last: Int, $before: String, $filter: EventDefinitionFilter, $orderBy: EventDefinitionOrder) {
    viewer { organization { eventDefinitions(first: $first, after: $after, last: $last, before: $before, filter: $filter, orderBy: $orderBy) {
      nodes { name } edges { cursor } totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } } }`;
  const { data, errors } = await gateway.graphql<{ viewer: { organization: { eventDefinitions: FoundPage } } }>(
    key,
    query,
    { ...variables },
  );
  if (!data || errors) throw new Error(JSON.stringify(errors));
  return data.viewer.organization.eventDefinitions;
}

describe('the GraphQL connection', () => {
  test('paging forward or backward, with any page size and order, returns every row exactly once and in order', async () => {
    const { key } = await gateway.createKey();
    const api = restApi(gateway, key);
    const start = Date.parse('2026-01-01T00:00:00.000Z');
    const made = [];
    // Several rows share each moment, so that the times alone do not order them.
    for (let index = 0; index < 17; index += 1) {
      gateway.setClock(new Date(start + Math.floor(((index * 7) % 17) / 3)));
      made.push(done(await api.create({ label: 'Row', name: `row_${index}`, ...BARE })));
    }
    gateway.setClock(undefined);
    const sorted = {
      NAME: made.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      CREATED_AT: made.toSorted((a, b) => (`${a.createdAt}${a.id}` < `${b.createdAt}${b.id}` ? -1 : 1)),
      UPDATED_AT: made.toSorted((a, b) => (`${a.updatedAt}${a.id}` < `${b.updatedAt}${b.id}` ? -1 : 1)),
    };
    const walks = fc.record({
      size: fc.integer({ min: 1, max: 20 }),
      backward: fc.boolean(),
      field: fc.constantFrom('NAME' as const, 'CREATED_AT' as const, 'UPDATED_AT' as const),
      direction: fc.constantFrom('ASC' as const, 'DESC' as const),
    });
    await fc.assert(
      fc.asyncProperty(walks, async ({ size, backward, field, direction }) => {
        const names = sorted[field].map(({ name }) => name);
        const expected = direction === 'ASC' ? names : names.toReversed();
        expect(await walkAll(key, size, backward, { field, direction })).toEqual(expected);
      }),
      { numRuns: sampledRuns(25, 5) },
    );
  });

  async function walkAll(key: string, size: number, backward: boolean, orderBy: object): Promise<string[]> {
    const names: string[] = [];
    let cursor: string | null = null;
    for (;;) {
      const found: FoundPage = await page(key, {
        orderBy,
        ...(backward ? { last: size, before: cursor } : { first: size, after: cursor }),
      });
      expect(found.totalCount).toBe(17);
      const seen = found.nodes.map(({ name }) => name);
      if (backward) names.unshift(...seen);
      else names.push(...seen);
      expect([found.pageInfo.startCursor, found.pageInfo.endCursor]).toEqual([
        found.edges[0]?.cursor,
        found.edges.at(-1)?.cursor,
      ]);
      cursor = backward ? found.pageInfo.startCursor : found.pageInfo.endCursor;
      if (!(backward ? found.pageInfo.hasPreviousPage : found.pageInfo.hasNextPage)) return names;
    }
  }

  test('can be searched, filtered and ordered; totalCount counts the matching definitions', async () => {
    const { key } = await gateway.createKey();
    const api = restApi(gateway, key);
    const customMatchingId = {
      primaryObjectRule: { targetObjectPropertyName: 'key', eventPropertyName: 'svc_page_id' },
    };
    const at = (second: number) => gateway.setClock(new Date(Date.UTC(2026, 0, 1, 0, 0, second)));
    at(1);
    done(await api.create({ label: 'Order A', primaryObject: 'ORDER', customMatchingId }));
    at(2);
    done(await api.create({ label: 'Order B', primaryObject: 'DEAL' }));
    at(3);
    done(await api.create({ label: 'Seen', primaryObject: 'wishlist', customMatchingId }));
    at(4);
    done(await api.update('order_a', { label: 'Changed' }));
    gateway.setClock(undefined);
    const found = async (variables: object) => {
      const { nodes, totalCount } = await page(key, variables);
      return `${nodes.map(({ name }) => name).join(' ')} (${totalCount})`;
    };
    expect([
      await found({}),
      await found({ filter: null, orderBy: null }),
      await found({ filter: { search: 'ORDER' } }),
      await found({ filter: { search: 'order' }, first: 1 }),
      await found({ filter: { primaryObjects: ['DEAL'], customObjectNames: ['wishlist'] } }),
      await found({ filter: { primaryObjects: [] } }),
      await found({ filter: { hasCustomMatchingId: true } }),
      await found({ filter: { hasCustomMatchingId: false } }),
      await found({ filter: { search: 'order', hasCustomMatchingId: true, primaryObjects: ['ORDER', 'DEAL'] } }),
      await found({ orderBy: { field: 'CREATED_AT', direction: 'DESC' } }),
      await found({ orderBy: { field: 'UPDATED_AT' } }),
      await found({ filter: { customObjectNames: ["' or true --"] } }),
      await found({ filter: { primaryObjects: ['DEAL', 'CUSTOM_OBJECT'] } }),
      await found({ filter: { primaryObjects: ['CUSTOM_OBJECT'], customObjectNames: ['other'] } }),
      await found({ filter: { text: 'ORDER_A' } }),
      await found({ filter: { text: 'hanG' } }),
      await found({ filter: { text: 'order b', search: 'a' } }),
    ]).toEqual([
      'order_a order_b seen (3)',
      'order_a order_b seen (3)',
      'order_a order_b (2)',
      'order_a (2)',
      'order_b seen (2)',
      ' (0)',
      'order_a seen (2)',
      'order_b (1)',
      'order_a (1)',
      'seen order_b order_a (3)',
      'order_b seen order_a (3)',
      ' (0)',
      'order_b seen (2)',
      ' (0)',
      'order_a (1)',
      'order_a (1)',
      ' (0)',
    ]);
  });

  test('a page has 50 definitions by default and at most 100; first with last, and cursors of another list or order, are refused', async () => {
    const { key } = await gateway.createKey();
    const [rest] = apisOf(gateway, key);
    for (let index = 0; index < 51; index += 1) done(await rest.create({ label: 'Many', ...BARE }));
    const whole = await page(key, {});
    expect([whole.nodes.length, whole.totalCount, whole.pageInfo.hasNextPage]).toEqual([50, 51, true]);
    expect((await page(key, { first: 100 })).nodes).toHaveLength(51);
    const cursor = whole.pageInfo.endCursor;
    const uuid = crypto.randomUUID();
    const refusals = [
      { first: 0 },
      { first: 101 },
      { first: -1 },
      { last: 101 },
      { first: 1, last: 1 },
      { after: 'x' },
      { before: 'x=' },
      { after: cursor, orderBy: { field: 'NAME', direction: 'DESC' } },
      { after: cursor, orderBy: { field: 'CREATED_AT' } },
      {
        after: forged('EVENT_DEFINITION_CREATED_AT_ASC', '0000-01-01T00:00:00.000Z', uuid),
        orderBy: { field: 'CREATED_AT' },
      },
      {
        after: forged('EVENT_DEFINITION_CREATED_AT_ASC', `2026-01-01T00:00:00.${'0'.repeat(500)}Z`, uuid),
        orderBy: { field: 'CREATED_AT' },
      },
      {
        after: forged('EVENT_DEFINITION_CREATED_AT_ASC', '2026-01-01T00:00:00.000Z', 'x'),
        orderBy: { field: 'CREATED_AT' },
      },
    ];
    const messages = [];
    for (const variables of refusals)
      messages.push(await page(key, variables).catch((error: unknown) => messageAndCode(error)));
    expect(messages).toMatchInlineSnapshot(`
      [
        "INVALID_INPUT first: must be from 1 to 100",
        "INVALID_INPUT first: must be from 1 to 100",
        "INVALID_INPUT first: must be from 1 to 100",
        "INVALID_INPUT last: must be from 1 to 100",
        "INVALID_INPUT last: must not be given together with first",
        "INVALID_INPUT after: is not a cursor of this list and order",
        "INVALID_INPUT before: is not a cursor of this list and order",
        "INVALID_INPUT after: is not a cursor of this list and order",
        "INVALID_INPUT after: is not a cursor of this list and order",
        "INVALID_INPUT after: is not a cursor of this list and order",
        "INVALID_INPUT after: is not a cursor of this list and order",
        "INVALID_INPUT after: is not a cursor of this list and order",
      ]
    `);
  });
});

function messageAndCode(error: unknown): string {
  const [first] = JSON.parse(error instanceof Error ? error.message : '[]') as {
    message: string;
    extensions: { code: string };
  }[];
  return `${first?.extensions.code} ${first?.message}`;
}
