import { tracingChannel } from 'node:diagnostics_channel';
import { type GraphQLFieldResolver, type GraphQLResolveInfo, execute, parse } from 'graphql';
import { describe, expect, test, vi } from 'vitest';
import { createExecutor, sizeOfResult } from '../../src/graphql-executor/executor.ts';
import { executeByGraphQL, observedExecutor, schemaOf } from '../support/executor/schemas.ts';

/** The guarantees in README.md of src/graphql-executor for anybody who uses it instead of graphql's `execute`. */

/** The paths of several executions of one query. */
async function pathsOf(run: ReturnType<typeof observedExecutor>, query: string, times: number): Promise<string[]> {
  const paths: string[] = [];
  for (let index = 0; index < times; index += 1) paths.push((await run({ query })).path);
  return paths;
}

describe('the schema, the context and the request are not changed', () => {
  const SDL =
    'type Query { a: Int list(sizes: [Int!], size: Int): Int } type Mutation { add(by: Int): Int name: String }';

  test('no resolver is replaced, however many executors are created', async () => {
    const schema = schemaOf(SDL, { Mutation: { fields: { add: (_, { by }: { by: number }) => by } } });
    const resolvers = () =>
      [schema.getQueryType(), schema.getMutationType()].flatMap((type) =>
        Object.values(type?.getFields() ?? {}).map(({ resolve }) => resolve),
      );
    const before = resolvers();
    for (let index = 0; index < 100; index += 1) createExecutor(schema);
    expect(resolvers()).toEqual(before);
    const request = { query: 'mutation { add(by: 2) name }', root: () => ({ name: 'from the root' }) };
    expect((await observedExecutor(schema)(request)).result).toEqual({ data: { add: 2, name: 'from the root' } });
  });

  test.each([undefined, null, 7, 'text', Object.freeze({ user: 'Ann' }), new Map()])(
    'any value can be the context: %s',
    async (contextValue) => {
      const seen: unknown[] = [];
      const resolve = (_: unknown, __: unknown, context: unknown) => seen.push(context);
      const run = observedExecutor(
        schemaOf(SDL, { Query: { fields: { a: resolve } }, Mutation: { fields: { add: resolve } } }),
      );
      const before = structuredClone(contextValue);
      await run({ query: '{ a }', contextValue });
      expect((await run({ query: '{ a }', contextValue })).path).toBe('compiled');
      expect((await run({ query: '{ a list }', contextValue, root: () => ({ list: [] }) })).path).toMatch(/^gave_up/);
      await run({ query: 'mutation { add }', contextValue });
      expect(seen.every((context) => Object.is(context, contextValue))).toBe(true);
      expect(contextValue).toEqual(before);
    },
  );

  test('one context can be used for several operations, concurrently and after one has failed', async () => {
    let total = 0;
    const add = async (_: unknown, { by = 0 }) => {
      total += by;
      if (by < 0) throw new Error('negative');
      return total;
    };
    const run = observedExecutor(
      schemaOf(SDL, { Mutation: { fields: { add } }, Query: { fields: { a: () => total } } }),
    );
    const contextValue = {};
    await run({ query: 'mutation { add(by: -1) }', contextValue });
    const queries = ['mutation { add(by: 10) }', '{ a }', 'mutation { add(by: 100) }', '{ a }'];
    await Promise.all(queries.map((query) => run({ query, contextValue })));
    expect((await run({ query: 'mutation { add(by: 1000) }', contextValue })).result).toEqual({ data: { add: 1109 } });
  });

  test('a resolver that changes its arguments, which its objects share, has no effect on other calls: graphql-js executes the query', async () => {
    interface Given {
      sizes?: number[];
      size?: number;
    }
    const list = (_: unknown, args: Given) => {
      const found = (args.sizes?.length ?? 0) * 10 + (args.size ?? 0);
      args.sizes?.push(0);
      args.size = 9;
      return found;
    };
    const schema = schemaOf(SDL.replace('a: Int', 'a: Int all: [Query]'), {
      Query: { fields: { list, all: () => [{}, {}, {}] } },
    });
    const run = observedExecutor(schema);
    for (const query of [
      '{ all { list(sizes: [1], size: 2) } }',
      'query ($sizes: [Int!] = [1]) { all { a: list(size: 1) } list(sizes: $sizes) }',
    ]) {
      const expected = await executeByGraphQL(schema, { query });
      expect(await run({ query })).toEqual({ result: expected, path: 'gave_up: threw at Query.list' });
      // From now on graphql-js executes such a query at once.
      expect(await run({ query })).toEqual({ result: expected, path: 'interpreted: gives_up' });
    }
  });
});

