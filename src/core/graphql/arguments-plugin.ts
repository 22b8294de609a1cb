import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core';

declare global {
  namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      arguments: ArgumentsPlugin<Types>;
    }
  }
}

type ArgMapper<Types extends SchemaTypes> = PothosOutputFieldConfig<Types>['argMappers'][number];

/**
 * Validates the arguments of a field once for all its parents, which share them as one object, instead of once for each item of a list. It must
 * be the first plugin: fields are configured in the reverse order, and others add mappers.
 */
class ArgumentsPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    return { ...config, argMappers: config.argMappers.map((mapper) => once<Types>(mapper)) };
  }
}

function once<Types extends SchemaTypes>(mapper: ArgMapper<Types>): ArgMapper<Types> {
  const known = new WeakMap<object, ReturnType<ArgMapper<Types>>>();
  return (args, context, info) => {
    let mapped = known.get(args);
    if (!mapped) known.set(args, (mapped = mapper(args, context, info)));
    return mapped;
  };
}

SchemaBuilder.registerPlugin('arguments', ArgumentsPlugin);
