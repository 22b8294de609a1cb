import { parse } from 'graphql';
import { describe, expect, test } from 'vitest';
import { adviceFor, checkCost, costOf } from '../../../src/gateway/graphql/document-cost.ts';
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

  test('a cost of 20000 is accepted and 20001 is refused with the most expensive path', () => {
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
        'The query costs 20001; at most 20000 are allowed. Its most expensive path is s.nodes.events.nodes: ask for smaller pages or fewer fields there, or split the query.',
      extensions: { code: 'TOO_COSTLY', limit: 20_000, actual: 20_001, http: { status: 400 } },
    });
  });

  test('the message names the most expensive path, through fragments and with aliases', () => {
    const pathOf = (query: string) =>
      /^Its most expensive path is (\S*): ask/.exec(adviceFor({ schema, document: parse(query) }))?.[1];
    expect(pathOf(`{ viewer { ${'friends { '.repeat(7)} id ${'} '.repeat(7)} } }`)).toBe(
      `viewer${'.friends'.repeat(7)}`,
    );
    expect(
      pathOf(
        '{ sessions { pageInfo { hasNextPage } ...F } } fragment F on SessionConnection { e: edges { node { id } } }',
      ),
    ).toBe('sessions.e.node');
    // Of two connections, `busy` with more statements is more expensive in the first case (1 + 3 * S against 1 + 4 +
    // S), `many` with more objects in the second.
    const both = (first: number) =>
      `{ many: sessions(first: ${first}) { nodes { id } } busy: viewer { a: sessions { pageInfo { hasNextPage } } b: sessions { totalCount } } }`;
    expect([pathOf(both(4)), pathOf(both(100))]).toEqual(['busy.b', 'many.nodes']);
  });
});
