import { isRepresentable } from '../text/timestamps.ts';
import { rule } from './validation.ts';
import { z } from 'zod';

const RULE =
  'must be an ISO 8601 date and time with an offset, such as 2026-03-01T10:20:30.500Z, or a UNIX timestamp in milliseconds';
/** Seconds since 1970 in the years 2000 to 2099. As milliseconds they are moments of early 1970, which no client means. */
const SECONDS = { from: Date.UTC(2000) / 1000, before: Date.UTC(2100) / 1000 };
export const NOT_IN_SECONDS = 'must be in milliseconds: this UNIX timestamp is in seconds';
/** An offset whose plus was decoded as a space. */
const WITH_SPACE = /^\d{4}-\d\d-\d\dT[\d:.]+ \d\d:\d\d$/;
const NOT_ENCODED = 'must be an ISO 8601 date and time; in a query the + of its offset is sent as %2B';
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
      if (isInSeconds(value)) context.addIssue({ code: 'custom', ...rule('BAD_FORMAT', NOT_IN_SECONDS) });
      else if (moment === undefined)
        context.addIssue({
          code: 'custom',
          ...rule('BAD_FORMAT', WITH_SPACE.test(String(value)) ? NOT_ENCODED : RULE),
        });
      else if (!isRepresentable(Date.parse(moment))) context.addIssue('must be between the years 1 and 9999');
      return moment ?? z.NEVER;
    });
}

const DAY = /^\d{4}-\d\d-\d\d$/;

/** The same, or a day (UTC), which means its first moment. */
export function dayOrMomentInput() {
  return z.preprocess(
    (value) => (typeof value === 'string' && DAY.test(value) ? `${value}T00:00:00.000Z` : value),
    momentInput(),
  );
}

/** The time of something that has been recorded. An earlier one comes from a clock that is not set, or from another unit. */
export function recentMomentInput() {
  return momentInput().refine(
    (moment) => Date.parse(moment) >= Date.UTC(2000),
    rule('BAD_FORMAT', 'must be in the year 2000 or later; a UNIX timestamp is in milliseconds, not in seconds'),
  );
}

/** Whether a timestamp is one in seconds. Years before 2000 can be meant, such as that of a birthday. */
export function isInSeconds(timestamp: string | number): boolean {
  const number = Number(timestamp);
  return number >= SECONDS.from && number < SECONDS.before;
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
