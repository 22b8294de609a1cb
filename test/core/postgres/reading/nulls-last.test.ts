import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { DatabaseClient } from '../../../../src/core/postgres/driver/client.ts';
import {
  Ordering,
  type Page,
  type PageArguments,
  PagePlan,
  endCursorOf,
  orderIn,
  startCursorOf,
} from '../../../../src/core/postgres/reading/keyset.ts';
import { type Reader, defineList } from '../../../../src/core/postgres/reading/lists.ts';
import { queriesOn, statementOf } from '../../../../src/core/postgres/reading/queries.ts';
import { StatementSql, runOn } from '../../../../src/core/postgres/reading/sql.ts';
import { measurePlan } from '../../../support/statement-plans.ts';

/** Rows that lack the first key of an order are last in both directions, and pages in either direction read an index from their cursor on. */

interface Thing {
  readonly id: number;
  readonly cost: number | null;
}

let pool: pg.Pool;
let run: ReturnType<typeof runOn>;
beforeAll(async () => {
  // One connection, which has the temporary table.
  pool = new pg.Pool({ connectionString: inject('serverUrl'), max: 1, Client: DatabaseClient });
  run = runOn(pool);
  // Costs that differ in the last digit alone, equal ones, and none.
  await execute(`create temp table thing as select id::bigint,
    case when id % 3 = 0 then null when id % 3 = 1 then id * 0.1::float8 + 0.2 else id / 100 end::float8 as cost
    from generate_series(1, 30000) id`);
  await execute('create index thing_cost on thing (cost, id)');
  await execute('create index thing_id on thing (id)');
  await execute('analyze thing');
});
afterAll(() => pool.end());

const execute = (text: string, ...values: unknown[]) => run({ text, values });

type Direction = 'ASC' | 'DESC';
const orderingIn = (direction: Direction) =>
  new Ordering<Thing>({
    name: 'thing',
    direction,
    keys: [
      { property: 'cost', sql: 't.cost', type: 'float8', isNullable: true },
      { property: 'id', sql: 't.id', type: 'bigint' },
    ],
  });

const rows = (limit?: number) => {
  const all = queriesOn<{ thing: Thing }>().selectFrom('thing as t').select(['t.id', 't.cost']);
  return limit === undefined ? all : all.where('t.id', '<=', limit);
};

async function pageOf(direction: Direction, page: PageArguments, among?: number): Promise<Page<Thing>> {
  const plan = new PagePlan(orderingIn(direction), page);
  const found = (await run(statementOf(plan.apply(rows(among))))) as Thing[];
  return plan.toPage({ rows: found, isCut: false });
}

/** The whole list, page by page. */
async function readAll(direction: Direction, isBackward: boolean, size: number, among: number): Promise<Thing[]> {
  const found: Thing[][] = [];
  let page: Page<Thing> | undefined;
  do {
    const asked: PageArguments = isBackward
      ? { last: size, before: page && startCursorOf(page) }
      : { first: size, after: page && endCursorOf(page) };
    page = await pageOf(direction, asked, among);
    found.push([...page.rows]);
  } while (isBackward ? page.hasPreviousPage : page.hasNextPage);
  return (isBackward ? found.toReversed() : found).flat();
}

const DIRECTIONS = ['ASC', 'DESC'] as const;

/** The order, as PostgreSQL has it. */
async function ordered(direction: Direction, among: number): Promise<object[]> {
  return execute(
    `select id, cost from thing where id <= $1 order by cost ${direction} nulls last, id ${direction}`,
    among,
  );
}

test('pages of any size, in both directions, forward and backward, are the whole list with nulls last', async () => {
  for (const direction of DIRECTIONS) {
    const expected = await ordered(direction, 30);
    expect(expected.slice(20).every((row) => (row as Thing).cost === null)).toBe(true);
    for (const isBackward of [false, true])
      for (const size of [1, 2, 3, 7, 10, 29, 30, 31])
        expect(await readAll(direction, isBackward, size, 30)).toEqual(expected);
  }
});

test('the rows between two cursors are the same from either end', async () => {
  for (const direction of DIRECTIONS) {
    const expected = (await ordered(direction, 12)) as Thing[];
    const { cursorOf } = orderingIn(direction);
    for (const [start, first] of expected.entries())
      for (const [end, last] of expected.entries()) {
        const between = { after: cursorOf(first), before: cursorOf(last) };
        const wanted = expected.slice(start + 1, Math.max(end, start + 1));
        const [forward, backward] = [
          await pageOf(direction, { first: 20, ...between }, 12),
          await pageOf(direction, { last: 20, ...between }, 12),
        ];
        expect([forward.rows, backward.rows]).toEqual([wanted, wanted]);
      }
  }
});