describe('resolvers get the same info as from graphql', () => {
  const SDL = `type Query { node(n: Int = 1): Node list: [Node] } interface Node { n: Int } type A implements Node { n: Int next: Node seen: String }`;
  const seenOf = ({ fieldName, returnType, parentType, fieldNodes, operation, path, ...info }: GraphQLResolveInfo) =>
    JSON.stringify({
      fieldName,
      returnType,
      parentType,
      nodes: fieldNodes.map(({ loc }) => loc?.start),
      operation: operation.name?.value,
      path,
      fragments: Object.keys(info.fragments),
      variables: info.variableValues.coerced,
      root: info.rootValue,
      isAborted: info.getAbortSignal()?.aborted,
    });
  const seen = (_: unknown, __: unknown, ___: unknown, info: GraphQLResolveInfo) => seenOf(info);
  const infos: string[] = [];
  const schema = schemaOf(SDL, {
    A: { fields: { seen } },
    Node: { resolveType: (_, __, info) => (infos.push(seenOf(info)), 'A') },
  });
  const root = () => ({ node: { next: { next: {} } }, list: [{}, {}] });

  test('outside of lists: the path and the field, also in resolveType', async () => {
    const query = `query Seen($n: Int = 4) { node(n: $n) { ...F seen } } fragment F on A { seen next { ... on A { further: seen } } }`;
    const expected = await executeByGraphQL(schema, { query, root });
    const infosOfGraphQL = infos.splice(0);
    expect(infosOfGraphQL).toHaveLength(2);
    expect(await observedExecutor(schema)({ query, root })).toEqual({ result: expected, path: 'compiled' });
    expect(infos.splice(0)).toEqual(infosOfGraphQL);
  });

  const indexes: [string, string] = ['0', '1'];
  const path = (key: number) =>
    JSON.stringify({ prev: { prev: { key: 'list', typename: 'Query' }, key }, key: 'seen', typename: 'A' });
  const paths: [string, string] = [path(0), path(1)];
  test.each<[of: string, read: (info: GraphQLResolveInfo) => unknown, seen: [string, string]]>([
    ['the index', (info) => info.path.prev?.key, indexes],
    ['the index, from a copy of the info', (info) => ({ ...info }).path.prev?.key, indexes],
    ['the index, from a copy of the path', (info) => ({ ...info.path }).prev?.key, indexes],
    ['the name', (info) => info.path.key, ['seen', 'seen']],
    ['the type', (info) => info.path.typename, ['A', 'A']],
    ['whether there is a key', (info) => 'key' in info.path, ['true', 'true']],
    ['the names', (info) => Object.keys(info.path).toSorted(), ['key,prev,typename', 'key,prev,typename']],
    ['all of it, as JSON', (info) => JSON.stringify(info.path), paths],
  ])(
    'in lists, %s: graphql executes the query, even if the resolver catches the exception',
    async (_of, read, [a, b]) => {
      const now: GraphQLFieldResolver<unknown, unknown> = (_, __, ___, info) => {
        try {
          return String(read(info));
        } catch {
          return 'caught';
        }
      };
      const later: typeof now = async (...given) => {
        await Promise.resolve();
        return now(...given);
      };
      for (const resolve of [now, later]) {
        const caught = schemaOf(SDL, { A: { fields: { seen: resolve } }, Node: { resolveType: () => 'A' } });
        expect(await observedExecutor(caught)({ query: '{ list { ... on A { seen } } }', root })).toEqual({
          result: { data: { list: [{ seen: a }, { seen: b }] } },
          path: 'gave_up: path at A.seen',
        });
      }
    },
  );

  test('its signal is aborted when the execution ends, also after compiled code gave up', async () => {
    const signals: (AbortSignal | undefined)[] = [];
    const watched = schemaOf('type Query { a: Int b: Int! }', {
      Query: {
        fields: {
          a: (_, __, ___, info) => (signals.push(info.getAbortSignal()), 1),
          b: async () => {
            expect(signals.at(-1)?.aborted).toBe(false);
            return signals.length === 1 ? 2 : null;
          },
        },
      },
    });
    const run = observedExecutor(watched);
    const query = '{ a b }';
    expect((await run({ query })).path).toBe('compiled');
    expect((await run({ query })).path).toBe('gave_up: null_value at Query.b');
    expect(signals.map((signal) => signal?.aborted)).toEqual([true, true, true]);
  });
});

