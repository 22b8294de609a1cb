// Executes queries with rejected promises that nothing awaits once compiled code gives up. An unhandled rejection ends this process, as it
// would end a gateway. The name of each case is therefore printed as soon as the case is done.
import { setImmediate } from 'node:timers/promises';
import { type TypeMap, observedExecutor, schemaOf } from './schemas.ts';

const SDL = 'type Query { a: A list: [A] u: U } type A { x: Int y: Int } type B { x: Int } union U = A | B';
/** Iterations of the event loop after which late promises settle. Node.js ends the process in the iteration of an unhandled rejection. */
const LATE = 3;
const reject = (message: string) => Promise.reject(new Error(message));
const rejectLater = (message: string) => iterations(LATE).then(() => reject(message));

async function iterations(count: number): Promise<void> {
  for (let done = 0; done < count; done += 1) await setImmediate();
}

const queryFields = (fields: Record<string, () => unknown>): TypeMap => ({ Query: { fields } });

const CASES: Readonly<Record<string, { types: TypeMap; query: string }>> = {
  'in a list': {
    types: queryFields({ list: () => [Promise.resolve({ x: 1 }), reject('second')] }),
    query: '{ list { x } }',
  },
  'in a property': { types: queryFields({ a: () => ({ y: 1, x: reject('x') }) }), query: '{ a { y x } }' },
  'in a list that resolves later, after another field has failed': {
    types: queryFields({ list: async () => [new Error('first'), { x: reject('x'), y: rejectLater('y') }] }),
    query: '{ list { x ...F } } fragment F on A { y }',
  },
  'of a field that is done after others have failed': {
    types: queryFields({ a: () => reject('a'), list: () => iterations(LATE).then(() => [reject('late')]) }),
    query: '{ a { x } list { x } }',
  },
  'from a getter': {
    types: queryFields({
      a: () => ({
        get x() {
          return reject('x');
        },
      }),
    }),
    query: '{ a { x y } }',
  },
  'in a set': { types: queryFields({ list: () => new Set([reject('in a set')]) }), query: '{ list { x } }' },
  'of resolveType': {
    types: { ...queryFields({ u: () => ({}) }), U: { resolveType: () => reject('no type') } },
    query: '{ u { ... on A { x } } }',
  },
  'of isTypeOf, after another type was found': {
    types: {
      ...queryFields({ u: () => ({ x: 1 }) }),
      A: { isTypeOf: () => rejectLater('late') },
      B: { isTypeOf: () => true },
    },
    query: '{ u { ... on B { x } } }',
  },
};

for (const [name, { types, query }] of Object.entries(CASES)) {
  const run = observedExecutor(schemaOf(SDL, types));
  const { path } = await run({ query });
  await iterations(LATE + 1);
  process.stdout.write(`${name}: ${path}\n`);
}
