import { z } from 'zod';
import { createdBetween } from '../../core/input/moments.ts';
import { rule, text } from '../../core/input/validation.ts';

const MAX_IDENTIFIERS = 1000;

const objectType = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_]{0,99}$/, 'must be a letter, then at most 99 letters, digits or underscores')
  .refine((value) => value !== 'NO_OBJECT', 'must not be NO_OBJECT, which has no records');
const propertyName = text({ min: 1, max: 255 });
const value = text({ min: 1, max: 500 });
const objectId = text({ min: 1, max: 255 });

/** Values of a unique property with their records, for custom matching. */
export const registerObjectIdentifiersInput = z.strictObject({
  objectType,
  propertyName,
  identifiers: z
    .array(z.strictObject({ value, objectId }))
    .min(1)
    .max(MAX_IDENTIFIERS)
    .refine((list) => new Set(list.map((identifier) => identifier.value)).size === list.length, {
      ...rule('DUPLICATE', 'must not contain a value twice'),
      when: ({ issues }) => issues.length === 0,
    }),
});
export type RegisterObjectIdentifiersInput = z.output<typeof registerObjectIdentifiersInput>;

export const removeObjectIdentifiersInput = z.strictObject({ ids: z.array(z.uuid()).min(1).max(MAX_IDENTIFIERS) });
export type RemoveObjectIdentifiersInput = z.output<typeof removeObjectIdentifiersInput>;

const anyOf = <Schema extends z.ZodType>(schema: Schema) => z.array(schema).max(100).nullish();

/** Conditions on a list of identifiers. All that are given must be met; an empty list matches nothing. */
export const objectIdentifierFilter = z.strictObject({
  objectTypes: anyOf(text({ max: 100 })),
  propertyNames: anyOf(propertyName),
  values: anyOf(value),
  objectIds: anyOf(objectId),
  ...createdBetween,
});
export type ObjectIdentifierFilter = z.output<typeof objectIdentifierFilter>;