describe('graphql executes what compiled code does not support', () => {
  const schema = schemaOf('type Query { a: Int i: I } interface I { x: Int } type A implements I { x: Int }');
  const root = () => ({ a: 1, i: { x: 2 } });

  test.each([
    ['fieldResolver', { fieldResolver: () => 5 }],
    ['typeResolver', { typeResolver: () => 'A' }],
    ['abortSignal', { abortSignal: new AbortController().signal }],
    ['hooks', { hooks: { asyncWorkFinished: () => undefined } }],
    ['hideSuggestions', { hideSuggestions: true }],
  ])('the option %s', async (_, options) => {
    const request = { query: '{ a i { x } }', root, ...options };
    expect(await observedExecutor(schema)(request)).toEqual({
      result: await executeByGraphQL(schema, request),
      path: 'interpreted: execution_options',
    });
  });

  test('another schema', async () => {
    const args = { schema: schemaOf('type Query { a: String }'), document: parse('{ a }'), rootValue: { a: 1 } };
    const paths: unknown[] = [];
    const run = createExecutor(schema, {
      runsBeforeCompiling: 0,
      onExecution: (path, reason) => paths.push([path, reason]),
    });
    expect(run(args)).toEqual(execute(args));
    expect(paths).toEqual([['interpreted', 'other_schema']]);
  });

  test('arguments of fragments', async () => {
    const query = '{ i { ...F(no: true) } a } fragment F($no: Boolean!) on A { x @skip(if: $no) }';
    const request = { query, root: () => ({ i: { __typename: 'A', x: 2 } }) };
    const run = observedExecutor(schema);
    expect(await run(request)).toEqual({
      result: { data: { i: {}, a: null } },
      path: 'interpreted: fragment_arguments',
    });
  });

  test('a schema with @defer', async () => {
    const incremental = schemaOf('directive @defer(if: Boolean) on FIELD type Query { a: Int }');
    const run = observedExecutor(incremental);
    await expect(run({ query: '{ a }' })).rejects.toThrow('@defer');
    await expect(executeByGraphQL(incremental, { query: '{ a }' })).rejects.toThrow('@defer');
  });

  test('executions while graphql’s diagnostics channels have subscribers', async () => {
    const run = observedExecutor(schema);
    const request = { query: '{ a }', root };
    expect((await run(request)).path).toBe('compiled');
    const seen: unknown[] = [];
    const subscribers = { start: (message: object) => void seen.push(message) };
    const channel = tracingChannel<string, object>('graphql:resolve');
    channel.subscribe(subscribers as never);
    expect((await run(request)).path).toBe('interpreted: traced');
    expect(seen).toEqual([expect.objectContaining({ fieldName: 'a' })]);
    channel.unsubscribe(subscribers as never);
    expect((await run(request)).path).toBe('compiled');
  });

  test('thenables of libraries, which graphql treats as promises', async () => {
    const then = ['th', 'en'].join('');
    const thenable = (value: unknown) => ({ [then]: (done: (came: unknown) => void) => done(value) });
    const custom = schemaOf('scalar Any type Query { one: Any all: [Any] x: Int }', {
      Query: { fields: { x: () => thenable(Promise.resolve(3)) } },
    });
    const run = observedExecutor(custom);
    const request = { query: '{ one x }', root: () => ({ one: thenable(7), all: [thenable(7)] }) };
    expect(await run(request)).toEqual({ result: { data: { one: 7, x: 3 } }, path: 'compiled' });
    expect(await run({ ...request, query: '{ all }' })).toEqual({
      result: { data: { all: [7] } },
      path: 'gave_up: nested_promise at Query.all',
    });
  });

  test('promises whose values arrive together: each is stored, and one that fails is executed by graphql', async () => {
    const nested = schemaOf('type Query { all: [Query] n: Int }', {
      Query: { fields: { n: ({ value }: { value: object }) => value } },
    });
    const run = observedExecutor(nested);
    const then = ['th', 'en'].join('');
    const waits: number[] = [];
    const together = (factors: readonly number[]) => {
      const { promise: arrived, resolve } = Promise.withResolvers<number>();
      const waited = vi.spyOn(arrived, 'then');
      setImmediate(() => {
        waits.push(waited.mock.calls.length);
        resolve(10);
      });
      return factors.map((factor) => {
        const valueIn = (came: number) => {
          if (factor === 0) throw new Error('zero');
          return came * factor;
        };
        const wait = (...given: []) =>
          Promise.resolve(10)
            .then(valueIn)
            .then(...given);
        return { value: { arrived, valueIn, [then]: wait } };
      });
    };
    const request = { query: '{ all { n } }', root: () => ({ all: together([1, 2, 3]) }) };
    const data = { all: [{ n: 10 }, { n: 20 }, { n: 30 }] };
    expect(await run(request)).toEqual({ result: { data }, path: 'compiled' });
    expect(waits).toEqual([1]);
    const failed = await run({ ...request, root: () => ({ all: together([1, 0, 3]) }) });
    expect(failed.path).toBe('gave_up: threw at Query.n');
    expect(failed.result).toMatchObject({ data: { all: [{ n: 10 }, { n: null }, { n: 30 }] } });
  });

  test('enum values and lists that JSON cannot represent', async () => {
    const odd = schemaOf('enum E { NONE CALLED } type Query { none: E called: E sum(of: [Int]): Int }', {
      E: { values: { NONE: null, CALLED: Math.max } },
      Query: { fields: { called: () => Math.max, sum: (_, { of }: { of: number[] }) => of.length } },
    });
    for (const request of [
      { query: '{ none }', root: () => ({ none: null }) },
      { query: '{ called }' },
      { query: 'query ($of: [Int]) { sum(of: $of) }', variableValues: { of: new Set([1, 2]) } },
    ]) {
      const { result } = await observedExecutor(odd)(request);
      expect(result).toEqual(await executeByGraphQL(odd, request));
    }
  });
});

