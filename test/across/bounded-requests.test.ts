import { parse } from 'graphql';
import { beforeAll, expect, test } from 'vitest';
import { costOf, statementCostOf } from '../../src/gateway/graphql/document-cost.ts';
import { schema } from '../../src/gateway/schema.ts';
import { useTestGateway } from '../support/fixtures/gateway.ts';
import { repeat } from '../support/fixtures/graphql-limits.ts';
import { countWaitingForLock, untilWaitingForLock, whileLocked } from '../support/fixtures/locks.ts';

/** How much of the database one request can use, whatever its document is: all callers share the connections. */

/** The maximum number of statements of a request that wait for the database at the same time. */
const IN_FLIGHT = 4;
const ALIASES = 98;

const gateway = useTestGateway();
let key: string;
let neighbor: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
  ({ key: neighbor } = await gateway.createKey());
});

const NEIGHBORS = '{ viewer { organization { name eventDefinitions(first: 1) { totalCount } } } }';

async function expectNeighborAnswered(): Promise<void> {
  const { data, errors } = await gateway.graphql<object>(neighbor, NEIGHBORS);
  expect([data, errors]).toEqual([
    { viewer: { organization: { name: expect.any(String), eventDefinitions: { totalCount: 0 } } } },
    undefined,
  ]);
}

/** Creates event definitions, at most 98 in one request, which is within the limits. */
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
/** Aliases of one field, all with the same arguments or each with different ones. */
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

test('98 aliases of a count below 98 definitions send as many statements as below 5 definitions, not one for each count', async () => {
  const measure = async () => ({ same: await statementsOf(SAME), different: await statementsOf(DIFFERENT) });
  await define(0, 5);
  const few = await measure();
  await define(5, ALIASES);
  const many = await measure();
  expect([many.same.definitions, many.different.definitions]).toEqual([ALIASES, ALIASES]);
  expect([many.same.statements, many.different.statements]).toEqual([few.same.statements, few.different.statements]);
  // One each for the key, the organization, the definitions, all pages and all counts.
  expect(many.same.statements).toBeLessThanOrEqual(5);
  const request = { schema, document: parse(DIFFERENT) };
  // The document is within every limit; its cost counts the organization, the definitions, and two statements for each alias.
  expect([costOf(request), statementCostOf(request)]).toEqual([3 + 100 * 99 + 10 * 198, 10 * 198]);
  expect(many.different.statements).toBeLessThanOrEqual(1 + 198);
});

test('another organization is answered during and after two such requests', async () => {
  const both = Promise.all([gateway.graphql(key, SAME), gateway.graphql(key, DIFFERENT)]);
  await expectNeighborAnswered();
  expect((await both).map(({ errors }) => errors)).toEqual([undefined, undefined]);
  await expectNeighborAnswered();
});

test('a request has at most 4 statements in flight, so another organization is answered meanwhile', async () => {
  const lock = 'lock table event_occurrence in access exclusive mode';
  await whileLocked(gateway, lock, [], async (release) => {
    const requests = [DIFFERENT, DIFFERENT].map((query) => gateway.graphql(key, query));
    await untilWaitingForLock(gateway, requests.length * IN_FLIGHT);
    // Without the limit, these requests would use all connections, and the other organization would wait for one.
    await expectNeighborAnswered();
    expect(await countWaitingForLock(gateway)).toBe(requests.length * IN_FLIGHT);
    await release();
    expect((await Promise.all(requests)).map(({ errors }) => errors)).toEqual([undefined, undefined]);
  });
});
