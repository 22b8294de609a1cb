import { z } from 'zod';
import { isObject } from '../../../core/is-object.ts';
import { rule, text } from '../../../core/input/validation.ts';
import { type JsonObject, listOf } from './format.ts';
import { SPEAKING_ROLES, TABLE_ROLES, type TableRole } from './names.ts';

/** The table with which a caller says what the members of an unknown agent's JSON lines mean. */

export interface TableEntry {
  /** The names of the member and of those that contain it. */
  readonly path: readonly string[];
  /** When given, the entry is for lines in which the member has this value. */
  readonly value?: string;
  readonly role: TableRole;
}

const MAX_TABLE = 2000;
const MAX_ENTRIES = 50;
const IS_ENTRY = 'each entry must be MEMBER=ROLE or MEMBER:VALUE=ROLE';
const IS_ROLE = `ROLE must be one of ${TABLE_ROLES.join(', ')}`;
const IS_SPEAKER = `after a value, ROLE must be one of ${SPEAKING_ROLES.join(', ')}`;

/** `from:human=user,body.text=text`. Names can be percent-encoded. */
export const memberTable = text({ max: MAX_TABLE })
  .transform((table) => table.split(',').map((entry) => entry.trim()))
  .refine((entries) => entries.length <= MAX_ENTRIES, `must have at most ${MAX_ENTRIES} entries`)
  .transform((entries, context) =>
    entries.map((entry) => {
      const parsed = entryIn(entry);
      if (typeof parsed === 'object') return parsed;
      context.addIssue({
        code: 'custom',
        ...rule('BAD_FORMAT', `${parsed}, not ${JSON.stringify(entry.slice(0, 100))}`),
      });
      return z.NEVER;
    }),
  );

/** @returns what is wrong if it is none */
function entryIn(entry: string): TableEntry | string {
  const [, member = '', value, name = ''] = /^([^=:]+)(?::([^=]+))?=([^=]+)$/.exec(entry) ?? [];
  if (member === '') return IS_ENTRY;
  const role = TABLE_ROLES.find((each) => each === name.trim());
  if (role === undefined) return IS_ROLE;
  if (value !== undefined && !SPEAKING_ROLES.some((each) => each === role)) return IS_SPEAKER;
  const path = member.trim().split('.').map(decoded);
  return { path, role, ...(value !== undefined && { value: decoded(value.trim()) }) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The values of a member. Within a list, each item is looked at. @throws RangeError like `listOf` */
export function valuesAt(line: JsonObject, path: readonly string[]): readonly unknown[] {
  let found: readonly unknown[] = [line];
  for (const name of path)
    found = found.flatMap((value) =>
      (Array.isArray(value) ? (value as readonly unknown[]) : [value]).flatMap((each) =>
        isObject(each) && Object.hasOwn(each, name) ? [each[name]] : [],
      ),
    );
  return listOf(found).filter((value) => value !== null && value !== undefined);
}
