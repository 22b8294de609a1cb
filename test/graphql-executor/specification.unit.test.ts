import { expect, test } from 'vitest';
import {
  type Request,
  type TypeMap,
  executeByGraphQL,
  observedExecutor,
  schemaOf,
} from '../support/executor/schemas.ts';

/**
 * Rules of the GraphQL specification (September 2025, sections 6 and 7) for executions. Each case is executed by
 * graphql and several times by the executor. All must return the expected answer.
 */
interface Case extends Omit<Request, 'query'> {
  readonly sdl: string;
  readonly types?: TypeMap;
  readonly query: string;
  readonly data?: unknown;
  /** The paths of the errors. Their messages are those of graphql. */
  readonly errors?: readonly string[];
  /** The path that the executor takes when it compiles the document. */
  readonly path: string;
}

const PEOPLE = `type Query { person(id: ID, filter: Filter): Person people: [Person] node: Node any: [Any] }
  interface Node { id: ID! } union Any = Person | Pet enum Size { SMALL LARGE }
  input Filter { size: Size = SMALL, names: [String!], near: Near } input Near @oneOf { city: String zip: Int }
  type Person implements Node { id: ID! name(upper: Boolean = false): String age: Int friends: [Person!] boss: Person! pet: Pet size: Size }
  type Pet implements Node { id: ID! name: String weight: Float isTame: Boolean! }`;
const ann = { __typename: 'Person', id: '1', name: 'Ann', age: 40, size: 'LARGE' };
const rex = { __typename: 'Pet', id: 2, name: 'Rex', weight: 3.5, isTame: true };
const greet = (args: unknown) => ({ ...ann, name: JSON.stringify(args) });
const rejected = (message: string) => Promise.reject(new Error(message));

