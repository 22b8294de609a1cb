import { z } from 'zod';
import { invalid } from '../../core/errors.ts';

/** A cursor of events, in both APIs and in every form: the id of the last event seen, as decimal digits (section 4.7). */

const PATTERN = /^\d+$/;
const RULE = 'must be the id of an event: digits alone';

export const cursorSchema = z.string().regex(PATTERN, RULE);

/** The id that a cursor names; null where none is given. @throws ValidationError naming the argument. */
export function cursorId(cursor: string | null | undefined, argument: string): number | null {
  if (cursor == null) return null;
  if (!PATTERN.test(cursor)) throw invalid(argument, RULE, 'BAD_FORMAT');
  return idOf(cursor);
}

/** The id that digits name: beyond all that is stored, one number is like another. */
export function idOf(digits: string): number {
  return Math.min(Number(digits), Number.MAX_SAFE_INTEGER);
}
