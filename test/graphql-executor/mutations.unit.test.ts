import { expect, test } from 'vitest';
import { executeByGraphQL, observedExecutor, schemaOf } from '../support/executor/schemas.ts';

/** GraphQL specification (September 2025), section 6.2.2. */

const OUTCOMES: readonly (readonly [returned: string, path: string, resolve: () => unknown])[] = [
  ['a result', 'compiled', () => ({ name: 'good' })],
  ['a promise', 'compiled', async () => ({ name: 'good' })],
  ['null', 'compiled', () => null],
  ['an error', 'gave_up: threw at Mutation.a', fail],
  ['a rejection', 'gave_up: threw at Mutation.a', async () => fail()],
  [
    'an object with a failing property',
    'gave_up: threw at Mutation.a',
    () => ({
      get name() {
        return fail();
      },
    }),
  ],
  [
    'a promise of one with a rejected property',
    'gave_up: nested_promise at Mutation.a',
    async () => ({ name: Promise.reject(new Error('bad')) }),
  ],
  ['an object with a failing field', 'gave_up: threw at A.later', () => ({ name: 'bad' })],
  ['a value of another type', 'gave_up: not_an_object at Mutation.a', () => 'text'],
];

test.each(OUTCOMES)('a mutation that returns %s is called once', async (_, expectedPath, resolve) => {
  let calls = 0;
  const a = () => {
    calls += 1;
    return resolve();
  };
  const later = async ({ name }: { name: string }): Promise<string> => (name === 'bad' ? fail() : name);
  const schema = schemaOf(
    'type Query { a: Int } type Mutation { a(by: Int): A } type A { name: String later: String }',
    {
      Mutation: { fields: { a } },
      A: { fields: { later } },
    },
  );
  const request = { query: 'mutation ($by: Int = 1) { a(by: $by) { name later } }', root: () => ({ root: true }) };
  const expected = await executeByGraphQL(schema, request);
  calls = 0;
  const executed = await observedExecutor(schema)(request);
  expect({ ...executed, calls }).toEqual({ result: expected, path: expectedPath, calls: 1 });
});

function fail(): never {
  throw new Error('bad');
}

test('the fields of a mutation are executed serially, each once', async () => {
  const log: string[] = [];
  const step = (name: string) => async () => {
    log.push(`${name} begins`);
    await Promise.resolve();
    log.push(`${name} ends`);
    return {
      name,
      get bad() {
        throw new Error('bad');
      },
    };
  };
  const schema = schemaOf(
    'type Query { a: Int } type Mutation { a: A b: A } type A { name: String bad: Int inner: A }',
    {
      Mutation: { fields: { a: step('a'), b: step('b') } },
      A: { fields: { inner: step('inner') } },
    },
  );
  const run = observedExecutor(schema);
  for (let index = 0; index < 3; index += 1) {
    log.length = 0;
    const { result, path } = await run({ query: 'mutation { b { name bad } a { name inner { name } } }' });
    expect(path).toBe('interpreted: mutation');
    expect(result).toMatchObject({ data: { b: { name: 'b', bad: null }, a: { name: 'a', inner: { name: 'inner' } } } });
    expect(log).toEqual(['b begins', 'b ends', 'a begins', 'a ends', 'inner begins', 'inner ends']);
  }
});
