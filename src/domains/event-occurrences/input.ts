import { z } from 'zod';
import { momentInput } from '../../core/moment-input.ts';
import { optional, rule, text } from '../../core/validation.ts';

/** Occurrences of one request. */
export const MAX_OCCURRENCES = 500;
/** Days of one request for counts per day. */
export const MAX_DAYS = 366;

const objectId = text({ min: 1, max: 255 });

/**
 * Values by property name; `null` is the same as absent. The definition decides which names and values are valid. This is not a `z.record`,
 * because that ignores `__proto__` instead of refusing it as an unknown name.
 */
const properties = z
  .unknown()
  .superRefine((value, context) => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return;
    const fault =
      value == null ? rule('REQUIRED', 'is required; it may be {}') : rule('WRONG_TYPE', 'must be an object');
    context.addIssue({ code: 'custom', ...fault });
  })
  .transform((value) => value as Readonly<Record<string, unknown>>)
  .meta({ type: 'object', additionalProperties: { type: ['string', 'number', 'boolean', 'null'] } });

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** One occurrence. The primary object of its definition decides which of `email`, `utk` and `objectId` it needs or must not have. */
export const sendEventOccurrenceInput = z.strictObject({
  eventName: z.string().min(1, 'must not be empty').max(255, 'must be at most 255 characters'),
  properties,
  /** Address of a contact. Case is ignored. */
  email: optional(
    z
      .email('must be an e-mail address')
      .max(254)
      .transform((value) => value.toLowerCase()),
  ),
  /** Token of a visitor, for contacts whose address is not known. */
  utk: optional(text({ min: 1, max: 255 })),
  objectId: optional(objectId),
  occurredAt: optional(momentInput()),
  /**
   * Deduplication key: a repeat for the same definition within a year is ignored, so that a retry is harmless. UUIDs are compared without
   * case (RFC 9562), other texts exactly.
   */
  uuid: optional(text({ min: 1, max: 255 }).transform((value) => (UUID.test(value) ? value.toLowerCase() : value))),
});
export type SendEventOccurrenceInput = z.output<typeof sendEventOccurrenceInput>;

/** All are accepted or none. */
export const sendEventOccurrencesInput = z.strictObject({
  inputs: z.array(sendEventOccurrenceInput).min(1).max(MAX_OCCURRENCES),
});
export type SendEventOccurrencesInput = z.output<typeof sendEventOccurrencesInput>;

/** Conditions for listing or counting occurrences. All that are given must be met. */
export const eventOccurrenceFilter = z.strictObject({
  objectId: objectId.nullish(),
  email: z.string().max(254, 'must be at most 254 characters').toLowerCase().nullish(),
  occurredFrom: momentInput().nullish(),
  occurredBefore: momentInput().nullish(),
});
export type EventOccurrenceFilter = z.output<typeof eventOccurrenceFilter>;

/** PostgreSQL has no year 0. */
const day = z.iso.date().refine((value) => !value.startsWith('0000'), 'must be from the year 1 to 9999');

export const occurrenceDaysInput = z.strictObject({ from: day.nullish(), until: day.nullish() });
export type OccurrenceDaysInput = z.output<typeof occurrenceDaysInput>;
