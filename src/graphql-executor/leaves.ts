import {
  GraphQLBoolean,
  GraphQLFloat,
  GraphQLID,
  GraphQLInt,
  type GraphQLLeafType,
  GraphQLString,
  isEnumType,
} from 'graphql';
import { giveUp } from './outcome.ts';
import { silence } from './silence.ts';

/** Converts a value to its result; null for no value. */
export type Complete = (value: unknown) => unknown;

/** Completes leaf values (GraphQL, section 6.4.3). Most values are already in their final form. */
export function completeLeaf(type: GraphQLLeafType): Complete {
  const convert = (value: unknown) => {
    if (value === null || value === undefined) return null;
    checkValue(value);
    return coerce(type, value) ?? giveUp('invalid_leaf');
  };
  if (type === GraphQLString || type === GraphQLID)
    return (value) => (typeof value === 'string' ? value : convert(value));
  if (type === GraphQLBoolean) return (value) => (typeof value === 'boolean' ? value : convert(value));
  if (type === GraphQLInt)
    return (value) => (typeof value === 'number' && (value | 0) === value ? value : convert(value));
  if (type === GraphQLFloat) return (value) => (Number.isFinite(value) ? value : convert(value));
  if (!isEnumType(type)) return convert;
  // Other values, such as a function as the internal value of an enum, are not results.
  const plain = type.getValues().filter(({ value }) => /^(?:string|number|symbol)$/.test(typeof value));
  const names = new Map<unknown, string>(plain.map(({ name, value }) => [value, name]));
  return (value) => names.get(value) ?? convert(value);
}

function coerce(type: GraphQLLeafType, value: unknown): unknown {
  try {
    return type.coerceOutputValue(value);
  } catch {
    return giveUp('invalid_leaf');
  }
}

/** Gives up on functions, promises and errors. */
export function checkValue(value: unknown): void {
  if (typeof value === 'function') giveUp('function_value');
  if (typeof value !== 'object' || value === null) return;
  if (value instanceof Error) giveUp('error_value');
  if (isThenable(value)) {
    silence(value, [], {});
    giveUp('nested_promise');
  }
}

/** Without `in`, which takes much longer for objects of many shapes. */
const isThenable = (value: { readonly then?: unknown }) => typeof value.then === 'function';

/** Gives up, in addition, on values without properties. */
export function checkObject(value: unknown): void {
  checkValue(value);
  if (typeof value !== 'object') giveUp('not_an_object');
}
