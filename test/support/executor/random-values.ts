import {
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isEnumType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { type RandomChoices, choicesFrom } from './picks.ts';

export interface Maker {
  readonly pick: RandomChoices;
  readonly chaos: number;
  readonly hasAsync: boolean;
  schema?: GraphQLSchema;
}

export interface Source {
  readonly seed: string;
  readonly __typename: string;
}

/** The executor that is running. It is recorded for each created error, so that an unhandled rejection shows its origin. */
export const currentExecutor = { name: 'reference' };
export const executorOfError = new WeakMap<object, string>();

function makeError(message: string): Error {
  const error = new Error(message);
  executorOfError.set(error, currentExecutor.name);
  return error;
}

const shared = Object.freeze({ shared: true });
export const ENUM_VALUES: readonly unknown[] = [
  0,
  '',
  false,
  Number.NaN,
  3n,
  Symbol.for('value'),
  shared,
  'plain',
  'plain',
];

/** Properties of objects at this depth or deeper are created only when they are read. */
const EAGER_DEPTH = 2;

/** Usually a value of the type; sometimes a wrong value or an exception. */
export function makeValue(make: Maker, type: GraphQLOutputType, pick: RandomChoices, seed: string, depth = 0): unknown {
  if (pick.chance(make.chaos)) return oddValue(make, type, pick, seed, depth);
  if (make.hasAsync && depth > 0 && pick.chance(make.chaos))
    return Promise.resolve(makeValue({ ...make, hasAsync: false }, type, pick, seed, depth));
  if (isNonNullType(type))
    return makeValue(make, type.ofType, pick, seed, depth) ?? plainValue(make, type.ofType, pick, seed, depth);
  return pick.chance(0.08) ? pick.of([null, undefined]) : plainValue(make, type, pick, seed, depth);
}

function plainValue(make: Maker, type: GraphQLOutputType, pick: RandomChoices, seed: string, depth: number): unknown {
  if (isListType(type))
    return Array.from({ length: pick.number(0, 3) }, (_, index) =>
      makeValue(make, type.ofType, pick, `${seed}[${index}]`, depth + 1),
    );
  if (isEnumType(type)) return pick.of(ENUM_VALUES);
  if (isLeafType(type)) return leafOf(type.name, pick);
  if (isAbstractType(type) || isObjectType(type)) return objectOf(make, type.name, pick, seed, depth);
  return null;
}

function leafOf(name: string, pick: RandomChoices): unknown {
  if (name === 'Int') return pick.of([0, 1, -5, 2 ** 31 - 1, '7', true, 3n]);
  if (name === 'Float') return pick.of([0.5, -1, 1e300, '2.5', false]);
  if (name === 'Boolean') return pick.of([true, false, 0, 1]);
  return pick.of(['text', '', 'ü', 12, name === 'ID' ? 'id' : 1.5]);
}

function objectOf(make: Maker, name: string, pick: RandomChoices, seed: string, depth: number): Source {
  const possible = possibleTypes(make, name);
  const type = pick.of(possible);
  const source: Source = Object.assign(Object.create(pick.chance(0.5) ? null : Object.prototype) as object, {
    seed,
    __typename: type.name,
  });
  for (const [property, { type: of, resolve }] of Object.entries(type.getFields())) {
    if (resolve) continue;
    const key = `${seed}.${property}`;
    const value = () => makeValue(make, of, choicesFrom(key), key, depth + 1);
    if (depth < EAGER_DEPTH && !(make.chaos > 0 && pick.chance(0.1)))
      Object.assign(source, { [property]: guarded(value) });
    else Object.defineProperty(source, property, { enumerable: true, get: value });
  }
  return pick.chance(0.3) ? Object.freeze(source) : source;
}

/** Returns the error as the value if the getter throws. */
function guarded(value: () => unknown): unknown {
  try {
    return value();
  } catch (error) {
    return error;
  }
}

function possibleTypes({ schema }: Maker, name: string): readonly GraphQLObjectType[] {
  const type = schema?.getType(name);
  if (isObjectType(type)) return [type];
  const possible = isAbstractType(type) ? (schema?.getPossibleTypes(type) ?? []) : [];
  return possible.length > 0 ? possible : [schema?.getType('T0') as GraphQLObjectType];
}

/** Values that careless code returns. */
function oddValue(make: Maker, type: GraphQLOutputType, pick: RandomChoices, seed: string, depth: number): unknown {
  const calm: Maker = { ...make, chaos: 0 };
  const good = () => plainValue(calm, isNonNullType(type) ? type.ofType : type, pick, seed, depth);
  const error = makeError(`made for ${seed}`);
  switch (pick.number(0, make.hasAsync ? 15 : 9)) {
    case 0:
      return null;
    case 1:
      throw error;
    case 2:
      return error;
    case 3:
      return pick.of(['throw', 'undefined', Number.NaN, {}, [], Symbol.for('odd'), new Date(0), 2 ** 60]);
    case 4:
      return good;
    case 5:
      return new Set(Array.isArray(good()) ? (good() as unknown[]) : [good()]);
    case 6:
      return iterate(good());
    case 7:
      return [good(), error, good()];
    case 8:
      return isListType(type) ? [undefined, good()] : { __typename: getNamedType(type).name };
    case 9:
      return Array.from({ length: 2 });
    case 10:
      return Promise.resolve(good());
    case 11:
      return Promise.reject(error);
    case 12:
      return [Promise.resolve(good()), good(), Promise.reject(error)];
    case 13:
      return { [['th', 'en'].join('')]: (done: (value: unknown) => void) => done(good()) };
    case 14:
      return iterateLater(good());
    default:
      return new Promise((resolve) => setImmediate(() => resolve(good())));
  }
}

function* iterate(value: unknown): Generator {
  if (Array.isArray(value)) yield* value;
  else yield value;
}

async function* iterateLater(value: unknown): AsyncGenerator {
  if (Array.isArray(value)) yield* value;
  else yield value;
}
