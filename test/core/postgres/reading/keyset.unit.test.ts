import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import {
  Ordering,
  type PageArguments,
  PagePlan,
  type PageValues,
  endCursorOf,
  isBackward,
  paged,
  startCursorOf,
} from '../../../../src/core/postgres/reading/keyset.ts';
import { queriesOn } from '../../../../src/core/postgres/reading/queries.ts';

interface Thing {
  readonly id: string;
  readonly createdAt: string;
  readonly label: string;
}

const KEYS = {
  CREATED_AT: { property: 'createdAt', sql: 't.created_at', type: 'timestamptz' },
  LABEL: { property: 'label', sql: 't.label', type: 'text' },
} as const;
const ID = { property: 'id', sql: 't.id', type: 'uuid' } as const;
const orderingOf = (field: keyof typeof KEYS, direction: 'ASC' | 'DESC' = 'ASC', name = 'things') =>
  new Ordering<Thing>({ name: `${name}_${field}`, direction, keys: [KEYS[field], ID] });

const thing = (place: number): Thing => ({
  id: `0190c2a4-0000-7000-8000-00000000000${place}`,
  createdAt: `2026-03-0${place}T00:00:00.000Z`,
  label: `label ${place}`,
});
const ONE = thing(1);
const planOf = (page: PageArguments, ordering = orderingOf('CREATED_AT'), max?: number) =>
  new PagePlan(ordering, page, max);
const cursorOf = (row = ONE, ordering = orderingOf('CREATED_AT')) => ordering.cursorOf(row);

const query = queriesOn<{ t: Thing }>().selectFrom('t').select('id');
function statementOf(page: PageArguments, ordering = orderingOf('CREATED_AT')) {
  const { sql: text, parameters } = planOf(page, ordering).apply(query).compile();
  const [, longest] =
    /^select \* from \(select "id" from "t" (.*) limit 101\) as "longest" limit \$\d+$/.exec(text) ?? [];
  return [longest ?? text, ...parameters];
}

describe('the statement of a page', () => {
  const after = cursorOf();
  const before = cursorOf(thing(2));
  const [first, second] = [ONE, thing(2)].map(({ createdAt, id }) => [createdAt, id]);

  test('has its order, and one row more than the page', () => {
    const limit = 'order by t.created_at asc, t.id asc';
    expect(statementOf({})).toEqual([limit, 51]);
    expect(statementOf({ first: 2, last: null, after: null, before: null })).toEqual([limit, 3]);
    expect(statementOf({ first: 2 }, orderingOf('LABEL', 'DESC'))).toEqual(['order by t.label desc, t.id desc', 3]);
    expect(statementOf({ last: 2 })).toEqual(['order by t.created_at desc, t.id desc', 3]);
    expect(statementOf({ last: 2 }, orderingOf('LABEL', 'DESC'))).toEqual(['order by t.label asc, t.id asc', 3]);
  });

  test('begins beyond the cursors, in either direction', () => {
    const columns = '(t.created_at, t.id)';
    const values = ['($1::timestamptz, $2::uuid)', '($3::timestamptz, $4::uuid)'];
    const order = 'order by t.created_at asc, t.id asc';
    expect(statementOf({ after })).toEqual([`where ${columns} > ${values[0]} ${order}`, ...(first ?? []), 51]);
    expect(statementOf({ before, last: 1 })).toEqual([
      `where ${columns} < ${values[0]} ${order.replaceAll('asc', 'desc')}`,
      ...(second ?? []),
      2,
    ]);
    const descending = orderingOf('CREATED_AT', 'DESC');
    expect(statementOf({ after, before }, descending)).toEqual([
      `where ${columns} < ${values[0]} and ${columns} > ${values[1]} ${order.replaceAll('asc', 'desc')}`,
      ...(first ?? []),
      ...(second ?? []),
      51,
    ]);
  });

  test('can be prepared: its values have names', () => {
    const plan = planOf({ after, before, first: 7 });
    const named = <Name extends keyof PageValues>(name: Name) => sql<PageValues[Name]>`:${sql.raw(name)}`;
    const { sql: text, parameters } = paged(query, plan.ordering, plan.shape, named).compile();
    expect(text).toContain('> (:page.after.0::timestamptz, :page.after.1::uuid)');
    expect(text).toContain('< (:page.before.0::timestamptz, :page.before.1::uuid)');
    expect(text).toMatch(/limit :page\.limit$/);
    expect(parameters).toEqual([]);
    expect(plan.values).toEqual({
      'page.limit': 8,
      'page.after.0': ONE.createdAt,
      'page.after.1': ONE.id,
      'page.before.0': thing(2).createdAt,
      'page.before.1': thing(2).id,
    });
  });

  test('has the same shape as another one exactly if its text is the same', () => {
    const pages = [{}, { first: 3 }, { last: 3 }].flatMap((size) =>
      [{}, { after }, { before }, { after, before }].map((cursors) => ({ ...size, ...cursors })),
    );
    const texts = (['ASC', 'DESC'] as const).flatMap((direction) =>
      pages.map((page) => {
        const plan = planOf(page, orderingOf('CREATED_AT', direction));
        return [JSON.stringify(plan.shape), plan.apply(query).compile().sql] as const;
      }),
    );
    const textOf = new Map(texts);
    expect(texts.filter(([shape, text]) => textOf.get(shape) !== text)).toEqual([]);
    // Backward in one direction reads as forward in the other, apart from the cursors.
    expect(textOf.size).toBe(16);
  });
});

