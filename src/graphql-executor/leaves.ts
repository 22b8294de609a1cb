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
import { silence } from './unread-rejections.ts';

/** An execution, as leaves use it. */
export interface Measured {
  /** Approximate length of the data so far as JSON. */
  size: number;
  /** Returns the length as JSON of an object that a custom scalar serializes to. */
  readonly sizeOf: (value: object) => number;
}

/** Converts a value to its result, null for no value, and adds the length of the result to the size. */
export type Complete = (value: unknown, execution: Measured) => unknown;

/** Completes leaf values (GraphQL, section 6.4.3). Most values are already in their final form. */
export function completeLeaf(type: GraphQLLeafType): Complete {
  const convert: Complete = (value, execution) =>
    value === null || value === undefined ? null : measured(coerced(type, value), execution);
  if (type === GraphQLString || type === GraphQLID)
    return (value, execution) =>
      typeof value === 'string' ? measuredText(value, execution) : convert(value, execution);
  if (type === GraphQLBoolean)
    return (value, execution) => (typeof value === 'boolean' ? value : convert(value, execution));
  if (type === GraphQLInt)
    return (value, execution) =>
      typeof value === 'number' && (value | 0) === value ? value : convert(value, execution);
  if (type === GraphQLFloat) return (value, execution) => (Number.isFinite(value) ? value : convert(value, execution));
  if (!isEnumType(type)) return convert;
  // Other values, such as a function as the internal value of an enum, are not results.
  const plain = type.getValues().filter(({ value }) => /^(?:string|number|symbol)$/.test(typeof value));
  const names = new Map<unknown, string>(plain.map(({ name, value }) => [value, name]));
  return (value, execution) => {
    const name = names.get(value);
    return name === undefined ? convert(value, execution) : measuredText(name, execution);
  };
}

function measuredText(text: string, execution: Measured): string {
  execution.size += text.length + 2;
  return text;
}

function measured(value: unknown, execution: Measured): unknown {
  if (typeof value === 'string') return measuredText(value, execution);
  if (typeof value === 'object' && value !== null) execution.size += execution.sizeOf(value);
  return value;
}

function coerced(type: GraphQLLeafType, value: unknown): unknown {
  checkValue(value);
  try {
    return type.coerceOutputValue(value) ?? giveUp('invalid_leaf');
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
