import {
  type GraphQLArgumentConfig,
  GraphQLBoolean,
  GraphQLEnumType,
  type GraphQLFieldConfig,
  GraphQLFloat,
  GraphQLID,
  GraphQLInputObjectType,
  GraphQLInt,
  GraphQLInterfaceType,
  type GraphQLLeafType,
  GraphQLList,
  GraphQLNonNull,
  type GraphQLNullableOutputType,
  GraphQLObjectType,
  type GraphQLOutputType,
  GraphQLScalarType,
  GraphQLSchema,
  GraphQLString,
  GraphQLUnionType,
} from 'graphql';
import { ENUM_VALUES, type Maker, type Source, makeValue } from './random-values.ts';
import { type RandomChoices, choicesFrom } from './picks.ts';

/**
 * A schema with all kinds of types. Its resolvers return random values that are always the same for the same field,
 * arguments and parent.
 */
export interface RandomSchema {
  readonly schema: GraphQLSchema;
  /** The calls of mutations, in order. */
  readonly calls: string[];
}

const Odd = new GraphQLScalarType({
  name: 'Odd',
  coerceOutputValue: (value) => {
    if (value === 'throw') throw new Error('Odd throws');
    return value === 'undefined' ? undefined : value;
  },
  coerceInputValue: (value) => {
    if (value === 'refused') throw new Error('Odd refuses');
    return value;
  },
});
const Enum = new GraphQLEnumType({
  name: 'E',
  values: Object.fromEntries(ENUM_VALUES.map((value, index) => [`V${index}`, { value }])),
});
const LEAVES: readonly GraphQLLeafType[] = [
  GraphQLInt,
  GraphQLFloat,
  GraphQLString,
  GraphQLBoolean,
  GraphQLID,
  Odd,
  Enum,
];

const Inner = new GraphQLInputObjectType({
  name: 'Inner',
  isOneOf: true,
  fields: { number: { type: GraphQLInt }, text: { type: GraphQLString } },
});
const Input = new GraphQLInputObjectType({
  name: 'In',
  fields: () => ({
    number: { type: GraphQLInt, default: { value: 4 } },
    names: { type: new GraphQLList(new GraphQLNonNull(GraphQLString)) },
    inner: { type: Inner },
    enumeration: { type: Enum },
    again: { type: Input },
  }),
});

const ARGUMENTS: Readonly<Record<string, GraphQLArgumentConfig>> = {
  number: { type: GraphQLInt },
  text: { type: GraphQLString, default: { value: 'default' } },
  input: { type: Input },
  list: { type: new GraphQLList(new GraphQLNonNull(Enum)), default: { value: ['V0'] } },
  required: { type: new GraphQLNonNull(GraphQLBoolean), default: { value: true } },
  odd: { type: Odd },
};

/** `chaos` is the share of wrong or unusual values. */
export function randomSchema(pick: RandomChoices, chaos: number): RandomSchema {
  const calls: string[] = [];
  const make: Maker = { pick, chaos, hasAsync: pick.chance(0.7) };
  const names = Array.from({ length: pick.number(2, 5) }, (_, index) => `T${index}`);
  const types = new Map<string, GraphQLObjectType>();
  const abstracts: (GraphQLInterfaceType | GraphQLUnionType)[] = [];

  const composite = (): GraphQLNullableOutputType => pick.of([...types.values(), ...abstracts]);
  const wrapped = (): GraphQLOutputType => {
    let type: GraphQLNullableOutputType = pick.chance(0.5) ? pick.of(LEAVES) : composite();
    for (let depth = pick.number(0, 3); depth > 0; depth -= 1)
      type = pick.chance(0.6) ? new GraphQLList(nonNullSometimes(type)) : type;
    return nonNullSometimes(type);
  };
  const nonNullSometimes = (type: GraphQLNullableOutputType): GraphQLOutputType =>
    pick.chance(0.25) ? new GraphQLNonNull(type) : type;

  const field = (owner: string, name: string, type: GraphQLOutputType): GraphQLFieldConfig<Source, unknown> => {
    const args = Object.fromEntries(Object.entries(ARGUMENTS).filter(() => pick.chance(0.3)));
    if (pick.chance(0.45)) return { type };
    const isAsync = make.hasAsync && pick.chance(0.5);
    return {
      type,
      args,
      resolve: (source, given, _, info) => {
        const seen = [owner, name, info.parentType.name, info.fieldNodes.length, Object.keys(info.fragments)];
        const key = JSON.stringify([seen, given, info.variableValues.coerced, seedOf(source)], plain);
        if (owner === 'Mutation') calls.push(key);
        const value = () => makeValue(make, type, choicesFrom(key), key);
        return isAsync ? Promise.resolve().then(value) : value();
      },
    };
  };

  const interfaces = [0, 1].map((index) => {
    const one = new GraphQLInterfaceType({
      name: `I${index}`,
      fields: () => ({ [`i${index}`]: { type: interfaceTypes[index] ?? GraphQLInt } }),
      ...typeResolver(make),
    });
    abstracts.push(one);
    return one;
  });
  for (const name of names) {
    const implemented = interfaces.filter(() => pick.chance(0.5));
    types.set(
      name,
      new GraphQLObjectType<Source>({
        name,
        interfaces: implemented,
        ...(pick.chance(0.3) && { isTypeOf: typeTest(make, name) }),
        fields: () => ({
          ...Object.fromEntries(
            implemented.map(({ name: of }) => [
              of.toLowerCase(),
              field(name, of.toLowerCase(), interfaceTypes[Number(of.slice(1))] ?? GraphQLInt),
            ]),
          ),
          ...Object.fromEntries(
            Array.from({ length: 4 }, (_, index) => [`f${index}`, field(name, `f${index}`, wrapped())]),
          ),
        }),
      }),
    );
  }
  abstracts.push(
    new GraphQLUnionType({ name: 'U', types: () => [...types.values()].slice(0, 3), ...typeResolver(make) }),
  );
  const interfaceTypes = [wrapped(), wrapped()];
  const root = (name: string) =>
    new GraphQLObjectType<Source>({
      name,
      fields: () =>
        Object.fromEntries(Array.from({ length: 6 }, (_, index) => [`r${index}`, field(name, `r${index}`, wrapped())])),
    });
  const schema = new GraphQLSchema({
    query: root('Query'),
    mutation: root('Mutation'),
    types: [...types.values(), ...interfaces],
  });
  make.schema = schema;
  return { schema, calls };
}

function typeResolver({ pick, hasAsync }: Maker) {
  const how = pick.number(0, 2);
  if (how === 0) return {};
  const isAsync = hasAsync && pick.chance(0.2);
  return { resolveType: (value: unknown) => (isAsync ? Promise.resolve(typeNameOf(value)) : typeNameOf(value)) };
}

function typeTest({ pick, hasAsync }: Maker, name: string) {
  const isAsync = hasAsync && pick.chance(0.1);
  return (value: unknown) => (isAsync ? Promise.resolve(typeNameOf(value) === name) : typeNameOf(value) === name);
}

const typeNameOf = (value: unknown) => (value as { __typename?: string } | null)?.__typename;
const seedOf = (source: unknown) =>
  typeof source === 'object' && source !== null && 'seed' in source ? source.seed : String(source);

/** Values that JSON cannot represent. */
function plain(_: string, value: unknown): unknown {
  return typeof value === 'bigint' || typeof value === 'symbol' ? String(value) : value;
}