describe('each execution reports its path, and documents whose compiled code gives up are retried less and less often', () => {
  const FAILING = schemaOf('type Query { a: Int b: Int }', { Query: { fields: { a: () => [1] } } });

  test('the pauses between attempts double up to 1024 executions, and one success ends them', async () => {
    let isWrong = true;
    const schema = schemaOf('type Query { a: Int }', { Query: { fields: { a: () => (isWrong ? 'wrong' : 1) } } });
    const run = observedExecutor(schema);
    const paths = await pathsOf(run, '{ a }', 5000);
    const trials = paths.flatMap((path, index) => (path.startsWith('gave_up') ? [index] : []));
    expect(trials.slice(0, 5)).toEqual([0, 3, 8, 17, 34]);
    expect(trials.slice(1).map((index, before) => index - (trials[before] ?? 0) - 1)).toContain(1024);
    expect(trials.length).toBeLessThan(15);
    isWrong = false;
    await pathsOf(run, '{ a }', 1024);
    expect(await pathsOf(run, '{ a }', 2)).toEqual(['compiled', 'compiled']);
    isWrong = true;
    expect(await pathsOf(run, '{ a }', 4)).toEqual([
      'gave_up: invalid_leaf at Query.a',
      'interpreted: gives_up',
      'interpreted: gives_up',
      'gave_up: invalid_leaf at Query.a',
    ]);
  });

  test('beforeRetry is called before graphql executes a document whose compiled code gave up', async () => {
    const retried: unknown[] = [];
    const run = observedExecutor(FAILING, { beforeRetry: ({ contextValue }) => retried.push(contextValue) });
    await run({ query: '{ b }', contextValue: 1 });
    await run({ query: '{ a }', contextValue: 2 });
    await run({ query: '{ a }', contextValue: 3 });
    expect(retried).toEqual([2]);
  });

  test('documents that are too large are interpreted, and dropped documents are compiled again', async () => {
    const names = (count: number) => Array.from({ length: count }, (_, index) => `a${index}: b`).join(' ');
    expect((await observedExecutor(FAILING)({ query: `{ ${names(400)} }` })).path).toBe('interpreted: too_large');
    const small = observedExecutor(FAILING, { maxBytes: 30_000 });
    expect(await pathsOf(small, '{ b }', 2)).toEqual(['compiled', 'compiled']);
    await pathsOf(small, '{ b c: b d: b }', 2);
    expect(await pathsOf(small, '{ b }', 1)).toEqual(['compiled']);
  });

  test('documents that were not parsed from a text are also compiled', async () => {
    const document = JSON.parse(JSON.stringify(parse('{ b }', { noLocation: true }))) as ReturnType<typeof parse>;
    expect((await observedExecutor(FAILING)({ query: document })).path).toBe('compiled');
  });

  test('only the most recently used combinations of conditions stay compiled', async () => {
    const names = ['p', 'q', 'r', 's', 't'];
    const query = `query (${names.map((name) => `$${name}: Boolean!`).join(' ')}) {
      ${names.map((name) => `${name}: b @include(if: $${name})`).join(' ')} }`;
    const run = observedExecutor(FAILING, { runsBeforeCompiling: 1 });
    const ask = async (bits: number) => {
      const on = names.filter((_, index) => bits & (1 << index));
      const variableValues = Object.fromEntries(names.map((name) => [name, on.includes(name)]));
      const { result, path } = await run({ query, variableValues, root: () => ({ b: 1 }) });
      expect(result).toEqual({ data: Object.fromEntries(on.map((name) => [name, 1])) });
      return path;
    };
    for (let bits = 0; bits < 32; bits += 1) expect(await ask(bits)).toBe('interpreted: new');
    for (let bits = 31; bits > 15; bits -= 1) expect(await ask(bits)).toBe('compiled');
    expect(await ask(0)).toBe('interpreted: new');
    expect(await ask(16)).toBe('compiled');
  });

  test('compiled code computes the size of its answer as JSON', async () => {
    const schema = schemaOf('scalar Any type Query { all: [Query] a: String any: Any }');
    const document = parse('{ __typename all { a other: a any } }');
    const rootValue = { all: [{ a: 'text', any: { b: [1] } }, null, { a: 'x'.repeat(1000) }] };
    const run = createExecutor(schema, { runsBeforeCompiling: 1, sizeOf: (value) => JSON.stringify(value).length });
    expect(sizeOfResult(await run({ schema, document, rootValue }))).toBeUndefined();
    const result = await run({ schema, document, rootValue });
    const { length } = JSON.stringify(result.data);
    expect(sizeOfResult(result)).toBeGreaterThan(length - 10);
    expect(sizeOfResult(result)).toBeLessThan(length + 30);
  });

  test('a query without promises is answered synchronously', () => {
    const run = createExecutor(FAILING, { runsBeforeCompiling: 0 });
    const args = { schema: FAILING, document: parse('{ b }'), rootValue: { b: 3 } };
    expect(run(args)).toEqual({ data: { b: 3 } });
  });
});
