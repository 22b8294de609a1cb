import { z } from 'zod';
import { optional, text } from '../../core/validation.ts';

/** Occurrences of one call. */
export const MAX_OCCURRENCES = 500;
export const MAX_IDENTIFIERS = 1000;
/** Days that can be counted at once. */
export const MAX_DAYS = 366;

const objectId = text({ min: 1, max: 255 });

/**
 * A value for each property that the occurrence has; a `null` is a value that it has not. Whether names and values fit is decided by the
 * definition. Not a `z.record`, which would pass over `__proto__` in silence instead of refusing it like any unknown name.
 */
const properties = z
  .unknown()
  .refine((value) => typeof value === 'object' && value !== null && !Array.isArray(value), {
    error: ({ input }) => (input == null ? 'is required; it may be {}' : 'must be an object'),
  })
  .transform((value) => value as Readonly<Record<string, unknown>>)
  .meta({ type: 'object', additionalProperties: { type: ['string', 'number', 'boolean', 'null'] } });

/** As `toISOString` writes it; PostgreSQL knows no year 0. */
const moment = z.iso
  .datetime({
    offset: true,
    error: 'must be an ISO 8601 date and time with its offset, such as 2026-03-01T10:20:30.500Z',
  })
  .transform((value) => new Date(value).toISOString())
  .refine((value) => /^(?!0000)\d{4}-/.test(value), 'must be from the year 1 to 9999');

/**
 * One occurrence. Which of `email`, `utk` and `objectId` it needs, or must not have, depends on the definition's primary object. A `uuid`
 * counts once per definition within a year: what comes with it again is dropped in silence, so that a retry is harmless.
 */
export const sendEventOccurrenceInput = z.strictObject({
  eventName: z.string().min(1, 'must not be empty').max(255, 'must be at most 255 characters'),
  properties,
  /** Of a contact; compared without case. */
  email: optional(
    z
      .email('must be an e-mail address')
      .max(254)
      .transform((value) => value.toLowerCase()),
  ),
  /** A visitor's token, for contacts whose address is not known yet. */
  utk: optional(text({ min: 1, max: 255 })),
  objectId: optional(objectId),
  occurredAt: optional(moment),
  uuid: optional(z.uuid().toLowerCase()),
});
export type SendEventOccurrenceInput = z.output<typeof sendEventOccurrenceInput>;

/** All are taken or none. */
export const sendEventOccurrencesInput = z.strictObject({
  inputs: z.array(sendEventOccurrenceInput).min(1).max(MAX_OCCURRENCES),
});
export type SendEventOccurrencesInput = z.output<typeof sendEventOccurrencesInput>;

const identifier = z.strictObject({ value: text({ min: 1, max: 500 }), objectId });

/** Values of a unique property, and the records that have them: what custom matching looks up. */
export const registerObjectIdentifiersInput = z.strictObject({
  objectType: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9_]{0,99}$/, 'must be a letter, then at most 99 letters, digits or underscores')
    .refine((value) => value !== 'NO_OBJECT', 'must be an object that has records, which NO_OBJECT has not'),
  propertyName: text({ min: 1, max: 255 }),
  identifiers: z
    .array(identifier)
    .min(1)
    .max(MAX_IDENTIFIERS)
    .refine((list) => new Set(list.map(({ value }) => value)).size === list.length, {
      error: 'must have values that differ from each other',
      when: ({ issues }) => issues.length === 0,
    }),
});
export type RegisterObjectIdentifiersInput = z.output<typeof registerObjectIdentifiersInput>;

/** Which occurrences of a definition to list or count; each absent, null, or given. */
export const eventOccurrenceFilter = z.strictObject({
  objectId: objectId.nullish(),
  email: z.string().max(254, 'must be at most 254 characters').toLowerCase().nullish(),
  occurredFrom: moment.nullish(),
  occurredBefore: moment.nullish(),
});
export type EventOccurrenceFilter = z.output<typeof eventOccurrenceFilter>;

export const occurrenceDaysInput = z.strictObject({ from: moment.nullish(), until: moment.nullish() });
export type OccurrenceDaysInput = z.output<typeof occurrenceDaysInput>;