const CASES: Readonly<Record<string, Case>> = {
  '6.1: operationName selects the operation': {
    sdl: PEOPLE,
    query: 'query A { person { id } } query B { person { name } }',
    operationName: 'B',
    root: () => ({ person: ann }),
    data: { person: { name: 'Ann' } },
    path: 'compiled',
  },
  '6.1: without operationName, the document must have exactly one operation': {
    sdl: PEOPLE,
    query: 'query A { person { id } } query B { person { name } }',
    errors: [''],
    path: 'interpreted: invalid_request',
  },
  '6.1.2: variables are coerced, and absent ones have their defaults': {
    sdl: PEOPLE,
    types: { Query: { fields: { person: (_, args) => greet(args) } } },
    query:
      'query ($id: ID = 7, $names: [String!], $size: Size) { person(id: $id, filter: {names: $names, size: $size}) { name } }',
    variableValues: { names: 'one' },
    data: { person: { name: '{"id":"7","filter":{"size":"SMALL","names":["one"]}}' } },
    path: 'compiled',
  },
  '6.1.2: null is a value and is not replaced with the default': {
    sdl: PEOPLE,
    types: { Query: { fields: { person: (_, args) => greet(args) } } },
    query: 'query ($id: ID = 7, $filter: Filter) { person(id: $id, filter: $filter) { name } }',
    variableValues: { id: null, filter: { size: null } },
    data: { person: { name: '{"id":null,"filter":{"size":null}}' } },
    path: 'compiled',
  },
  '6.1.2: an invalid variable is a request error': {
    sdl: PEOPLE,
    query: 'query ($filter: Filter!) { person(filter: $filter) { name } }',
    variableValues: { filter: { near: { city: 'x', zip: 1 } } },
    errors: [''],
    path: 'interpreted: invalid_request',
  },
  '6.2.1: the fields of a query are answered in the order of the document': {
    sdl: 'type Query { a: Int b: Int c: Int }',
    types: { Query: { fields: { a: async () => 1, b: () => 2, c: async () => 3 } } },
    query: '{ c b a again: a __typename }',
    data: { c: 3, b: 2, a: 1, again: 1, __typename: 'Query' },
    path: 'compiled',
  },
  '6.3.2: fields with the same response name are merged at the position of the first': {
    sdl: PEOPLE,
    query: '{ person { ...F name } a: person { id } person { age } } fragment F on Person { boss { id } id }',
    root: () => ({ person: { ...ann, boss: { id: 9 } } }),
    data: { person: { boss: { id: '9' }, id: '1', name: 'Ann', age: 40 }, a: { id: '1' } },
    path: 'compiled',
  },
  '6.3.2: a fragment applies only to the types of its condition': {
    sdl: PEOPLE,
    query: `{ any { __typename ... on Node { id } ...P ... on Pet { weight } } }
      fragment P on Person { age ...Again } fragment Again on Any { ... on Person { size } ...P }`,
    root: () => ({ any: [ann, rex, null] }),
    data: {
      any: [
        { __typename: 'Person', id: '1', age: 40, size: 'LARGE' },
        { __typename: 'Pet', id: '2', weight: 3.5 },
        null,
      ],
    },
    path: 'compiled',
  },
  '6.3.2: @skip and @include work on fields and fragments, with literals and variables': {
    sdl: PEOPLE,
    query: `query ($yes: Boolean!, $no: Boolean = false) { person { id @skip(if: $yes) name @include(if: $yes) @skip(if: $no)
      ... @include(if: $no) { age } ...F @skip(if: false) } } fragment F on Person { size }`,
    variableValues: { yes: true },
    root: () => ({ person: ann }),
    data: { person: { name: 'Ann', size: 'LARGE' } },
    path: 'compiled',
  },
  '6.3.2: a condition that is null is an error': {
    sdl: PEOPLE,
    query: 'query ($yes: Boolean = true) { person { id name @include(if: $yes) } }',
    variableValues: { yes: null },
    root: () => ({ person: ann }),
    data: { person: null },
    errors: ['person'],
    path: 'interpreted: condition',
  },
  '6.4.1: arguments are coerced, and absent ones have their defaults': {
    sdl: PEOPLE,
    types: {
      Query: { fields: { person: (_, args) => greet(args) } },
      Person: { fields: { name: (person: { name: string }, args) => `${person.name}${JSON.stringify(args)}` } },
    },
    query: '{ person(id: 5, filter: {near: {zip: 1}}) { name a: name(upper: true) b: name(upper: null) } }',
    data: {
      person: {
        name: '{"id":"5","filter":{"size":"SMALL","near":{"zip":1}}}{"upper":false}',
        a: '{"id":"5","filter":{"size":"SMALL","near":{"zip":1}}}{"upper":true}',
        b: '{"id":"5","filter":{"size":"SMALL","near":{"zip":1}}}{"upper":null}',
      },
    },
    path: 'compiled',
  },
  '6.4.2: the value of a field without a resolver is a property, or the result of a method with arguments, context and info':
    {
      sdl: 'type Query { me: Me } type Me { name: String self(n: Int): String }',
      query: '{ me { name self(n: 2) } }',
      root: () => ({
        me: { name: 'Ann', self: (args: object, context: unknown) => `${JSON.stringify(args)} ${String(context)}` },
      }),
      contextValue: 'ctx',
      data: { me: { name: 'Ann', self: '{"n":2} ctx' } },
      path: 'gave_up: function_value at Query.me',
    },
  '6.4.2: an exception of a resolver is an error of its field, and the field is null': {
    sdl: 'type Query { a: Int b: Int c: [Int] }',
    types: { Query: { fields: { a: () => rejected('no a'), b: () => 7, c: () => [1, new Error('no c')] } } },
    query: '{ a b c }',
    data: { a: null, b: 7, c: [1, null] },
    errors: ['c.1', 'a'],
    path: 'gave_up: error_value at Query.c',
  },
  '6.4.3: leaf values are coerced by their types': {
    sdl: 'type Query { i: Int f: Float s: String b: Boolean id: ID e: E d: D } enum E { ONE TWO NULL } scalar D',
    types: {
      E: { values: { ONE: 1, TWO: { two: 2 }, NULL: 'null' } },
      D: { coerceOutputValue: (value) => (value as Date).toISOString().slice(0, 10) },
    },
    query: '{ i f s b id e d }',
    root: () => ({ i: '3', f: true, s: 12n, b: 1, id: 7, e: 1, d: new Date(0) }),
    data: { i: 3, f: 1, s: '12', b: true, id: '7', e: 'ONE', d: '1970-01-01' },
    path: 'compiled',
  },
  '6.4.3: a leaf value that cannot be coerced is an error': {
    sdl: 'type Query { i: Int ok: Int }',
    query: '{ i ok }',
    root: () => ({ i: 2 ** 40, ok: 1 }),
    data: { i: null, ok: 1 },
    errors: ['i'],
    path: 'gave_up: invalid_leaf at Query.i',
  },
  '6.4.3: lists keep their order and their nulls': {
    sdl: 'type Query { a: [Int] b: [[Int!]]! }',
    query: '{ a b }',
    root: () => ({ a: [1, null, undefined, 4], b: [[], null, [1, 2]] }),
    data: { a: [1, null, null, 4], b: [[], null, [1, 2]] },
    path: 'compiled',
  },
  '6.4.3: iterables are lists': {
    sdl: 'type Query { a: [Int] b: [Int] }',
    query: '{ a b }',
    root: () => ({
      a: new Set([1, 2]),
      *b() {
        yield 3;
      },
    }),
    data: { a: [1, 2], b: [3] },
    path: 'gave_up: not_an_array at Query.a',
  },
  '6.4.3: asynchronous iterables and promises in lists are awaited': {
    sdl: 'type Query { a: [Int] b: [Int] }',
    query: '{ a b }',
    root: () => ({
      a: [1, Promise.resolve(2), rejected('third')],
      async *b() {
        yield 3;
      },
    }),
    data: { a: [1, 2, null], b: [3] },
    errors: ['a.2'],
    path: 'gave_up: nested_promise at Query.a',
  },
  '6.4.3: a value that is not a list is an error': {
    sdl: 'type Query { a: [Int] }',
    query: '{ a }',
    root: () => ({ a: 'text' }),
    data: { a: null },
    errors: ['a'],
    path: 'gave_up: not_an_array at Query.a',
  },
  '6.4.3: an abstract type is resolved by resolveType, by __typename, or by isTypeOf': {
    sdl: 'type Query { a: [I] b: [U] c: [V] } interface I { x: Int } type A implements I { x: Int } type B implements I { x: Int } union U = A | B union V = A | B',
    types: {
      U: { resolveType: (value) => ((value as { x: number }).x > 1 ? 'B' : 'A') },
      A: { isTypeOf: (value) => (value as { x: number }).x === 1 },
      B: { isTypeOf: (value) => (value as { x: number }).x !== 1 },
    },
    query: 'fragment F on I { x __typename } { a { ...F } b { ...F } c { ...F } }',
    root: () => ({
      a: [
        { __typename: 'A', x: 1 },
        { __typename: 'B', x: 2 },
      ],
      b: [{ x: 1 }, { x: 2 }],
      c: [{ x: 2 }, { x: 1 }],
    }),
    data: {
      a: [
        { x: 1, __typename: 'A' },
        { x: 2, __typename: 'B' },
      ],
      b: [
        { x: 1, __typename: 'A' },
        { x: 2, __typename: 'B' },
      ],
      c: [
        { x: 2, __typename: 'B' },
        { x: 1, __typename: 'A' },
      ],
    },
    path: 'compiled',
  },
  '6.4.3: a type can be resolved asynchronously': {
    sdl: 'type Query { a: I b: I } interface I { x: Int } type A implements I { x: Int }',
    types: { I: { resolveType: async (value) => ((value as { x: number }).x === 1 ? 'A' : 'None') } },
    query: '{ a { x } b { x } }',
    root: () => ({ a: { x: 1 }, b: { x: 2 } }),
    data: { a: { x: 1 }, b: null },
    errors: ['b'],
    path: 'gave_up: unresolved_type at Query.a',
  },
  '6.4.3: an object that is not of its type is an error': {
    sdl: 'type Query { a: A } type A { x: Int }',
    types: { A: { isTypeOf: (value) => 'x' in (value as object) } },
    query: '{ a { x } }',
    root: () => ({ a: { y: 1 } }),
    data: { a: null },
    errors: ['a'],
    path: 'gave_up: unresolved_type at Query.a',
  },
  '6.4.3: any value can be an object if its resolvers can read it': {
    sdl: 'type Query { a: [A] b: B } type A { double: Int } type B { length: Int }',
    types: { Query: { fields: { a: () => [1, 2, 0] } }, A: { fields: { double: (n: number) => n * 2 } } },
    query: '{ a { double __typename } b { length } }',
    root: () => ({ b: [1, 2, 3] }),
    data: {
      a: [
        { double: 2, __typename: 'A' },
        { double: 4, __typename: 'A' },
        { double: 0, __typename: 'A' },
      ],
      b: { length: 3 },
    },
    path: 'compiled',
  },
  '6.4.4: null in a non-null field makes the nearest nullable parent null': {
    sdl: 'type Query { a: [A] b: A! c: [A!] } type A { x: Int! inner: A! }',
    query: '{ a { x inner { x } } c { x } }',
    root: () => ({
      a: [
        { x: 1, inner: { x: null } },
        { x: 1, inner: { x: 2 } },
      ],
      c: [{ x: 1 }, null],
    }),
    data: { a: [null, { x: 1, inner: { x: 2 } }], c: null },
    errors: ['a.0.inner.x', 'c.1'],
    path: 'gave_up: null_value at Query.a',
  },
  '6.4.4: null in a non-null field without a nullable parent makes the data null': {
    sdl: 'type Query { a: Int! b: Int }',
    types: { Query: { fields: { a: async () => null, b: () => 1 } } },
    query: '{ b a }',
    data: null,
    errors: ['a'],
    path: 'gave_up: null_value at Query.a',
  },
  '4.2: introspection is answered like any other field': {
    sdl: 'type Query { a: Int }',
    query: '{ a __type(name: "Query") { name fields { name } } }',
    root: () => ({ a: 1 }),
    data: { a: 1, __type: { name: 'Query', fields: [{ name: 'a' }] } },
    path: 'interpreted: introspection',
  },
  '2.10: response names can be keywords of JavaScript': {
    sdl: 'type Query { a: Int }',
    query: '{ class: a constructor: a then: a null: a __proto__: a hasOwnProperty: a }',
    root: () => ({ a: 1 }),
    // In an object literal, `__proto__` would set the prototype.
    data: JSON.parse('{"class":1,"constructor":1,"then":1,"null":1,"__proto__":1,"hasOwnProperty":1}') as object,
    path: 'interpreted: response_name',
  },
};

const namesOf = (result: unknown) => Object.keys((result as { data?: object | null } | undefined)?.data ?? {});
const pathsOfErrors = (result: unknown) =>
  (result as { errors?: { path?: string[] }[] }).errors?.map(({ path }) => path?.join('.') ?? '');

test.each(Object.entries(CASES))('%s', async (_, { sdl, types, data, errors, path, ...request }) => {
  const schema = schemaOf(sdl, types);
  const expected = await executeByGraphQL(schema, request);
  expect((expected as { data?: unknown }).data).toEqual(data);
  expect(pathsOfErrors(expected)).toEqual(errors);
  const run = observedExecutor(schema, { runsBeforeCompiling: 1 });
  const executed = [await run(request), await run(request), await run(request)];
  for (const { result } of executed) expect(result).toEqual(expected);
  expect(namesOf(executed[1]?.result)).toEqual(namesOf({ data }));
  expect(executed.map((one) => one.path)).toEqual([
    /invalid_request|condition/.test(path) ? path : 'interpreted: new',
    path,
    path.startsWith('gave_up') ? 'interpreted: gives_up' : path,
  ]);
});
