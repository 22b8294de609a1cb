import { z } from 'zod';
import { isObject } from '../../core/is-object.ts';
import { keysOf } from '../../core/keys-of.ts';
import { momentInput, recentMomentInput } from '../../core/input/moments.ts';
import { idOrInteger, textOrAbsent } from '../../core/input/tolerant.ts';
import { emailAddress, optional, rule, text } from '../../core/input/validation.ts';
import { objectId, objectType } from './identifier-input.ts';
import { INPUT_FAULT_CODES, type InputFaultCode } from '../../core/errors.ts';

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
    // PHP writes an empty map as an empty list.
    if (value == null || (Array.isArray(value) && value.length === 0)) return {};
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
    description:
      'Values by property name, at most 500. Each must have the type of its property; numbers and booleans can also be text. Null is the same as absent. A name with the prefix `hs_` means the default property with the prefix `svc_`.',
  });

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** One occurrence. The primary object of its definition decides which of `email`, `utk` and `objectId` are required or refused. */
export const sendEventOccurrenceInput = z
  .strictObject({
    eventName: z
      .string()
      .min(1, 'must not be empty')
      .max(255)
      .describe('Name, fully qualified name, or id of the event definition.'),
    properties,
    /** E-mail address of a contact. Case is ignored. */
    email: optional(
      z.union([emailAddress(), z.literal('')], 'must be an e-mail address').transform(textOrAbsent),
    ).describe('E-mail address of the contact, at most 254 characters; only for the primary object `CONTACT`.'),
    /** Token of a visitor, for a contact whose e-mail address is unknown. */
    utk: optional(text({ max: 255 }).transform(textOrAbsent)).describe(
      'Token of a visitor whose address is unknown; only for the primary object `CONTACT`.',
    ),
    objectId: optional(idOrInteger(text({ max: 255 })).transform(textOrAbsent)).describe(
      'Id of the record, at most 255 characters. Unless the definition has a custom matching id, `CONTACT` requires one of `email`, `utk` and `objectId`, and other objects require `objectId`. Not allowed for `NO_OBJECT`.',
    ),
    occurredAt: optional(recentMomentInput()).describe(
      'When the event occurred: in the year 2000 or later. When absent, now.',
    ),
    /**
     * Deduplication key: a repeat for the same definition within a year is ignored, so that a client can retry. UUIDs are
     * compared without case (RFC 9562), other texts exactly.
     */
    uuid: optional(
      text({ min: 1, max: 255 }).transform((value) => (UUID.test(value) ? value.toLowerCase() : value)),
    ).describe('Deduplication key: a repeat for the same definition within a year is ignored.'),
  })
  .describe('One occurrence to send.');
export type SendEventOccurrenceInput = z.output<typeof sendEventOccurrenceInput>;

/** Either all occurrences are accepted or none. */
export const sendEventOccurrencesInput = z.strictObject({
  inputs: z.array(sendEventOccurrenceInput).min(1).max(MAX_OCCURRENCES).describe('The occurrences.'),
});

/** Maximum number of conditions on property values. */
const MAX_CONDITIONS = 20;

export const propertyCondition = z
  .strictObject({
    name: text({ min: 1, max: 255 }).describe('Name of the property.'),
    value: text({ max: 1024 }).describe('The value as text: `99.5`, `true`, `2026-03-01`.'),
  })
  .describe('A condition on the value of a property of an occurrence. Values are compared exactly.');

/** Why custom matching has linked an occurrence to no record, with the meaning of each reason. */
export const UNMATCHED_REASONS = {
  NO_VALUE: 'It has no value of the property by which records are found, and no other identifier.',
  NOT_REGISTERED: 'Its value of the property was registered for no record when it was sent.',
};
export type UnmatchedReason = keyof typeof UNMATCHED_REASONS;
const UNMATCHED = z.enum(keysOf(UNMATCHED_REASONS));

/** Null is the same as absent. */
export const eventOccurrenceFilter = z
  .strictObject({
    objectId: text({ min: 1, max: 255 }).nullish().describe('Linked to this record.'),
    email: z.string().max(254).toLowerCase().nullish().describe('Sent with this e-mail address; case is ignored.'),
    properties: z.array(propertyCondition).max(MAX_CONDITIONS).nullish().describe('With all of these property values.'),
    unmatchedReasons: z
      .array(UNMATCHED)
      .max(100)
      .nullish()
      .describe('Of an event with custom matching, linked to no record for any of these reasons.'),
    occurredFrom: momentInput().nullish().describe('At this time or later.'),
    occurredBefore: momentInput().nullish().describe('Before this time.'),
  })
  .describe('Conditions on occurrences. An occurrence is listed when it meets all of them.');
export type EventOccurrenceFilter = z.output<typeof eventOccurrenceFilter>;

/** PostgreSQL has no year 0. */
const day = z.iso.date().refine((value) => !value.startsWith('0000'), 'must be between the years 1 and 9999');

export const occurrenceDaysInput = z.strictObject({
  from: day.nullish(),
  before: day.nullish(),
  until: day.nullish(),
});
export type OccurrenceDaysInput = z.output<typeof occurrenceDaysInput>;

/** What identifies an object. */
export const FORMS = ['objectId', 'email', 'utk'] as const;

/** Exactly one of the three forms. */
export const deleteObjectOccurrencesInput = z
  .strictObject({
    objectType: optional(objectType).describe(
      'Type of the object; required with `objectId`, and not allowed without it.',
    ),
    objectId: optional(idOrInteger(objectId)).describe('Id of the object, at most 255 characters.'),
    email: optional(emailAddress()).describe('E-mail address of a contact. Case is ignored.'),
    utk: optional(text({ min: 1, max: 255 })).describe('Token of a visitor.'),
  })
  .superRefine((given, context) => {
    const names = FORMS.filter((name) => given[name] !== undefined);
    const refuse = (name: string, message: string) =>
      context.addIssue({ code: 'custom', path: [name], ...rule('CONFLICTING', message) });
    if (names.length !== 1)
      refuse(names[1] ?? 'objectId', 'give exactly one of objectId (with objectType), email and utk');
    else if ((given.objectType !== undefined) !== (given.objectId !== undefined))
      refuse('objectType', 'must be given with objectId, and only with it');
  });
export type DeleteObjectOccurrencesInput = z.output<typeof deleteObjectOccurrencesInput>;

const [first, ...others] = keysOf(INPUT_FAULT_CODES);
const reasons: [InputFaultCode, ...InputFaultCode[]] = [first ?? 'REQUIRED', ...others];

/** Conditions on the counts of refused occurrences. */
export const eventViolationFilter = z.strictObject({
  eventDefinitionIds: z.array(z.uuid()).max(100).nullish(),
  isUnknownEvent: z.boolean().nullish(),
  reasons: z.array(z.enum(reasons)).max(100).nullish(),
  hourFrom: momentInput().nullish(),
  hourBefore: momentInput().nullish(),
});
export type EventViolationFilter = z.output<typeof eventViolationFilter>;
