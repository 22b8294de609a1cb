import { type GraphQLFieldConfig, GraphQLObjectType, GraphQLSchema } from 'graphql';

/** How the resolver of a mutation has ended; the value may be a promise. */
export type Outcome = { readonly value: unknown } | { readonly error: unknown };

/**
 * Executes a mutation with graphql-js whose resolver compiled code has already called: the mutations of `schema` return
 * recorded outcomes, and everything else is that of the original schema.
 */
export class Replay {
  readonly schema: GraphQLSchema;
  /** By the variables of the execution, of which each has its own object. */
  readonly #outcomes = new WeakMap<object, Outcome>();

  constructor(schema: GraphQLSchema) {
    const { types, ...config } = schema.toConfig();
    const original = schema.getMutationType();
    const mutation = original && this.#recorded(original);
    this.schema = new GraphQLSchema({
      ...config,
      mutation,
      types: types.filter((type) => type !== original),
      assumeValid: true,
    });
  }

  /** Makes the mutation of the execution with these variables return the outcome. */
  set(variables: object, outcome: Outcome): void {
    this.#outcomes.set(variables, outcome);
  }

  #recorded(type: GraphQLObjectType): GraphQLObjectType {
    const config = type.toConfig();
    const resolve: GraphQLFieldConfig<unknown, unknown>['resolve'] = (_source, _args, _context, { variableValues }) => {
      const outcome = this.#outcomes.get(variableValues);
      if (!outcome) throw new Error('A mutation without an outcome must be executed with the original schema.');
      if ('error' in outcome) throw outcome.error;
      return outcome.value;
    };
    const fields = Object.entries(config.fields).map(([name, field]) => [name, { ...field, resolve }]);
    return new GraphQLObjectType({ ...config, fields: Object.fromEntries(fields) });
  }
}
