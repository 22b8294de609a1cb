import fc from 'fast-check';
import { getIntrospectionQuery, parse } from 'graphql';
import { describe, expect, test } from 'vitest';
import { checkCost, costOf } from '../../../src/gateway/graphql-cost.ts';
import { full } from '../../support/proof.ts';
import { refusal, repeat, schema } from '../../support/fixtures/graphql-limits.ts';

const cost = (text: string, variables?: Record<string, unknown>, operationName?: string): number =>
  costOf({ schema, document: parse(text), variables, operationName });

describe('the cost', () => {
  const page = 'sessions(first: 100) { edges { node { id } } }';
  test.each<[string, string, number, Record<string, unknown>?, string?]>([
    ['a scalar 0', '{ __typename }', 0],
    ['an object 1', '{ viewer { id name } }', 1],
    ['an object without selections 1', '{ viewer { } }', 1],
    ['objects add up', '{ viewer { friend { friend { id } } } }', 3],
    ['a list 5', '{ viewer { friends { id } } }', 1 + 5],
    ['a list with what is in it', '{ viewer { friends { friend { id } } } }', 1 + 5 * 2],
    ['a list of lists 25', '{ viewer { grid { id } } }', 1 + 25],
    ['a list of scalars 0', '{ node(id: 1) { ... on Event { tags } } }', 1],
    ['a list by ids at least 5', '{ nodes(ids: [1, 2]) { id } }', 5],
    ['a list by ids what is asked', '{ nodes(ids: [1, 2, 3, 4, 5, 6, 7]) { id } }', 7],
    [
      'a list by ids in a variable',
      'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }',
      300,
      { ids: Array(300).fill('x') },
    ],
    ['a connection by first', `{ ${page} }`, 1 + 100 * 2],
    ['a connection by last', '{ sessions(last: 7) { nodes { id } } }', 1 + 7],
    ['the larger of first and last', '{ sessions(first: 3, last: 7) { nodes { id } } }', 1 + 7],
    ['a connection by default 50', '{ sessions { nodes { id } } }', 1 + 50],
    ['null is the default', '{ sessions(first: null) { nodes { id } } }', 1 + 50],
    ['pageInfo once, totalCount free', '{ sessions(first: 100) { totalCount pageInfo { hasNextPage } } }', 2],
    ['edges and nodes both', '{ sessions(first: 10) { edges { cursor } nodes { id } } }', 1 + 10 + 10],
    [
      'connections multiply',
      '{ sessions(first: 10) { nodes { events(first: 20) { nodes { id } } } } }',
      1 + 10 * (1 + 1 + 20),
    ],
    ['the argument’s default', 'mutation { start { sessions { nodes { id } } } }', 1 + 1 + 10],
    ['a payload’s connection', 'mutation { start { sessions(first: 2) { nodes { id } } } }', 1 + 1 + 2],
    ['a subscription', 'subscription { events { author { id } } }', 2],
    ['a variable', 'query ($n: Int) { sessions(first: $n) { nodes { id } } }', 1 + 30, { n: 30 }],
    ['a variable’s default', 'query ($n: Int = 40) { sessions(first: $n) { nodes { id } } }', 1 + 40],
    [
      'a variable before its default',
      'query ($n: Int = 40) { sessions(first: $n) { nodes { id } } }',
      1 + 30,
      { n: 30 },
    ],
    [
      'an absent variable: the argument’s default',
      'mutation ($n: Int) { start { sessions(first: $n) { nodes { id } } } }',
      12,
    ],
    ['an absent variable: 50', 'query ($n: Int) { sessions(first: $n) { nodes { id } } }', 1 + 50],
    [
      'a variable named as a prototype’s member',
      'query ($constructor: Int) { sessions(first: $constructor) { nodes { id } } }',
      51,
    ],
    ['a page below 0 as 0', '{ sessions(first: -5) { nodes { id } } }', 1],
    ['skipped fields too', '{ viewer @skip(if: true) { id } }', 1],
    ['every branch of a union', '{ result { ... on User { friend { id } } ... on Session { owner { id } } } }', 3],
    ['aliases', `{ a: ${page} b: ${page} }`, 402],
    ['fragments where they are spread', `{ ...F ...F } fragment F on Query { ${page} }`, 402],
    [
      'a fragment on a connection by each page',
      '{ a: sessions(first: 2) { ...F } b: sessions(first: 30) { ...F } } fragment F on SessionConnection { nodes { id } }',
      34,
    ],
    ['the operation that is picked', 'query A { viewer { id } } query B { viewer { friends { id } } }', 6, {}, 'B'],
  ])('%s', (_, text, expected, variables, operationName) => {
    expect(cost(text, variables, operationName)).toBe(expected);
  });

  test('what validation will refuse never throws and is never NaN or infinite', () => {
    const texts = [
      '{ nothing { more { id } } viewer { nothing(first: 3) { id } id { id } } }',
      '{ ...None ...A } fragment A on Nothing { id } fragment B on Query { ...B }',
      '{ ...A } fragment A on Query { viewer { id } ...A }',
      '{ viewer } query { id }',
      'fragment A on Query { id }',
      '{ nodes(ids: {a: 1}) { id } sessions(first: "x", last: [1]) { nodes { id } } }',
      '{ viewer { ... on Int { id } ... on Query { viewer { id } } } }',
    ];
    expect(texts.map((text) => cost(text))).toEqual([1, 0, 1, 0, 0, 56, 2]);
    const text =
      'query ($n: Int) { sessions(first: $n) { nodes { events(first: $n) { nodes { id } pageInfo { hasNextPage } } } } }';
    const hostile = [NaN, Infinity, -Infinity, 1e308, 0, -0, '9', null, {}, [7], true, undefined].map((n) =>
      cost(text, { n }),
    );
    const max = Number.MAX_SAFE_INTEGER;
    const byDefault = 1 + 50 * (1 + 1 + 1 + 50);
    expect(hostile).toEqual([1, max, 1, max, 1, 1, ...Array(6).fill(byDefault)]);
  });

  test('20000 passes and 20001 is refused, naming the path and the page size that would pass', () => {
    const text = (first: number, more: string) =>
      `{ ${more} s: sessions(first: 100) { nodes { events(first: ${first}) { nodes { id } } } } }`;
    const check = (query: string) => checkCost({ schema, document: parse(query) });
    expect(
      check(
        text(
          197,
          repeat(99, () => 'viewer { id }'),
        ),
      ),
    ).toBe(20_000);
    expect(
      refusal(() =>
        check(
          text(
            197,
            repeat(100, () => 'viewer { id }'),
          ),
        ),
      ),
    ).toEqual({
      message:
        'The query costs 20001; at most 20000 are allowed. s.nodes.events costs most, 19800 of it: a page of at most 196 there, instead of 197, would pass.',
      extensions: { code: 'TOO_COSTLY', limit: 20_000, actual: 20_001, http: { status: 400 } },
    });
  });

  test('where no page size would do, it says so', () => {
    const lists = `{ viewer { ${'friends { '.repeat(7)} id ${'} '.repeat(7)} } }`;
    const huge =
      '{ sessions(first: 2147483647) { nodes { events(first: 2147483647) { nodes { author { sessions(first: 2147483647) { nodes { id } } } } } } } }';
    const check = (query: string) => refusal(() => checkCost({ schema, document: parse(query) }));
    expect(check(lists)).toMatchObject({
      message: `The query costs 97656; at most 20000 are allowed. viewer${'.friends'.repeat(7)} costs most, 78125 of it: nest fewer lists and connections, or split the query.`,
    });
    expect(check(huge)).toMatchObject({
      message: `The query costs ${Number.MAX_SAFE_INTEGER}; at most 20000 are allowed. sessions.nodes.events.nodes.author.sessions.nodes costs most, ${Number.MAX_SAFE_INTEGER} of it: nest fewer lists and connections, or split the query.`,
    });
  });

  test('the page size is that of one connection, however many lists it stands in', () => {
    const check = (last: number) => () =>
      checkCost({ schema, document: parse(`{ viewer { friends { sessions(last: ${last}) { nodes { id } } } } }`) });
    expect(refusal(check(5000))).toHaveProperty(
      'message',
      'The query costs 25011; at most 20000 are allowed. viewer.friends.sessions costs most, 25005 of it: a page of at most 3997 there, instead of 5000, would pass.',
    );
    expect(check(3997)()).toBe(19_996);
    expect(refusal(check(3998))).toEqual({
      message:
        'The query costs 20001; at most 20000 are allowed. viewer.friends.sessions costs most, 19995 of it: a page of at most 3997 there, instead of 3998, would pass.',
      extensions: { code: 'TOO_COSTLY', limit: 20_000, actual: 20_001, http: { status: 400 } },
    });
  });

  test('a path below introspection is cut at 15 fields', () => {
    const introspection = parse(getIntrospectionQuery({ typeDepth: 100 }));
    const path = `__schema.types.fields.args.type${'.ofType'.repeat(10)} costs most, 11375 of it`;
    expect(refusal(() => checkCost({ schema, document: introspection }))).toHaveProperty(
      'message',
      `The query costs 25489; at most 20000 are allowed. ${path}: nest fewer lists and connections, or split the query.`,
    );
  });

  test('property: the page size that is advised passes, and one more does not', () => {
    const size = fc.integer({ min: 0, max: 3000 });
    fc.assert(
      fc.property(size, size, size, fc.integer({ min: 0, max: 300 }), (a, b, c, extra) => {
        const query = (sizes: number[]) =>
          `{ ${repeat(extra, () => 'viewer { id }')} sessions(first: ${sizes[0]}) { pageInfo { hasNextPage } ...F }
             viewer { friends { sessions(last: ${sizes[2]}) { nodes { id } } } } }
           fragment F on SessionConnection { edges { node { events(first: ${sizes[1]}) { edges { node { author { id } } } } } } }`;
        const check = (sizes: number[]) => refusal(() => checkCost({ schema, document: parse(query(sizes)) }));
        const sizes = [a, b, c];
        const advice = /\. (\S+) costs most, \d+ of it: a page of at most (\d+) there/.exec(
          String(Object(check(sizes)).message),
        );
        if (!advice) return;
        const place = ['sessions', 'sessions.edges.node.events', 'viewer.friends.sessions'].indexOf(advice[1] ?? '');
        expect(place).toBeGreaterThanOrEqual(0);
        expect(check(sizes.with(place, Number(advice[2])))).toBeUndefined();
        expect(check(sizes.with(place, Number(advice[2]) + 1))).toHaveProperty('extensions.code', 'TOO_COSTLY');
      }),
      { numRuns: full ? 3000 : 100 },
    );
  });
});
