import { z } from 'zod';
import { createdBetween } from '../../core/input/moments.ts';
import { rule, text } from '../../core/input/validation.ts';
import { primaryObjectOf } from '../event-definitions/public.ts';

const MAX_IDENTIFIERS = 1000;

export const objectType = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_]{0,99}$/, 'must be a letter, then at most 99 letters, digits or underscores')
  .transform(primaryObjectOf)
  .refine((value) => value !== 'NO_OBJECT', 'must not be NO_OBJECT, which has no records');
const propertyName = text({ min: 1, max: 255 });
const value = text({ min: 1, max: 500 });
export const objectId = text({ min: 1, max: 255 });

export const objectIdentifier = z
  .strictObject({
    value: value.describe('Value of the unique property.'),
    objectId: objectId.describe('Id of the record.'),
  })
  .describe('A value of the unique property, and the record that has it.');

export const registerObjectIdentifiersInput = z.strictObject({
  objectType: objectType.describe(
    'The type of the records: the `primaryObject` of the event definitions; 1 to 100 characters.',
  ),
  propertyName: propertyName.describe('Their `targetObjectPropertyName`.'),
  identifiers: z
    .array(objectIdentifier)
    .min(1)
    .max(MAX_IDENTIFIERS)
    .refine((list) => new Set(list.map((identifier) => identifier.value)).size === list.length, {
      ...rule('DUPLICATE', 'must not contain a value twice'),
      when: ({ issues }) => issues.length === 0,
    })
    .describe('The values with their records.'),
});
export type RegisterObjectIdentifiersInput = z.output<typeof registerObjectIdentifiersInput>;

export const removeObjectIdentifiersInput = z.strictObject({
  ids: z
    .array(z.uuid())
    .min(1)
    .max(MAX_IDENTIFIERS)
    .describe('Ids of identifiers. Ids that the organization does not have are ignored.'),
});

const anyOf = <Schema extends z.core.$ZodType>(schema: Schema) => z.array(schema).max(100).nullish();

/** Null is the same as absent. */
export const objectIdentifierFilter = z
  .strictObject({
    objectTypes: anyOf(text({ max: 100 }).transform(primaryObjectOf)).describe('Of records of any of these types.'),
    propertyNames: anyOf(propertyName).describe('Of any of these properties.'),
    values: anyOf(value).describe('With any of these values.'),
    objectIds: anyOf(objectId).describe('Of any of these records.'),
    ...createdBetween,
  })
  .describe(
    'Conditions on registered identifiers. An identifier is listed when it meets all of them. A condition with an empty list matches nothing.',
  );
export type ObjectIdentifierFilter = z.output<typeof objectIdentifierFilter>;
