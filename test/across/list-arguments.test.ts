import { getNamedType, getNullableType, isListType } from 'graphql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { caseFaults } from '../support/completeness.ts';
import {
  LISTS,
  LIST_LENGTH,
  LIST_QUERIES,
  type List,
  type ListedWorkspace,
  argumentOf,
  inputFieldsOf,
  literalsOf,
  ordersOf,
  queryOfList,
  startListedWorkspace,
} from '../support/fixtures/listed-workspace.ts';
import { sampled } from '../support/sample.ts';

/** Reads every list with each of its conditions and orders. They are found in the schema, so new ones are tested without a change here. */

let workspace: ListedWorkspace;
beforeAll(async () => {
  workspace = await startListedWorkspace();
});
afterAll(() => workspace.gateway.close());

/** Lists of conditions all of which must hold: an empty one is no condition. Of other lists, one value must hold. */
const ALL_OF: ReadonlySet<string> = new Set(['EventPropertyCondition']);

interface Page {
  readonly edges: readonly { readonly cursor: string }[];
  readonly totalCount: number;
}

async function read(list: List, args: string): Promise<Page> {
  const { gateway, key, headers } = workspace;
  const query = queryOfList(list, args, workspace);
  const { data, errors } = await gateway.graphql<Record<string, unknown>>(key, query, undefined, headers);
  expect([args, errors]).toEqual([args, undefined]);
  const find = (value: unknown): Page => {
    const object = value as Record<string, unknown>;
    return (object['found'] as Page | undefined) ?? find(Object.values(object)[0]);
  };
  return find(data);
}

test('every type that has a list has a query', () => {
  const types = LISTS.map(({ type }) => type);
  const where = 'LIST_QUERIES in test/support/fixtures/listed-workspace.ts';
  expect(caseFaults(where, Object.keys(LIST_QUERIES), types)).toBe('');
});

sampled(test, 6).each(LISTS.map((list) => [list.coordinate, list] as const))('%s', async (_, list) => {
  const all = await read(list, `first: ${LIST_LENGTH}`);
  expect(all.edges.length).toBe(LIST_LENGTH);
  // The cursors of an empty page are null, for which some clients send empty text.
  expect(await read(list, `first: ${LIST_LENGTH}, after: "", before: ""`)).toEqual(all);
  expect(await read(list, 'last: 2, before: ""')).toEqual(await read(list, 'last: 2'));
  for (const condition of inputFieldsOf(argumentOf(list, 'filter'))) {
    const literals = literalsOf(condition.type);
    const found = new Set<number>([all.totalCount]);
    for (const value of [...literals, 'null', ...(isListType(getNullableType(condition.type)) ? ['[]'] : [])]) {
      const { edges, totalCount } = await read(list, `first: 100, filter: { ${condition.name}: ${value} }`);
      const ofNone = ALL_OF.has(getNamedType(condition.type).name) ? all.totalCount : 0;
      const whole = { '[]': ofNone, null: all.totalCount }[value] ?? totalCount;
      expect([condition.name, value, edges.length, totalCount]).toEqual([condition.name, value, totalCount, whole]);
      if (literals.includes(value)) found.add(totalCount);
    }
    // Some value selects another number of objects than no condition.
    const fault = found.size > 1 ? undefined : `${condition.name} selects all objects: queries.ts lacks its condition`;
    expect(fault).toBeUndefined();
  }
  for (const by of ordersOf(list)) {
    for (const direction of ['ASC', 'DESC']) {
      const orderBy = `orderBy: { field: ${by}, direction: ${direction} }`;
      const whole = (await read(list, `first: 100, ${orderBy}`)).edges.map(({ cursor }) => cursor);
      const walked: string[] = [];
      for (let after = ''; walked.length < whole.length; after = `, after: "${walked.at(-1)}"`)
        walked.push(...(await read(list, `first: 1, ${orderBy}${after}`)).edges.map(({ cursor }) => cursor));
      expect([by, direction, walked]).toEqual([by, direction, whole]);
      const back = (await read(list, `last: 2, ${orderBy}`)).edges.map(({ cursor }) => cursor);
      expect([by, direction, back]).toEqual([by, direction, whole.slice(-2)]);
    }
  }
});
