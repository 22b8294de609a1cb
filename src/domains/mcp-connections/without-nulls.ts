import { isObject } from '../../core/is-object.ts';

/** Servers write null for what they do not have. Members and list items that are null count as absent, at any depth. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => item !== null).map(withoutNulls);
  return isObject(value) ? membersWithoutNulls(value) : value;
}

export function membersWithoutNulls(document: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(document).flatMap(([name, item]) => (item === null ? [] : [[name, withoutNulls(item)]])),
  );
}
