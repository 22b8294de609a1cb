import { z } from 'zod';
import { invalid } from '../../core/errors.ts';
import { rule } from '../../core/input/validation.ts';
import type { CursorForm } from '../../core/postgres/reading/keyset.ts';

/** The cursor of events in both APIs: the id of the last event seen, in decimal digits (Workspace Management API, section 4.7). */

const PATTERN = /^\d+$/;
const RULE = 'must be the id of an event, in decimal digits';

/** The largest `bigint` of PostgreSQL. */
const MAX_ID = '9223372036854775807';
const BOUND = `must be at most ${MAX_ID}`;

export const cursorSchema = z
  .string()
  .regex(PATTERN, RULE)
  .refine((cursor) => !isTooLarge(cursor), rule('TOO_LARGE', BOUND));

/** The id in a cursor; null when no cursor is given. @throws ValidationError that names the argument. */
export function cursorId(cursor: string | null | undefined, argument: string, ofForm = RULE): number | null {
  if (cursor == null) return null;
  if (!PATTERN.test(cursor)) throw invalid(argument, ofForm, 'BAD_FORMAT');
  if (isTooLarge(cursor)) throw invalid(argument, BOUND, 'TOO_LARGE');
  return idOf(cursor);
}

/** The id in a cursor of GraphQL, where an empty one is none, as in other lists. */
export const relayCursorId = (cursor: string | number | null | undefined, argument: string): number | null =>
  cursor === '' || cursor == null ? null : cursorId(String(cursor), argument);

const AFTER_END = '.end';

/** The position of a reader of entries who knows the end of the session, too: what the end has changed has the ids of events before it. */
export const afterEnd = (id: number): string => `${id}${AFTER_END}`;

/** Reads what a stream of entries has sent as the id of a message: an event, or {@link afterEnd}. @throws as {@link cursorId} */
export function entryPosition(
  cursor: string | null | undefined,
  argument: string,
): { readonly after: number; readonly knowsEnd: boolean } | undefined {
  const knowsEnd = cursor?.endsWith(AFTER_END) === true;
  const id = knowsEnd ? cursor.slice(0, -AFTER_END.length) : cursor;
  const after = cursorId(id, argument, `${RULE}, or the id of a message of the stream`);
  return after === null ? undefined : { after, knowsEnd };
}

/** Cursors that are ids, for lists that are sorted by it. */
export const ID_CURSORS: CursorForm = {
  write: ([id]) => String(id),
  read: (cursor, argument) => [cursorId(cursor, argument)],
};

/** False for anything but digits, which break another rule. */
function isTooLarge(cursor: string): boolean {
  const [, digits = ''] = /^0*(\d*)$/.exec(cursor) ?? [];
  return digits.length > MAX_ID.length || (digits.length === MAX_ID.length && digits > MAX_ID);
}

/** Converts digits to an id. Larger ids than any stored one are all equivalent, so they are reduced to a safe integer. */
export const idOf = (digits: string): number => Math.min(Number(digits), Number.MAX_SAFE_INTEGER);
