import { isRepresentable } from '../text/timestamps.ts';
import { rule } from './validation.ts';
import { z } from 'zod';

const RULE =
  'must be an ISO 8601 date and time with an offset, such as 2026-03-01T10:20:30.500Z, or a UNIX timestamp in milliseconds';
const ISO = z.iso.datetime({ offset: true });
const TIMESTAMP = /^-?\d{1,15}$/;
const FORMS = [
  { type: 'string', format: 'date-time' },
  { type: 'string', pattern: TIMESTAMP.source },
  { type: 'integer', format: 'int64' },
] as const;

/**
 * A time, as ISO 8601 text with an offset or as a UNIX timestamp in milliseconds (a number, or its digits as text for query strings). Its
 * output has the format of `toISOString`.
 */
export function momentInput() {
  return z
    .union([z.string(), z.number()], RULE)
    .meta({ anyOf: [...FORMS] })
    .transform((value, context) => {
      const moment = momentOf(value);
      if (moment === undefined) context.addIssue({ code: 'custom', ...rule('BAD_FORMAT', RULE) });
      else if (!isRepresentable(Date.parse(moment))) context.addIssue('must be between the years 1 and 9999');
      return moment ?? z.NEVER;
    });
}

/** Filters by creation time, which every list has; each may be absent or null. */
export const createdBetween = {
  createdFrom: momentInput().nullish().describe('Created at this time or later.'),
  createdBefore: momentInput().nullish().describe('Created before this time.'),
};

function momentOf(value: string | number): string | undefined {
  const text = String(value);
  if (TIMESTAMP.test(text)) return new Date(Number(text)).toISOString();
  return ISO.safeParse(text).success ? new Date(text).toISOString() : undefined;
}
