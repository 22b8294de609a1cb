import { type GraphQLArgument, isInputObjectType, isNonNullType } from 'graphql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { schema } from '../../src/gateway/schema.ts';
import { mutate } from '../support/fixtures/sessions.ts';
import { MUTATION_CASES } from '../support/operations/cases.ts';
import { OBJECTS, globalId } from '../support/operations/references.ts';
import { type WriteWorkspace, payloadOf, startWriteWorkspace } from '../support/operations/write-workspace.ts';
import { sampled } from '../support/sample.ts';

/** Optimistic concurrency: an update whose `expectedUpdatedAt` differs from the stored `updatedAt` is a conflict and writes nothing. */

let workspace: WriteWorkspace;
beforeAll(async () => {
  workspace = await startWriteWorkspace();
});
afterAll(() => workspace.stop());

const mutations = Object.values(schema.getMutationType()?.getFields() ?? {});
const taking = new Set(mutations.filter(({ args }) => args.some(takesExpected)).map(({ name }) => name));

function takesExpected({ type }: GraphQLArgument): boolean {
  const input = isNonNullType(type) ? type.ofType : type;
  return isInputObjectType(input) && input.getFields()['expectedUpdatedAt'] !== undefined;
}

test('every update accepts expectedUpdatedAt', () => {
  const updates = mutations.filter(({ name }) => /^(?:update|replace)/.test(name)).map(({ name }) => name);
  expect(updates.filter((name) => !taking.has(name))).toEqual([]);
});

/** A selection of the fields that an input changes. */
function selectionOf(input: object): string {
  const isReference = (name: string) =>
    name.endsWith('Id') || (name === 'name' && 'eventName' in input) || name === 'eventName';
  return Object.entries(input)
    .filter(([name]) => !isReference(name))
    .map(([name, value]: [string, unknown]) =>
      typeof value === 'object' && value !== null && !Array.isArray(value) ? `${name} { ${selectionOf(value)} }` : name,
    )
    .join(' ');
}

sampled(test, 6).each(MUTATION_CASES.filter(([name]) => taking.has(name)))('%s', async (name, write) => {
  const { gateway, kept } = workspace;
  const { key, userId } = kept.callers.admin;
  const type = write.versionOf ?? write.target ?? '';
  const input = write.input(kept);
  const id = globalId(type, name === 'updateViewer' ? userId : (OBJECTS[type]?.(kept) ?? ''));
  const selected = write.selects ?? selectionOf(input);
  const query = `query($id: ID!) { node(id: $id) { ... on ${type} { updatedAt ${selected} } } }`;
  const read = async () =>
    (await gateway.graphql<{ node: Record<string, unknown> & { updatedAt: string } }>(key, query, { id })).data?.node;
  const before = await read();
  const at = Date.parse(before?.updatedAt ?? '');
  gateway.setClock(new Date(at + 1000));
  for (const expectedUpdatedAt of [new Date(at - 1).toISOString(), new Date(at + 1).toISOString()]) {
    const refused = await mutate<{ reason?: string }>(gateway, key, name, { ...input, expectedUpdatedAt });
    expect(refused).toMatchObject({ __typename: 'ConflictError', path: ['expectedUpdatedAt'] });
  }
  expect(await read()).toEqual(before);
  const expectedUpdatedAt = before?.updatedAt;
  expect((await mutate(gateway, key, name, { ...input, expectedUpdatedAt })).__typename).toBe(payloadOf(name));
  const { updatedAt: _, ...changed } = (await read()) ?? {};
  expect(before).not.toMatchObject(changed);
  // If two clients have read the same version, the second update is refused.
  expect((await mutate(gateway, key, name, { ...input, expectedUpdatedAt })).__typename).toBe('ConflictError');
  // The conflict has the object as it is now.
  const inputType = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input`;
  const conflict = await gateway.graphql<Record<string, object>>(
    key,
    `mutation($input: ${inputType}!) { ${name}(input: $input) { ... on ConflictError { current { id ... on ${type} { updatedAt ${selected} } } } } }`,
    { input: { ...input, expectedUpdatedAt } },
  );
  expect(conflict.data?.[name]).toEqual({ current: { id, ...(await read()) } });
  gateway.setClock(undefined);
});
