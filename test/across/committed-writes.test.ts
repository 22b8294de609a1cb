import { type GraphQLObjectType, getNamedType, isObjectType, isRequiredArgument } from 'graphql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { schema } from '../../src/gateway/schema.ts';
import { MUTATION_CASES, missingCases } from '../support/operations/cases.ts';
import {
  type WriteWorkspace,
  callerOf,
  payloadOf,
  startWriteWorkspace,
} from '../support/operations/write-workspace.ts';
import { sampled } from '../support/sample.ts';

/** If a field below the payload of a mutation fails, the answer still shows the write, and the next mutation of the document runs. */

let workspace: WriteWorkspace;
beforeAll(async () => {
  workspace = await startWriteWorkspace();
});
afterAll(() => workspace.stop());

/** Mutations after which the calling key has no rights any more. */
const ENDS_OWN_KEY = new Set(['leaveOrganization', 'deleteOrganization']);

/** A selection in the payload that always fails when it is resolved: a page of size 0. Undefined if the payload leads to no list. */
function failingBelow(payload: string): string | undefined {
  const type = schema.getType(payload);
  if (!isObjectType(type)) throw new Error(`there is no ${payload}`);
  for (const depth of [1, 2, 3, 4, 5]) {
    const found = failingIn(type, depth);
    if (found !== undefined) return found;
  }
  return undefined;
}

function failingIn(type: GraphQLObjectType, depth: number): string | undefined {
  if (depth === 0) return undefined;
  for (const field of Object.values(type.getFields())) {
    const below = getNamedType(field.type);
    if (!isObjectType(below) || field.args.some(isRequiredArgument)) continue;
    if (field.args.some(({ name }) => name === 'first')) return `${field.name}(first: 0) { __typename }`;
    const inside = failingIn(below, depth - 1);
    if (inside !== undefined) return `${field.name} { ${inside} }`;
  }
  return undefined;
}

test('every mutation has a case, and many payloads have a list whose failure can be tested', () => {
  expect(missingCases()).toBe('');
  expect(MUTATION_CASES.filter(([name]) => failingBelow(payloadOf(name))).length).toBeGreaterThan(15);
});

sampled(test, 12).each(MUTATION_CASES)('%s', async (name, write) => {
  const to = await workspace.objectsFor(name, write);
  const [payload, failing] = [payloadOf(name), failingBelow(payloadOf(name))];
  const { data, errors = [] } = await workspace.gateway.graphql<Record<string, Record<string, unknown> | null>>(
    callerOf(write, to).key,
    `mutation($input: ${name.charAt(0).toUpperCase()}${name.slice(1)}Input!) {
      first: ${name}(input: $input) { __typename ... on ${payload} { __typename ${failing ? `failing: ${failing}` : ''} } ... on Error { message } }
      next: updateViewer(input: { name: "Next ${name}" }) { __typename }
    }`,
    { input: write.input(to) },
  );
  expect([data?.['first']?.['__typename'], data?.['first']?.['message']]).toEqual([payload, undefined]);
  expect(errors.map(({ path }) => path?.slice(0, 2).join('.'))).toEqual([
    ...(failing === undefined ? [] : ['first.failing']),
    ...(ENDS_OWN_KEY.has(name) ? ['next'] : []),
  ]);
  expect(data?.['next']).toEqual(ENDS_OWN_KEY.has(name) ? null : { __typename: 'UpdateViewerPayload' });
});
