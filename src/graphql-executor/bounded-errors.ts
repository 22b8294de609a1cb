import {
  type ExecutionArgs,
  GraphQLError,
  type GraphQLInputType,
  getOperationAST,
  isInputObjectType,
  isInputType,
  isListType,
  isNonNullType,
  typeFromAST,
} from 'graphql';

/** Maximum number of unknown names in an input object that are reported one by one. */
const MAX_UNKNOWN_NAMES = 100;

/** graphql-js prints the value in each error of a variable, also if it has megabytes. */
const MAX_ERRORS = 10;

/**
 * Runs a function of graphql-js that coerces variables, so that errors about large values take little time: there are few, and none
 * about an input object with very many unknown names.
 */
export function withBoundedErrors<Result>(
  args: ExecutionArgs,
  run: (args: ExecutionArgs) => Result,
): Result | { readonly errors: readonly GraphQLError[] } {
  const error = wideInputError(args);
  return error ? { errors: [error] } : run({ ...args, options: { maxCoercionErrors: MAX_ERRORS, ...args.options } });
}

function wideInputError({ schema, document, operationName, variableValues }: ExecutionArgs): GraphQLError | undefined {
  const operation = getOperationAST(document, operationName);
  for (const definition of operation?.variableDefinitions ?? []) {
    const name = definition.variable.name.value;
    const type = typeFromAST(schema, definition.type);
    const wide = isInputType(type) ? wideType(type, variableValues?.[name]) : undefined;
    if (wide !== undefined) {
      const message = `Variable "$${name}" has invalid value: Expected value of type "${wide}" not to include more than ${MAX_UNKNOWN_NAMES} unknown fields.`;
      return new GraphQLError(message, { nodes: definition });
    }
  }
  return undefined;
}

/** The name of the type of an input object with too many unknown names, anywhere in the value. */
function wideType(type: GraphQLInputType, value: unknown): string | undefined {
  if (isNonNullType(type)) return wideType(type.ofType, value);
  if (typeof value !== 'object' || value === null) return undefined;
  if (isListType(type)) return firstOf(Array.isArray(value) ? value : [value], (item) => wideType(type.ofType, item));
  if (!isInputObjectType(type)) return undefined;
  const fields = type.getFields();
  const given = Object.entries(value);
  if (given.length > Object.keys(fields).length + MAX_UNKNOWN_NAMES) return type.name;
  return firstOf(given, ([name, inner]) => {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    return field && wideType(field.type, inner);
  });
}

function firstOf<Item>(items: readonly Item[], find: (item: Item) => string | undefined): string | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