test('a page reads rows in proportion to its size, at any depth, with one plan for all values', async () => {
  const read: number[] = [];
  for (const direction of DIRECTIONS) {
    const all = (await ordered(direction, 30_000)) as Thing[];
    const { cursorOf } = orderingIn(direction);
    const client = await pool.connect();
    for (const depth of [1, 5_000, 9_999, 10_000, 15_000, 19_999, 20_000, 25_000]) {
      const cursor = all.slice(depth, depth + 1).map(cursorOf)[0];
      for (const page of [{ first: 20 }, { last: 20 }, { first: 20, after: cursor }, { last: 20, before: cursor }]) {
        const statement = statementOf(new PagePlan(orderingIn(direction), page).apply(rows()));
        read.push((await measurePlan(client, statement, 'force_generic_plan')).rows);
      }
    }
    client.release();
  }
  // At the first row that lacks the key, two ranges are read.
  expect(Math.max(...read)).toBeLessThanOrEqual(2 * 21);
});

test('the lists of several parents are sorted as each of them', async () => {
  for (const direction of DIRECTIONS) {
    const plan = new PagePlan(orderingIn(direction), { last: 3 });
    const list = plan.apply(rows().where(sql<boolean>`t.id between 10 * parent.id and 10 * parent.id + 9`));
    const text = sql`select child.* from unnest(array[1, 2]) as parent(id), lateral (${list}) as child
      order by parent.id, ${sql.join(orderIn('child', plan.ordering, plan.shape))}`;
    const found = (await run(
      statementOf(
        queriesOn<object>()
          .selectFrom(sql<Thing>`(${text})`.as('found'))
          .selectAll(),
      ),
    )) as Thing[];
    const expected: object[] = [];
    for (const first of [10, 20]) {
      const order = `cost ${direction} nulls last, id ${direction}`;
      const sorted = await execute(
        `select id, cost from thing where id between $1 and $1 + 9 order by ${order}`,
        first,
      );
      expected.push(...sorted.slice(-4).toReversed());
    }
    expect(found).toEqual(expected);
  }
});

interface Listed {
  readonly id: string;
  readonly ownerId: string;
  readonly cost: number | null;
}

const ORGANIZATION = '00000000-0000-4000-8000-000000000001';
const LISTED = defineList<Listed, object, 'COST'>()(
  queriesOn<{ listed: Listed & { organization_id: string } }>().selectFrom('listed as l'),
  {
    name: 'LISTED',
    alias: 'l',
    columns: ['id', 'ownerId', 'cost'],
    below: { parent: 'ownerId' },
    reach: () => ({ all: { organizationId: ORGANIZATION } }),
    filter: () => ({}),
    orders: { COST: { cost: { type: 'float8', isNullable: true } } },
  },
);

test('a list can have such an order, below several parents too', async () => {
  await execute(
    `create temp table listed as select gen_random_uuid() as id, $1::uuid as organization_id,
    ('00000000-0000-4000-8000-00000000010' || id % 3)::uuid as owner_id, cost from thing where id <= 60`,
    ORGANIZATION,
  );
  // A list uses no more of its reader.
  const reader = { sql: new StatementSql({ run }) } as unknown as Reader;
  for (const direction of DIRECTIONS) {
    const order = { field: 'COST', direction } as const;
    const sorted = `order by cost ${direction} nulls last, id ${direction}`;
    const all = await execute(`select id, owner_id as "ownerId", cost from listed ${sorted}`);
    const found: Listed[] = [];
    for (let after: string | null = null, hasMore = true; hasMore;) {
      const page: Page<Listed> = await LISTED.page(reader, { filter: {}, order, page: { first: 7, after } });
      found.push(...page.rows);
      [after, hasMore] = [endCursorOf(page), page.hasNextPage];
    }
    expect(found).toEqual(all);
    const owners = [...new Set(found.map(({ ownerId }) => ownerId))];
    const below = await LISTED.pagesBelow(reader, { filter: {}, order, page: { last: 3 } })(owners);
    for (const owner of owners) {
      const own = found.filter(({ ownerId }) => ownerId === owner).slice(-3);
      expect(below.get(owner)).toMatchObject({ rows: own, hasPreviousPage: true, hasNextPage: false });
    }
  }
});
