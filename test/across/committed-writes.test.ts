import { type GraphQLObjectType, getNamedType, isObjectType, isRequiredArgument } from 'graphql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { schema } from '../../src/gateway/schema.ts';
import { caseFaults } from '../support/completeness.ts';
import type { AuditWorkspace, Change } from '../support/fixtures/audit-log.ts';
import { mutationCases, startMutationWorkspace } from '../support/fixtures/mutation-cases.ts';

/** If a field below the payload of a mutation fails, the answer still shows the write, and the next mutation of the document runs. */

interface Answer {
  readonly data: Readonly<Record<string, Record<string, unknown> | null>> | null | undefined;
  readonly errors: readonly { readonly path?: readonly (string | number)[] }[];
}

let workspace: AuditWorkspace;
let answer: Answer;
beforeAll(async () => {
  const started = await startMutationWorkspace();
  workspace = { ...started, mutate };
});
afterAll(() => workspace.stop());

const NEXT = 'updateViewer(input: { name: "Next" }) { __typename }';
/** Mutations after which the calling key has no rights any more. */
const ENDS_OWN_KEY = new Set(['leaveOrganization', 'deleteOrganization']);

async function mutate(
  name: string,
  input: object,
  selection = '__typename',
  key = workspace.admin.key,
): Promise<Change> {
  const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  const failing = failingBelow(`${type}Payload`);
  const query = `mutation($input: ${type}Input!) {
    first: ${name}(input: $input) { __typename ... on ${type}Payload { ${selection} ${failing ? `failing: ${failing}` : ''} } ... on Error { message } }
    next: ${NEXT}
  }`;
  const { data, errors = [] } = await workspace.gateway.graphql<Record<string, Record<string, unknown> | null>>(
    key,
    query,
    {
      input,
    },
  );
  answer = { data, errors };
  return { result: data?.['first'] ?? {}, requestId: '' };
}

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

const CASES = mutationCases(() => workspace);

test('every mutation has a case, and many payloads have a list whose failure can be tested', () => {
  const names = Object.keys(schema.getMutationType()?.getFields() ?? {});
  expect(caseFaults('test/support/fixtures/mutation-cases.ts', Object.keys(CASES), names)).toBe('');
  const failing = names.filter((name) => failingBelow(`${name.charAt(0).toUpperCase()}${name.slice(1)}Payload`));
  expect(failing.length).toBeGreaterThan(15);
});

test.each(Object.entries(CASES))('%s', async (name, { run }) => {
  await run();
  const payload = `${name.charAt(0).toUpperCase()}${name.slice(1)}Payload`;
  const { data, errors } = answer;
  expect([data?.['first']?.['__typename'], data?.['first']?.['message']]).toEqual([payload, undefined]);
  const paths = errors.map(({ path }) => path?.slice(0, 2).join('.'));
  const expected = [
    ...(failingBelow(payload) === undefined ? [] : ['first.failing']),
    ...(ENDS_OWN_KEY.has(name) ? ['next'] : []),
  ];
  expect(paths).toEqual(expected);
  expect(data?.['next']).toEqual(ENDS_OWN_KEY.has(name) ? null : { __typename: 'UpdateViewerPayload' });
});
