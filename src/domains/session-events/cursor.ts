import { z } from 'zod';
import { invalid } from '../../core/errors.ts';

/** The cursor of events in both APIs: the id of the last event seen, in decimal digits (Workspace Management API, section 4.7). */

const PATTERN = /^\d+$/;
const RULE = 'must be the id of an event, in decimal digits';

export const cursorSchema = z.string().regex(PATTERN, RULE);

/** The id in a cursor; null when no cursor is given. @throws ValidationError that names the argument. */
export function cursorId(cursor: string | null | undefined, argument: string): number | null {
  if (cursor == null) return null;
  if (!PATTERN.test(cursor)) throw invalid(argument, RULE, 'BAD_FORMAT');
  return idOf(cursor);
}

/** The id in a cursor of GraphQL, where an empty one is none, as in other lists. */
export function relayCursorId(cursor: string | number | null | undefined, argument: string): number | null {
  return cursor === '' || cursor == null ? null : cursorId(String(cursor), argument);
}

/** Converts digits to an id. Larger ids than any stored one are all equivalent, so they are reduced to a safe integer. */
export function idOf(digits: string): number {
  return Math.min(Number(digits), Number.MAX_SAFE_INTEGER);
}