describe('the page', () => {
  const rows = [thing(1), thing(2), thing(3)];
  const pageOf = (page: PageArguments, found = rows, isCut = false) => {
    const { rows: kept, hasNextPage, hasPreviousPage } = planOf(page).toPage({ rows: found, isCut });
    return [kept.map(({ label }) => label.at(-1)).join(''), hasPreviousPage, hasNextPage];
  };

  test('has up to the wanted rows in the order of the list, and states whether others precede and follow', () => {
    expect(pageOf({ first: 3 })).toEqual(['123', false, false]);
    expect(pageOf({ first: 3 }, [thing(1)], true)).toEqual(['1', false, true]);
    expect(pageOf({ last: 3 }, [thing(3), thing(2)], true)).toEqual(['23', true, false]);
    expect(pageOf({ first: 2 })).toEqual(['12', false, true]);
    expect(pageOf({ first: 2, after: cursorOf() })).toEqual(['12', true, true]);
    expect(pageOf({ last: 3 })).toEqual(['321', false, false]);
    expect(pageOf({ last: 2 })).toEqual(['21', true, false]);
    expect(pageOf({ last: 2, before: cursorOf() })).toEqual(['21', true, true]);
    expect(pageOf({ first: 2 }, [])).toEqual(['', false, false]);
  });

  test('begins and ends at its rows, or where reading stopped before it was full', () => {
    const ends = (page: PageArguments, found = rows, stop?: string, isCut = false) => {
      const read = planOf(page).toPage({ rows: found, isCut }, stop);
      return [startCursorOf(read), endCursorOf(read), read.hasPreviousPage, read.hasNextPage];
    };
    const [one, two, three] = rows.map((row) => cursorOf(row));
    expect(ends({ first: 3 })).toEqual([one, three, false, false]);
    expect(ends({ first: 3 }, rows, 'stop')).toEqual([one, 'stop', false, true]);
    expect(ends({ first: 3 }, [], 'stop')).toEqual([null, 'stop', false, true]);
    expect(ends({ last: 3 }, [], 'stop')).toEqual(['stop', null, true, false]);
    expect(ends({ last: 3 }, rows.toReversed(), 'stop')).toEqual(['stop', three, true, false]);
    // A page that is full, or was cut, goes on at its last row.
    expect(ends({ first: 2 }, rows, 'stop')).toEqual([one, two, false, true]);
    expect(ends({ first: 3 }, rows, 'stop', true)).toEqual([one, three, false, true]);
    expect(ends({ first: 3 }, [])).toEqual([null, null, false, false]);
  });
});

describe('the size of a page', () => {
  const faultOf = (page: PageArguments, max?: number) => () => planOf(page, orderingOf('CREATED_AT'), max);
  const fault = (path: string, code: string, limit: number, max: number) =>
    expect.objectContaining({ faults: [{ path: [path], code, limit, message: `must be from 1 to ${max}` }] });

  test('is from 1 to 100, or to the maximum of the list', () => {
    const limitOf = (page: PageArguments, max?: number) => planOf(page, orderingOf('LABEL'), max).values['page.limit'];
    expect([limitOf({ first: 1 }), limitOf({ last: 100 }), limitOf({ first: 500 }, 500)]).toEqual([2, 101, 501]);
    expect(faultOf({ first: 0 })).toThrow(fault('first', 'TOO_SMALL', 1, 100));
    expect(faultOf({ last: -1 })).toThrow(fault('last', 'TOO_SMALL', 1, 100));
    expect(faultOf({ first: 1.5 })).toThrow(fault('first', 'TOO_SMALL', 1, 100));
    expect(faultOf({ last: 101 })).toThrow(fault('last', 'TOO_LARGE', 100, 100));
    expect(faultOf({ first: 501 }, 500)).toThrow(fault('first', 'TOO_LARGE', 500, 500));
  });

  test('is given once; the default of `first` may accompany `last`', () => {
    expect([
      isBackward({}),
      isBackward({ first: 3 }),
      isBackward({ last: 3 }),
      isBackward({ first: 50, last: 3 }),
    ]).toEqual([false, false, true, true]);
    expect(isBackward({ first: null, last: 3 })).toBe(true);
    expect(() => isBackward({ first: 3, last: 3 })).toThrow(
      expect.objectContaining({
        faults: [
          expect.objectContaining({
            path: ['last'],
            code: 'CONFLICTING',
            message: 'must not be given together with first',
          }),
        ],
      }),
    );
  });
});

