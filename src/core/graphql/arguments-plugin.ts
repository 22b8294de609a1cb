import { type GraphQLFieldResolver, type GraphQLResolveInfo, Kind } from 'graphql';
import SchemaBuilder, {
  BasePlugin,
  type PothosOutputFieldConfig,
  type SchemaTypes,
  reduceMaybeAsync,
} from '@pothos/core';
import { invalid } from '../errors.ts';

declare global {
  namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      arguments: ArgumentsPlugin<Types>;
    }
  }
}

type Resolver<Types extends SchemaTypes> = GraphQLFieldResolver<unknown, Types['Context'], object>;
type ArgMapper<Types extends SchemaTypes> = PothosOutputFieldConfig<Types>['argMappers'][number];

/**
 * Validates the arguments of a field once for all its parents, which share them as one object, instead of once for each item of a list. It must
 * be the first plugin: fields are configured in the reverse order, and others add mappers.
 */
class ArgumentsPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  /** By the empty list of mappers of the field, which the copies of its configuration share. */
  readonly #mappers = new WeakMap<object, ArgMapper<Types>>();

  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const isPaged = 'first' in config.args && 'last' in config.args;
    const mappers = isPaged ? [...config.argMappers, refuseBothEnds] : config.argMappers;
    if (mappers.length === 0) return config;
    const mapper = onceForAll<Types>(mappers);
    if (config.kind === 'Subscription') return { ...config, argMappers: [mapper] };
    // The library would create three closures for each parent.
    const none: ArgMapper<Types>[] = [];
    this.#mappers.set(none, mapper);
    return { ...config, argMappers: none };
  }

  override wrapResolve(resolve: Resolver<Types>, config: PothosOutputFieldConfig<Types>): Resolver<Types> {
    const mapper = this.#mappers.get(config.argMappers);
    if (!mapper) return resolve;
    return (parent, args, context, info) => {
      const mapped = mapper(args as Record<string, unknown>, context, info);
      return mapped instanceof Promise
        ? mapped.then((found) => resolve(parent, found, context, info))
        : resolve(parent, mapped, context, info);
    };
  }
}

/**
 * Refuses a page from both ends. The arguments have the default of `first` also if the document does not give it.
 * @throws ValidationError if `first` and `last` are given and not null.
 */
function refuseBothEnds(args: Record<string, unknown>, _: object, info: object): Record<string, unknown> {
  // Pothos declares fewer members than the executor passes.
  if (args['first'] != null && args['last'] != null && isGiven('first', info as GraphQLResolveInfo))
    throw invalid('last', 'must not be given together with first', 'CONFLICTING');
  return args;
}

function isGiven(argument: string, { fieldNodes, variableValues }: GraphQLResolveInfo): boolean {
  const value = fieldNodes[0]?.arguments?.find(({ name }) => name.value === argument)?.value;
  if (value?.kind !== Kind.VARIABLE) return value !== undefined;
  return Object.hasOwn(variableValues.coerced, value.name.value);
}

function onceForAll<Types extends SchemaTypes>(mappers: readonly ArgMapper<Types>[]): ArgMapper<Types> {
  const known = new WeakMap<object, ReturnType<ArgMapper<Types>>>();
  return (args, context, info) => {
    let mapped = known.get(args);
    if (!mapped) {
      mapped = reduceMaybeAsync([...mappers], args, (given, mapper) => mapper(given, context, info));
      known.set(args, mapped);
    }
    return mapped;
  };
}

SchemaBuilder.registerPlugin('arguments', ArgumentsPlugin);
