import {
  type ExecutionArgs,
  GraphQLError,
  type GraphQLInputType,
  getOperationAST,
  isEnumType,
  isInputObjectType,
  isInputType,
  isListType,
  isNonNullType,
  typeFromAST,
} from 'graphql';

/** Bounds of the values of variables, because the time for checking them grows with their members. Custom scalars are not bounded. */
export interface InputBounds {
  /** Properties of an input object, known or not. */
  readonly properties: number;
  /** Characters of the name of a property, and of an enum value: graphql-js looks for a known one that is similar. */
  readonly nameCharacters: number;
  /** Items of a list. */
  readonly items: number;
}

/** graphql-js prints the value in each error of a variable, also if it has megabytes. */
const MAX_ERRORS = 10;

/**
 * Runs a function of graphql-js that coerces variables, so that it takes little time for large values: there are few errors, and it is not
 * called for a value beyond the bounds.
 */
export function withBoundedErrors<Result>(
  args: ExecutionArgs,
  run: (args: ExecutionArgs) => Result,
  bounds: InputBounds,
): Result | { readonly errors: readonly GraphQLError[] } {
  const error = boundError(args, bounds);
  return error ? { errors: [error] } : run({ ...args, options: { maxCoercionErrors: MAX_ERRORS, ...args.options } });
}

function boundError(
  { schema, document, operationName, variableValues }: ExecutionArgs,
  bounds: InputBounds,
): GraphQLError | undefined {
  const operation = getOperationAST(document, operationName);
  for (const definition of operation?.variableDefinitions ?? []) {
    const name = definition.variable.name.value;
    const type = typeFromAST(schema, definition.type);
    const excess = isInputType(type) ? excessIn(type, variableValues?.[name], bounds) : undefined;
    if (excess) {
      const place = ['', ...excess.path].join('.');
      const message = `Variable "$${name}" has invalid value${place && ` at ${place}`}: must have at most ${excess.bound}.`;
      return new GraphQLError(message, { nodes: definition });
    }
  }
  return undefined;
}

interface Excess {
  readonly bound: string;
  readonly path: readonly (string | number)[];
}

/** The first value that is beyond a bound. */
function excessIn(type: GraphQLInputType, value: unknown, bounds: InputBounds): Excess | undefined {
  if (isNonNullType(type)) return excessIn(type.ofType, value, bounds);
  if (isEnumType(type) && textLength(value) > bounds.nameCharacters)
    return { bound: `${bounds.nameCharacters} characters`, path: [] };
  if (typeof value !== 'object' || value === null) return undefined;
  if (isListType(type)) {
    // A single value counts as a list with one item.
    if (!Array.isArray(value)) return excessIn(type.ofType, value, bounds);
    if (value.length > bounds.items) return { bound: `${bounds.items} items`, path: [] };
    return firstOf(value.entries(), (item: unknown) => excessIn(type.ofType, item, bounds));
  }
  if (!isInputObjectType(type)) return undefined;
  const given = Object.entries(value);
  if (given.length > bounds.properties) return { bound: `${bounds.properties} properties`, path: [] };
  if (given.some(([name]) => name.length > bounds.nameCharacters))
    return { bound: `${bounds.nameCharacters} characters in the name of a property`, path: [] };
  const fields = type.getFields();
  return firstOf(given, (member, name) => {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    return field && excessIn(field.type, member, bounds);
  });
}

const textLength = (value: unknown): number =>
  typeof value === 'string' ? value.length : (JSON.stringify(value) ?? '').length;

function firstOf<Key extends string | number>(
  entries: Iterable<[Key, unknown]>,
  find: (value: unknown, key: Key) => Excess | undefined,
): Excess | undefined {
  for (const [key, value] of entries) {
    const found = find(value, key);
    if (found) return { ...found, path: [key, ...found.path] };
  }
  return undefined;
}
