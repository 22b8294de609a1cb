import type { EnumRef } from '@pothos/core';
import { enumName } from '../text/wording.ts';
import { type SchemaTypes, builder } from './builder.ts';

type Types = PothosSchemaTypes.ExtendDefaultTypes<SchemaTypes>;

/** The enumeration types by their values, so that inputs with the same values find their type. */
const byValues = new Map<string, EnumRef<Types, string>>();

const keyOf = (values: readonly string[]) => values.toSorted().join('\n');

/** Defines an enumeration of values that REST spells differently: `inProgress` is `IN_PROGRESS`, `PullRequest` is `PULL_REQUEST`. */
export function enumOf<const Value extends string>(
  name: string,
  description: string,
  values: readonly Value[],
  meanings: Readonly<Record<Value, string>> | ((value: Value) => string),
) {
  const same = enumWith(values);
  if (same) throw new Error(`${name} and ${same.name} have the same values; use one of them`);
  const describe = (value: Value) => (typeof meanings === 'function' ? meanings(value) : meanings[value]);
  const type = builder.enumType(name, {
    description,
    values: Object.fromEntries(values.map((value) => [enumName(value), { value, description: describe(value) }])),
  });
  byValues.set(keyOf(values), type);
  return type;
}

/** The enumeration with these values; undefined if there is none. */
export const enumWith = (values: readonly string[]): EnumRef<Types, string> | undefined => byValues.get(keyOf(values));

/** The values of an enumeration, which are the names of their descriptions. */
export const describedValues = <Value extends string>(descriptions: Readonly<Record<Value, string>>) =>
  Object.fromEntries(
    Object.entries<string>(descriptions).map(([value, description]) => [value, { description }]),
  ) as Record<Value, { description: string }>;
