import { hash } from 'node:crypto';
import { z } from 'zod';
import { isObject } from '../is-object.ts';
import { isRepresentable } from '../text/timestamps.ts';
import { isUuid } from '../ids.ts';

/**
 * Global ids (Relay Global Object Identification): the name of a type and a key within it. They are encoded and decoded
 * synchronously, because every row has one.
 */

export function toGlobalId(typename: string, key: string): string {
  // Typenames and keys are ASCII; `btoa` is twice as fast as a Buffer, and every row has one.
  return btoa(`${typename}:${key}`);
}

/** A text as a part of a key, which has only ASCII and is short. */
export const keyOfText = (text: string): string => hash('sha256', text);

export function parseGlobalId(id: string): { typename: string; key: string } | undefined {
  const match = /^([A-Za-z]+):(.+)$/s.exec(Buffer.from(id.slice(0, 1000), 'base64').toString());
  return match?.[1] && match[2] ? { typename: match[1], key: match[2] } : undefined;
}

/** Filters keys that are UUIDs, because the database would refuse others. */
export const uuidsOf = (keys: readonly string[]): string[] =>
  keys.filter((key) => isUuid(key)).map((key) => key.toLowerCase());

/** Splits a key `milliseconds:uuid` into a time (milliseconds since 1970) and an id. Undefined for other text. */
export function placeFromKey(key: string): { readonly moment: string; readonly id: string } | undefined {
  const [, milliseconds = '', given = ''] = /^(-?\d{1,15}):([^:]+)$/.exec(key) ?? [];
  const [id] = uuidsOf([given]);
  const moment = Number(milliseconds);
  if (id === undefined || !isRepresentable(moment)) return undefined;
  return { moment: new Date(moment).toISOString(), id };
}

/** The key of a global id of the type, or the value unchanged: inputs accept both. */
export function keyFromId(typename: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const id = parseGlobalId(value);
  return id?.typename === typename ? id.key : value;
}

/** The same for any type. */
function keyFromAnyId(value: unknown): unknown {
  if (typeof value !== 'string' || isUuid(value)) return value;
  return parseGlobalId(value)?.key ?? value;
}

/** The types of the union `Actor`, one of which `Actor` is among the types of inputs. */
const ACTORS = ['User', 'ServiceAccount'];

/** Replaces global ids of the given types by plain ids in these fields, which have one id or a list. `Node` is any type. */
export function withPlainIds(value: unknown, types: Readonly<Record<string, string>>): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, given]: [string, unknown]) => [key, plainIdOf(types[key], given)]),
  );
}

function plainIdOf(type: string | undefined, given: unknown): unknown {
  if (type === undefined) return given;
  const types = type === 'Actor' ? ACTORS : [type];
  const keyOf = (id: unknown) =>
    type === 'Node' ? keyFromAnyId(id) : types.reduce((key, each) => keyFromId(each, key), id);
  return Array.isArray(given) ? given.map(keyOf) : keyOf(given);
}

/** Makes a schema accept global ids in these fields, too. */
export const acceptingIds = <Schema extends z.core.$ZodType>(schema: Schema, types: Readonly<Record<string, string>>) =>
  z.unknown().transform((value, context): z.output<Schema> => {
    const parsed = z.safeParse(schema, withPlainIds(value, types), { reportInput: true });
    if (parsed.success) return parsed.data;
    for (const issue of parsed.error.issues) {
      const message = idMessage(types, issue.path.map(String)) ?? issue.message;
      const isId = issue.code === 'invalid_format' && issue.format === 'uuid';
      // An issue with its input is a raw issue; the types differ in the input.
      context.issues.push({ ...issue, ...(isId && { message }) } as z.core.$ZodRawIssue);
    }
    return z.NEVER;
  });

/** The message for a value that is no id, in a field, or in a list in a field; undefined if the field takes no ids. */
export function idMessage(
  types: Readonly<Record<string, string>>,
  [field = '', item = '0', ...more]: readonly string[],
): string | undefined {
  const type = types[field];
  if (type === undefined || more.length > 0 || !/^\d+$/.test(item)) return undefined;
  if (type === 'Node') return 'must be an id';
  return `must be an id of the type ${type === 'Actor' ? ACTORS.join(' or ') : type}`;
}
