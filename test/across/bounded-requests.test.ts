import { parse } from 'graphql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { costOf, statementCostOf } from '../../src/gateway/graphql/cost.ts';
import { schema } from '../../src/gateway/schema.ts';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import { repeat } from '../support/fixtures/graphql-limits.ts';
import { countWaiting, untilWaiting, whileHeld } from '../support/fixtures/locks.ts';

/** What one request may take of the database, however its document is written: everybody shares the connections. */

/** Statements of a request that are sent before one of them is answered. */
const IN_FLIGHT = 4;
const ALIASES = 98;

let gateway: TestGateway;
let key: string;
let neighbor: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  ({ key } = await gateway.createKey());
  ({ key: neighbor } = await gateway.createKey());
});
afterAll(() => gateway.close());

const NEIGHBORS = '{ viewer { organization { name eventDefinitions(first: 1) { totalCount } } } }';

async function expectNeighborAnswered(): Promise<void> {
  const { data, errors } = await gateway.graphql<object>(neighbor, NEIGHBORS);
  expect([data, errors]).toEqual([
    { viewer: { organization: { name: expect.any(String), eventDefinitions: { totalCount: 0 } } } },
    undefined,
  ]);
}

/** One mutation, as a caller within the limits makes them: up to 98 definitions. */
async function define(from: number, to: number): Promise<void> {
  const create = (index: number) =>
    `d${index}: createEventDefinition(input: { label: "Event ${index}", includeDefaultProperties: false }) { __typename }`;
  const { data } = await gateway.graphql<object>(key, `mutation { ${repeat(to - from, (n) => create(from + n))} }`);
  expect(Object.values(data ?? {})).toEqual(
    Array.from({ length: to - from }, () => ({ __typename: 'CreateEventDefinitionPayload' })),
  );
}

const below = (selection: string) =>
  `{ viewer { organization { eventDefinitions(first: 100) { nodes { ${selection} } } } } }`;
/** Aliases of the same arguments, and of other arguments each. */
const SAME = below(repeat(ALIASES, (i) => `a${i}:occurrences{totalCount}`));
const DIFFERENT = below(repeat(ALIASES, (i) => `a${i}:occurrences(filter:{objectId:"${i}"}){totalCount}`));

interface Counts {
  readonly viewer: { readonly organization: { readonly eventDefinitions: { readonly nodes: readonly object[] } } };
}

async function statementsOf(query: string): Promise<{ definitions: number; statements: number }> {
  gateway.statements.length = 0;
  const { data, errors } = await gateway.graphql<Counts>(key, query);
  expect(errors).toBeUndefined();
  const { nodes } = data?.viewer.organization.eventDefinitions ?? { nodes: [] };
  for (const node of nodes)
    expect(Object.values(node)).toEqual(Array.from({ length: ALIASES }, () => ({ totalCount: 0 })));
  return { definitions: nodes.length, statements: gateway.statements.length };
}

test('98 aliases of a count below 98 definitions send the statements that the document has, not one for each count', async () => {
  const measure = async () => ({ same: await statementsOf(SAME), different: await statementsOf(DIFFERENT) });
  await define(0, 5);
  const few = await measure();
  await define(5, ALIASES);
  const many = await measure();
  expect([many.same.definitions, many.different.definitions]).toEqual([ALIASES, ALIASES]);
  expect([many.same.statements, many.different.statements]).toEqual([few.same.statements, few.different.statements]);
  // The key's, the organization's, the definitions', that of all pages and that of all counts.
  expect(many.same.statements).toBeLessThanOrEqual(5);
  const request = { schema, document: parse(DIFFERENT) };
  // Within every limit, and counted: the organization's, the definitions', and two for each alias.
  expect([costOf(request), statementCostOf(request)]).toEqual([3 + 100 * 99 + 10 * 198, 10 * 198]);
  expect(many.different.statements).toBeLessThanOrEqual(1 + 198);
});

test('two such requests at once leave a neighbor who is answered meanwhile and after them', async () => {
  const both = Promise.all([gateway.graphql(key, SAME), gateway.graphql(key, DIFFERENT)]);
  await expectNeighborAnswered();
  expect((await both).map(({ errors }) => errors)).toEqual([undefined, undefined]);
  await expectNeighborAnswered();
});

test('a request has at most 4 statements in flight, while a neighbor is answered', async () => {
  const lock = 'lock table event_occurrence in access exclusive mode';
  await whileHeld(gateway, lock, [], async (release) => {
    const requests = [DIFFERENT, DIFFERENT].map((query) => gateway.graphql(key, query));
    await untilWaiting(gateway, requests.length * IN_FLIGHT);
    // They would take all connections otherwise, and what a neighbor asks afterwards would wait for one.
    await expectNeighborAnswered();
    expect(await countWaiting(gateway)).toBe(requests.length * IN_FLIGHT);
    await release();
    expect((await Promise.all(requests)).map(({ errors }) => errors)).toEqual([undefined, undefined]);
  });
});
