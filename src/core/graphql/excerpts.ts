import { z } from 'zod';
import { isExactNumber } from '../text/exact-json.ts';
import { builder } from './builder.ts';

/** The argument of long texts, so that a list can show the beginning of each. */
export const excerptArguments = builder.args((t) => ({
  maxLength: t.int({
    description: 'Maximum number of characters, at least 1: a longer text ends there. When absent, the text is whole.',
    validate: z.int32().min(1).nullish(),
  }),
}));

export interface ExcerptArguments {
  readonly maxLength?: number | null | undefined;
}

/** The first characters of a text, of which none is divided. */
export function excerptOf(text: string, { maxLength }: ExcerptArguments): string {
  if (maxLength == null || text.length <= maxLength) return text;
  // A character has at most two code units.
  return Array.from(text.slice(0, 2 * maxLength))
    .slice(0, maxLength)
    .join('');
}

/** JSON with the first characters of each of its texts. */
export function excerptsIn(value: unknown, args: ExcerptArguments): unknown {
  if (typeof value === 'string') return excerptOf(value, args);
  if (Array.isArray(value)) return value.map((item: unknown) => excerptsIn(item, args));
  if (!isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, excerptsIn(item, args)]));
}

/** Whether it is an object, and not a number that is kept as text. */
const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !isExactNumber(value);
