import { DAY_MS, isRepresentable } from '../../core/text/timestamps.ts';
import { type InputFault, type InputFaultCode } from '../../core/errors.ts';
import { NOT_IN_SECONDS, isInSeconds } from '../../core/input/moments.ts';
import { scalarAsText } from '../../core/input/tolerant.ts';
import { NOT_STORABLE, isLongerThan, isStorable } from '../../core/input/validation.ts';
import type { EventProperty } from '../event-definitions/public.ts';

/** The part of a property that decides which values are valid. */
export type CheckedProperty = Pick<EventProperty, 'name' | 'type'> & {
  readonly options: readonly { readonly value: string }[];
};

/** The stored form of a value: a `date` is `YYYY-MM-DD`, a `datetime` is ISO 8601 in UTC with milliseconds. */
export type PropertyValue = string | number | boolean;

/** A valid value in its stored form, or the fault of an invalid value. */
export type CheckedValue = { readonly value: PropertyValue } | { readonly fault: Omit<InputFault, 'path'> };

const DAY = /^\d{4}-\d\d-\d\d$/;
const MOMENT =
  /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
const TIMESTAMP = /^-?\d{1,15}$/;
const NUMBER = /^-?\d+(?:\.\d)?$/;
const MORE_DECIMALS = /^-?\d+\.\d{2,}$/;
/** Number of digits that a floating-point number can store exactly. */
const MAX_DIGITS = 15;

const SHORT_TEXT = 256;
const LONG_TEXT = 1024;
const LONG_TEXT_NAME = /url|referrer|link/;

/**
 * Checks a value of an occurrence against the type of its property (Custom Event Definition API, sections 2.2 and 8):
 * - `bool`: `true` or `false`, also as a string in any case;
 * - `number`: at most 15 digits, at most one of them a decimal, also as a string;
 * - `date`: `YYYY-MM-DD`, or a time exactly at midnight UTC. A time is ISO 8601 with `Z` or an offset, or a UNIX timestamp in milliseconds,
 *   also as a string;
 * - `datetime`: a time, or `YYYY-MM-DD` for midnight UTC of that day. Both types accept the years 1 to 9999;
 * - `enumeration`: the value of one of the options, also as a number or boolean with that text;
 * - `string`: text, or a number or boolean for its text, of at most 256 characters, 1,024 when the property's name contains `url`, `referrer` or `link`.
 */
export const checkValue = (property: CheckedProperty, value: unknown): CheckedValue =>
  CHECKS[property.type](value, property);

const CHECKS: Readonly<Record<CheckedProperty['type'], (value: unknown, property: CheckedProperty) => CheckedValue>> = {
  bool: checkBool,
  number: checkNumber,
  date: checkDate,
  datetime: checkDateTime,
  enumeration: checkOption,
  string: checkText,
};

function checkBool(value: unknown): CheckedValue {
  if (typeof value === 'boolean') return { value };
  return typeof value === 'string' && /^(?:true|false)$/i.test(value)
    ? { value: value.toLowerCase() === 'true' }
    : broken('WRONG_TYPE', 'must be true or false');
}

function checkNumber(value: unknown): CheckedValue {
  // A number is checked in its shortest decimal notation. Very large and very small numbers have an exponent there and are refused.
  const written = typeof value === 'number' ? String(value) : value;
  if (typeof written === 'string' && NUMBER.test(written) && digitsOf(written) <= MAX_DIGITS)
    return { value: Number(written) };
  const advice =
    typeof written === 'string' && MORE_DECIMALS.test(written) ? '; round it, or use a string property' : '';
  return broken('BAD_FORMAT', `must be a number with at most one decimal and ${MAX_DIGITS} digits${advice}`);
}

const digitsOf = (written: string): number => written.replace(/^-?0*/, '').replace('.', '').length;

function checkDate(value: unknown): CheckedValue {
  const fault = 'must be a day as YYYY-MM-DD, or midnight UTC as an ISO 8601 time or a UNIX timestamp in milliseconds';
  const moment = momentOf(value);
  if (isTimestampInSeconds(value)) return broken('BAD_FORMAT', NOT_IN_SECONDS);
  return moment === undefined || moment % DAY_MS !== 0
    ? broken('BAD_FORMAT', fault)
    : { value: new Date(moment).toISOString().slice(0, 10) };
}

function checkDateTime(value: unknown): CheckedValue {
  const fault = 'must be an ISO 8601 time with Z or an offset, or a UNIX timestamp in milliseconds';
  const moment = momentOf(value);
  if (isTimestampInSeconds(value)) return broken('BAD_FORMAT', NOT_IN_SECONDS);
  return moment === undefined ? broken('BAD_FORMAT', fault) : { value: new Date(moment).toISOString() };
}

const isTimestampInSeconds = (value: unknown): boolean =>
  (typeof value === 'number' || typeof value === 'string') && isInSeconds(value);

/** Milliseconds since 1970; undefined when the value is not a time. A day means midnight UTC of that day. */
function momentOf(value: unknown): number | undefined {
  const moment = typeof value === 'string' ? parseMoment(value) : value;
  return typeof moment === 'number' && Number.isInteger(moment) && isRepresentable(moment) ? moment : undefined;
}

function parseMoment(written: string): number | undefined {
  if (TIMESTAMP.test(written)) return Number(written);
  const day = DAY.test(written) ? written : MOMENT.exec(written)?.[1];
  // `Date.parse` accepts 30 February and returns 2 March.
  if (day === undefined || !isDay(day)) return undefined;
  return Date.parse(written);
}

function isDay(day: string): boolean {
  const midnight = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
}

function checkOption(given: unknown, { options }: CheckedProperty): CheckedValue {
  const value = scalarAsText(given);
  if (typeof value === 'string' && valuesOf(options).has(value)) return { value };
  return broken('NOT_ALLOWED', `must be one of ${listed(options)}`);
}

type Options = CheckedProperty['options'];

/** The values of options, which do not change while their definition is shared. An enumeration can have thousands. */
const VALUES = new WeakMap<Options, ReadonlySet<string>>();

function valuesOf(options: Options): ReadonlySet<string> {
  let values = VALUES.get(options);
  if (!values) VALUES.set(options, (values = new Set(options.map(({ value }) => value))));
  return values;
}

/** Lists only the first options, because an enumeration can have thousands. */
function listed(options: Options): string {
  const shown = options
    .slice(0, 10)
    .map(({ value }) => JSON.stringify(value))
    .join(', ');
  return options.length > 10 ? `${shown} and ${options.length - 10} more` : shown;
}

/** Maximum length of a `string`, which depends on the name of the property. */
export const maxTextLength = (propertyName: string): number =>
  LONG_TEXT_NAME.test(propertyName) ? LONG_TEXT : SHORT_TEXT;

function checkText(given: unknown, { name }: CheckedProperty): CheckedValue {
  const value = scalarAsText(given);
  const max = maxTextLength(name);
  if (typeof value !== 'string') return broken('WRONG_TYPE', 'must be a string');
  if (isLongerThan(value, max)) return broken('TOO_LONG', `must be at most ${max} characters`, max);
  return isStorable(value) ? { value } : broken('BAD_FORMAT', NOT_STORABLE);
}

const broken = (code: InputFaultCode, message: string, limit?: number): CheckedValue => ({
  fault: { code, message, limit },
});