describe('a cursor', () => {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const byTime = (...values: unknown[]) => encode(['things_CREATED_AT', ...values]);
  const byLabel = (...values: unknown[]) => encode(['things_LABEL', ...values]);

  test.each(['', ' ', 'ä🙂', 'x'.repeat(1000)])('has the values of its row: %s', (label) => {
    const ordering = orderingOf('LABEL');
    const { values } = planOf({ after: cursorOf({ ...ONE, label }, ordering) }, ordering);
    expect([values['page.after.0'], values['page.after.1']]).toEqual([label, ONE.id]);
  });

  test.each([
    ['another list', cursorOf(ONE, orderingOf('CREATED_AT', 'ASC', 'others'))],
    ['another column', cursorOf(ONE, orderingOf('LABEL'))],
    ['text that is not JSON', Buffer.from('{').toString('base64url')],
    ['no value', byTime()],
    ['one value', byTime(ONE.createdAt)],
    ['a third value', byTime(ONE.createdAt, ONE.id, ONE.id)],
    ['an id that is none', byTime(ONE.createdAt, 'x')],
    ['a time that is none', byTime('yesterday', ONE.id)],
    ['a time of another form', byTime('2026-03-01T00:00:00Z', ONE.id)],
    ['a time in the year 0', byTime('0000-03-01T00:00:00.000Z', ONE.id)],
    ['a number', byTime(5, ONE.id)],
    ['another form of the same bytes', `${cursorOf()}=`],
    ['a space', ` ${cursorOf()}`],
  ])('with %s is refused', (_, cursor) => {
    const fault = { code: 'BAD_FORMAT', message: 'is not a cursor of this list and order' };
    expect(() => planOf({ after: cursor })).toThrow(
      expect.objectContaining({ faults: [{ path: ['after'], ...fault }] }),
    );
    expect(() => planOf({ last: 1, before: cursor })).toThrow(
      expect.objectContaining({ faults: [{ path: ['before'], ...fault }] }),
    );
  });

  test('that is empty is the same as none', () => {
    expect(planOf({ after: '' }).values).toEqual(planOf({}).values);
    expect(planOf({ last: 1, before: '' }).values).toEqual(planOf({ last: 1 }).values);
  });

  test('has up to 4096 characters', () => {
    // 3072 bytes, of which each three become four characters.
    const rest = 3072 - JSON.stringify(['things_LABEL', '', ONE.id]).length;
    const label = '🙂'.repeat(700) + 'x'.repeat(rest - 2800);
    const ordering = orderingOf('LABEL');
    const cursor = cursorOf({ ...ONE, label }, ordering);
    expect(cursor).toHaveLength(4096);
    expect(planOf({ after: cursor }, ordering).values['page.after.0']).toBe(label);
    const longer = cursorOf({ ...ONE, label: `${label}x` }, ordering);
    expect(() => planOf({ after: longer }, ordering)).toThrow('is not a cursor of this list and order');
  });

  test.each([
    ['NUL', byLabel('a\0', ONE.id)],
    ['more than 1000 characters', byLabel('x'.repeat(1001), ONE.id)],
  ])('with a text of %s is refused', (_, cursor) => {
    expect(() => planOf({ after: cursor }, orderingOf('LABEL'))).toThrow('is not a cursor of this list and order');
  });

  describe('of numbers', () => {
    const ordering = new Ordering<{ count: number; cost: number | null }>({
      name: 'counted',
      direction: 'DESC',
      keys: [
        { property: 'cost', sql: 't.cost', type: 'float8', isNullable: true },
        { property: 'count', sql: 't.count', type: 'bigint' },
      ],
    });
    const bounded = (after: string) => new PagePlan(ordering, { after }).values;

    test.each([0.1 + 0.2, -1e-300, 5, Number.MAX_VALUE])('has them exactly: %s', (cost) => {
      const values = { 'page.limit': 51, 'page.after.0': cost, 'page.after.1': 7 };
      expect(bounded(ordering.cursorOf({ cost, count: 7 }))).toEqual(values);
    });

    test('can lack the first one', () => {
      const plan = new PagePlan(ordering, { after: ordering.cursorOf({ cost: null, count: 7 }) });
      expect([plan.shape.bounds, plan.values]).toEqual([{ after: 'null' }, { 'page.limit': 51, 'page.after.1': 7 }]);
    });

    test.each([
      ['a text', ['1', 7]],
      ['a fraction of an integer', [1, 7.5]],
      ['an integer that is not exact', [1, 2 ** 53]],
      ['no last one', [1, null]],
      ['a number that is none', [Number.NaN, null]],
    ])('with %s is refused', (_, values) => {
      expect(() => bounded(encode(['counted', ...values]))).toThrow('is not a cursor of this list and order');
    });
  });
});
