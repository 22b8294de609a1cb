import { z } from 'zod';
import { isObject } from '../../core/is-object.ts';
import { momentInput } from '../../core/input/moments.ts';
import { idOrInteger, textOrAbsent } from '../../core/input/tolerant.ts';
import { optional, rule, text, emailAddress } from '../../core/input/validation.ts';

/** Maximum number of occurrences in one request. */
export const MAX_OCCURRENCES = 500;
/** Maximum number of properties of an occurrence. A definition has fewer. */
export const MAX_PROPERTIES = 500;
/** Maximum number of days in one request for counts per day. */
export const MAX_DAYS = 366;

/**
 * Values by property name; `null` is the same as absent, and so is an absent object. The definition decides which
 * names and values are valid. At most 500 names. `z.record` cannot be used, because it ignores `__proto__` instead of refusing it.
 */
const properties = z
  .unknown()
  .optional()
  .transform((value, context): Readonly<Record<string, unknown>> => {
    if (value == null) return {};
    if (isObject(value)) {
      if (Object.keys(value).length <= MAX_PROPERTIES) return value;
      context.addIssue({
        code: 'custom',
        ...rule('TOO_MANY', `must have at most ${MAX_PROPERTIES} names`, MAX_PROPERTIES),
      });
      return z.NEVER;
    }
    context.addIssue({ code: 'custom', ...rule('WRONG_TYPE', 'must be an object') });
    return z.NEVER;
  })
  .meta({
    type: 'object',
    additionalProperties: { type: ['string', 'number', 'boolean', 'null'] },
    description: 'Values by property name, at most 500. Null is the same as absent.',
  });

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** One occurrence. The primary object of its definition decides which of `email`, `utk` and `objectId` are required or refused. */
export const sendEventOccurrenceInput = z.strictObject({
  eventName: z
    .string()
    .min(1, 'must not be empty')
    .max(255)
    .describe('Name, fully qualified name, or id of the event definition.'),
  properties,
  /** E-mail address of a contact. Case is ignored. */
  email: optional(
    z.union([emailAddress(), z.literal('')], 'must be an e-mail address').transform(textOrAbsent),
  ).describe('E-mail address of the contact.'),
  /** Token of a visitor, for a contact whose e-mail address is unknown. */
  utk: optional(text({ max: 255 }).transform(textOrAbsent)).describe('Token of a visitor whose address is unknown.'),
  objectId: optional(idOrInteger(text({ max: 255 })).transform(textOrAbsent)).describe('Id of the record.'),
  occurredAt: optional(momentInput()).describe(
    'When the event occurred: ISO 8601, or milliseconds since 1970. When absent, now.',
  ),
  /**
   * Deduplication key: a repeat for the same definition within a year is ignored, so that a client can retry. UUIDs are
   * compared without case (RFC 9562), other texts exactly.
   */
  uuid: optional(
    text({ min: 1, max: 255 }).transform((value) => (UUID.test(value) ? value.toLowerCase() : value)),
  ).describe('Deduplication key: a repeat for the same definition within a year is ignored.'),
});
export type SendEventOccurrenceInput = z.output<typeof sendEventOccurrenceInput>;

/** Either all occurrences are accepted or none. */
export const sendEventOccurrencesInput = z.strictObject({
  inputs: z.array(sendEventOccurrenceInput).min(1).max(MAX_OCCURRENCES).describe('The occurrences.'),
});
export type SendEventOccurrencesInput = z.output<typeof sendEventOccurrencesInput>;

/** Conditions on a list or a count of occurrences. All that are given must be met. */
export const eventOccurrenceFilter = z.strictObject({
  objectId: text({ min: 1, max: 255 }).nullish(),
  email: z.string().max(254).toLowerCase().nullish(),
  occurredFrom: momentInput().nullish(),
  occurredBefore: momentInput().nullish(),
});
export type EventOccurrenceFilter = z.output<typeof eventOccurrenceFilter>;

/** PostgreSQL has no year 0. */
const day = z.iso.date().refine((value) => !value.startsWith('0000'), 'must be between the years 1 and 9999');

export const occurrenceDaysInput = z.strictObject({ from: day.nullish(), until: day.nullish() });
export type OccurrenceDaysInput = z.output<typeof occurrenceDaysInput>;
