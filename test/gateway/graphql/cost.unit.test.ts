import fc from 'fast-check';
import { getIntrospectionQuery, parse } from 'graphql';
import { describe, expect, test } from 'vitest';
import { adviceFor, checkCost, costOf } from '../../../src/gateway/graphql/cost.ts';
import { full } from '../../support/proof.ts';
import { refusal, repeat, schema } from '../../support/fixtures/graphql-limits.ts';

/** The cost of one database statement. Each connection and each `totalCount` in the document costs one statement. */
const S = 10;

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
    ['a connection by first', `{ ${page} }`, 1 + 100 * 2 + S],
    ['a connection by last', '{ sessions(last: 7) { nodes { id } } }', 1 + 7 + S],
    ['the larger of first and last', '{ sessions(first: 3, last: 7) { nodes { id } } }', 1 + 7 + S],
    ['a connection by default 50', '{ sessions { nodes { id } } }', 1 + 50 + S],
    ['null is the default', '{ sessions(first: null) { nodes { id } } }', 1 + 50 + S],
    [
      'pageInfo once, and a statement for totalCount',
      '{ sessions(first: 100) { totalCount pageInfo { hasNextPage } } }',
      2 + 2 * S,
    ],
    ['edges and nodes both', '{ sessions(first: 10) { edges { cursor } nodes { id } } }', 1 + 10 + 10 + S],
    [
      'connections multiply',
      '{ sessions(first: 10) { nodes { events(first: 20) { nodes { id } } } } }',
      1 + 10 * (1 + 1 + 20) + 2 * S,
    ],
    [
      'a statement once for all parents',
      '{ sessions(first: 10) { nodes { events(first: 20) { totalCount } } } }',
      1 + 10 * (1 + 1) + 3 * S,
    ],
    ['a statement for each alias', '{ a: sessions { totalCount } b: sessions { totalCount } }', 2 + 4 * S],
    [
      'a statement for each place of a fragment',
      '{ a: sessions { ...T } b: sessions { ...T } } fragment T on SessionConnection { totalCount }',
      2 + 4 * S,
    ],
    ['the argument’s default', 'mutation { start { sessions { nodes { id } } } }', 1 + 1 + 10 + S],
    ['a payload’s connection', 'mutation { start { sessions(first: 2) { nodes { id } } } }', 1 + 1 + 2 + S],
    ['a subscription', 'subscription { events { author { id } } }', 2],
    ['a variable', 'query ($n: Int) { sessions(first: $n) { nodes { id } } }', 1 + 30 + S, { n: 30 }],
    ['a variable’s default', 'query ($n: Int = 40) { sessions(first: $n) { nodes { id } } }', 1 + 40 + S],
    [
      'a variable before its default',
      'query ($n: Int = 40) { sessions(first: $n) { nodes { id } } }',
      1 + 30 + S,
      { n: 30 },
    ],
    [
      'an absent variable: the argument’s default',
      'mutation ($n: Int) { start { sessions(first: $n) { nodes { id } } } }',
      1 + 1 + 10 + S,
    ],
    ['an absent variable: 50', 'query ($n: Int) { sessions(first: $n) { nodes { id } } }', 1 + 50 + S],
    [
      'a variable named as a prototype’s member',
      'query ($constructor: Int) { sessions(first: $constructor) { nodes { id } } }',
      1 + 50 + S,
    ],
    ['a page below 0 as 0', '{ sessions(first: -5) { nodes { id } } }', 1 + S],
    ['skipped fields too', '{ viewer @skip(if: true) { id } }', 1],
    ['every branch of a union', '{ result { ... on User { friend { id } } ... on Session { owner { id } } } }', 3],
    ['aliases', `{ a: ${page} b: ${page} }`, 2 * (1 + 100 * 2 + S)],
    ['fragments where they are spread', `{ ...F ...F } fragment F on Query { ${page} }`, 2 * (1 + 100 * 2 + S)],
    [
      'a fragment on a connection by each page',
      '{ a: sessions(first: 2) { ...F } b: sessions(first: 30) { ...F } } fragment F on SessionConnection { nodes { id } }',
      1 + 2 + S + (1 + 30 + S),
    ],
    ['the operation that is picked', 'query A { viewer { id } } query B { viewer { friends { id } } }', 6, {}, 'B'],
  ])('%s', (_, text, expected, variables, operationName) => {
    expect(cost(text, variables, operationName)).toBe(expected);
  });

  test('an invalid document never throws, and its cost is never NaN or infinite', () => {
    const texts = [
      '{ nothing { more { id } } viewer { nothing(first: 3) { id } id { id } } }',
      '{ ...None ...A } fragment A on Nothing { id } fragment B on Query { ...B }',
      '{ ...A } fragment A on Query { viewer { id } ...A }',
      '{ viewer } query { id }',
      'fragment A on Query { id }',
      '{ nodes(ids: {a: 1}) { id } sessions(first: "x", last: [1]) { nodes { id } } }',
      '{ viewer { ... on Int { id } ... on Query { viewer { id } } } }',
    ];
    expect(texts.map((text) => cost(text))).toEqual([1, 0, 1, 0, 0, 5 + 1 + 50 + S, 2]);
    const text =
      'query ($n: Int) { sessions(first: $n) { nodes { events(first: $n) { nodes { id } pageInfo { hasNextPage } } } } }';
    const hostile = [NaN, Infinity, -Infinity, 1e308, 0, -0, '9', null, {}, [7], true, undefined].map((n) =>
      cost(text, { n }),
    );
    const max = Number.MAX_SAFE_INTEGER;
    const none = 1 + 2 * S;
    const byDefault = 1 + 50 * (1 + 1 + 1 + 50) + 2 * S;
    expect(hostile).toEqual([none, max, none, max, none, none, ...Array(6).fill(byDefault)]);
  });

  test('a cost of 20000 is accepted and 20001 is refused with the path and the page size that would be accepted', () => {
    const text = (first: number, more: string) =>
      `{ ${more} s: sessions(first: 100) { nodes { events(first: ${first}) { nodes { id } } } } }`;
    const check = (query: string) => checkCost({ schema, document: parse(query) });
    expect(
      check(
        text(
          197,
          // 1 + 100 * (1 + 1 + 197) + 2 * S + 79
          repeat(79, () => 'viewer { id }'),
        ),
      ),
    ).toBe(20_000);
    expect(
      refusal(() =>
        check(
          text(
            197,
            repeat(80, () => 'viewer { id }'),
          ),
        ),
      ),
    ).toEqual({
      message:
        'The query costs 20001; at most 20000 are allowed. s.nodes.events costs most, 19810 of it: a page of at most 196 there, instead of 197, would pass.',
      extensions: { code: 'TOO_COSTLY', limit: 20_000, actual: 20_001, http: { status: 400 } },
    });
  });

  test('the message suggests fewer lists if no page size would be small enough', () => {
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

  test('the suggested page size is that of one connection, however many lists contain it', () => {
    // 1 + 5 * (1 + 1 + last) + S
    const check = (last: number) => () =>
      checkCost({ schema, document: parse(`{ viewer { friends { sessions(last: ${last}) { nodes { id } } } } }`) });
    expect(refusal(check(5000))).toHaveProperty(
      'message',
      'The query costs 25021; at most 20000 are allowed. viewer.friends.sessions costs most, 25015 of it: a page of at most 3995 there, instead of 5000, would pass.',
    );
    expect(check(3995)()).toBe(19_996);
    expect(refusal(check(3996))).toEqual({
      message:
        'The query costs 20001; at most 20000 are allowed. viewer.friends.sessions costs most, 19995 of it: a page of at most 3995 there, instead of 3996, would pass.',
      extensions: { code: 'TOO_COSTLY', limit: 20_000, actual: 20_001, http: { status: 400 } },
    });
  });

  test('the message contains the number of statements if they are most of the cost', () => {
    const aliases = repeat(100, (i) => `a${i}: sessions(first: 1) { totalCount }`);
    const advice = (query: string, limit: number) => adviceFor({ schema, document: parse(query) }, limit);
    // Each alias 1 + 2 * S.
    expect(cost(`{ ${aliases} }`)).toBe(100 * (1 + 2 * S));
    expect(advice(`{ ${aliases} }`, 2000)).toBe(
      'a0 costs most, 21 of it; 200 database statements cost 2000 of it: select fewer connections and counts, or split the query.',
    );
    // Of two connections, `busy` with more statements is more expensive in the first case (1 + 3 * S against 1 + 4 + S), `many` with more objects in the second.
    const both = (first: number) =>
      `{ many: sessions(first: ${first}) { nodes { id } } busy: viewer { a: sessions { pageInfo { hasNextPage } } b: sessions { totalCount } } }`;
    expect(advice(both(4), 20)).toBe(
      'busy.b costs most, 21 of it; 4 database statements cost 40 of it: select fewer connections and counts, or split the query.',
    );
    // Without the nodes of `many`, it costs 1 + S, and `busy` costs 1 + 2 + 1 + 3 * S: together 45.
    expect(cost(both(100))).toBe(145);
    expect(advice(both(100), 100)).toBe(
      'many costs most, 111 of it: a page of at most 55 there, instead of 100, would pass.',
    );
  });

  test('a path in an introspection query is shortened to 15 fields', () => {
    const introspection = parse(getIntrospectionQuery({ typeDepth: 100 }));
    const path = `__schema.types.fields.args.type${'.ofType'.repeat(10)} costs most, 11375 of it`;
    expect(refusal(() => checkCost({ schema, document: introspection }))).toHaveProperty(
      'message',
      `The query costs 25489; at most 20000 are allowed. ${path}: nest fewer lists and connections, or split the query.`,
    );
  });

  test('property: the suggested page size is accepted, and a page larger by one is not', () => {
    const size = fc.integer({ min: 0, max: 3000 });
    const numRuns = full ? 3000 : 100;
    let advised = 0;
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
        advised += 1;
        const place = ['sessions', 'sessions.edges.node.events', 'viewer.friends.sessions'].indexOf(advice[1] ?? '');
        expect(place).toBeGreaterThanOrEqual(0);
        expect(check(sizes.with(place, Number(advice[2])))).toBeUndefined();
        expect(check(sizes.with(place, Number(advice[2]) + 1))).toHaveProperty('extensions.code', 'TOO_COSTLY');
      }),
      { numRuns },
    );
    expect(advised).toBeGreaterThan(numRuns / 10);
  });
});
