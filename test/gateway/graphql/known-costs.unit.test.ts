import { parse } from 'graphql';
import { expect, test } from 'vitest';
import { checkCost, createCosts } from '../../../src/gateway/graphql/document-cost.ts';
import { refusal, schema } from '../../support/fixtures/graphql-limits.ts';

const DOCUMENT = parse(`
  query Page($n: Int = 7, $last: Int) { viewer { sessions(first: $n, last: $last) { edges { node { id } } } } }
  query Nodes($ids: [ID!]!) { ...Found }
  fragment Found on Query { nodes(ids: $ids) { id } }
`);
const PAGES: readonly (Record<string, unknown> | undefined)[] = [
  undefined,
  { n: 3 },
  { n: 30 },
  { n: 3 },
  { n: 3, last: 90 },
  { n: null, last: 90 },
  { n: [3, 3] },
  { n: 2 },
  { n: '2' },
  { n: { n: 2 } },
];
const NODES = [[], ['a'], 'abcdefg'.split(''), 'gfedcba'.split(''), [7]].map((ids) => ({ ids }));

test('the cost of a known operation depends on its variables', () => {
  const costOf = createCosts();
  for (const [operationName, given] of [
    ['Page', PAGES],
    ['Nodes', NODES],
    ['Page', PAGES.toReversed()],
  ] as const)
    for (const variables of given) {
      const request = { schema, document: DOCUMENT, operationName, variables };
      const expected = checkCost(request);
      expect([costOf(request), costOf(request)]).toEqual([expected, expected]);
    }
});

test('a known operation is refused each time that its variables make it too expensive', () => {
  const costOf = createCosts();
  const document = parse(
    'query ($n: Int) { viewer { sessions(first: $n) { edges { node { events(first: $n) { edges { node { id } } } } } } } }',
  );
  const ask = (n: number) => costOf({ schema, document, variables: { n } });
  for (let times = 0; times < 2; times += 1) {
    expect(ask(2)).toBeLessThan(100);
    expect(refusal(() => ask(1000))).toMatchObject({ extensions: { code: 'TOO_COSTLY' } });
  }
});
