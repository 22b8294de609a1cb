import { z } from 'zod';
import { optional, text, withDefault } from '../../core/validation.ts';
import { NAME_MAX_LENGTH, RESERVED_PREFIX, nameFromLabel } from './naming.ts';
import { PROPERTY_TYPES } from './property-types.ts';

/** Custom properties of one definition; default ones do not count (section 8). */
export const MAX_CUSTOM_PROPERTIES = 50;

/** The documented kinds of object; a custom object's own name is allowed beside them (section 2.1). */
export const PRIMARY_OBJECTS = [
  'APPOINTMENT',
  'COMPANY',
  'CONTACT',
  'COURSE',
  'DEAL',
  'LEAD',
  'LISTING',
  'ORDER',
  'PROJECT',
  'SERVICE',
  'TICKET',
  'NO_OBJECT',
] as const;

// The length has its own message.
const name = text({ min: 1, max: NAME_MAX_LENGTH }).regex(
  /^(?:[a-z][a-z0-9_]*)?$/,
  'must start with a letter and contain only lowercase letters, digits and underscores',
);

const propertyName = name.refine(
  (value) => !value.startsWith(RESERVED_PREFIX),
  `must not start with ${RESERVED_PREFIX}, which is reserved for default properties`,
);

/** How an existing definition is addressed: its name, its fully qualified name, or its id. One that fits nothing is not found. */
const eventName = z.string().min(1, 'must not be empty').max(255, 'must be at most 255 characters');
const existingPropertyName = eventName;

const eventLabel = text({ min: 1, max: 100 });
const propertyLabel = text({ min: 1, max: 50 });
/** The documents give no bound for descriptions and options; ours keep a definition well below the bound of a body. */
const description = text({ max: 10_000 });

const options = z
  .array(z.strictObject({ label: text({ min: 1, max: 1000 }), value: text({ min: 1, max: 1000 }) }))
  .min(1)
  .max(5000)
  .refine(
    (list) => new Set(list.map(({ value }) => value)).size === list.length,
    'must have values that differ from each other',
  );

/** Rules over several fields are checked even when single fields are at fault, so that all faults are told together. */
const besideOtherFaults = { when: ({ value }: { value: unknown }) => typeof value === 'object' && value !== null };

/** What such a rule sees: any field may be missing or be at fault itself. */
type Unproven<Field extends string> = { readonly [name in Field]?: unknown };

/** Options belong to enumerations alone, and an enumeration has at least one (section 2.2). */
function optionsFitType({ type, options: given }: Unproven<'type' | 'options'>, context: z.RefinementCtx): void {
  if (type === 'enumeration' && given === undefined) {
    context.addIssue({
      code: 'custom',
      path: ['options'],
      message: 'is required for the type enumeration, with at least one option',
    });
  }
  const isOther = PROPERTY_TYPES.some((known) => known !== 'enumeration' && known === type);
  if (isOther && given !== undefined) {
    context.addIssue({
      code: 'custom',
      path: ['options'],
      message: `is only for the type enumeration, not for ${String(type)}`,
    });
  }
}

/** Without a name the label must leave one. */
function labelLeavesName(kind: 'event' | 'property', schema: z.ZodType<string>) {
  return ({ name: given, label }: Unproven<'name' | 'label'>, context: z.RefinementCtx): void => {
    const valid = schema.safeParse(label);
    if (given === undefined && valid.success && nameFromLabel(valid.data, kind) === undefined) {
      context.addIssue({
        code: 'custom',
        path: ['label'],
        message: 'leaves no name, because it has neither letters nor digits; give a name',
      });
    }
  };
}

function namesDiffer(properties: readonly (Unproven<'name'> | null)[], context: z.RefinementCtx): void {
  const seen = new Set<unknown>();
  properties.forEach((property, index) => {
    const given = property?.name;
    if (typeof given === 'string' && seen.has(given)) {
      context.addIssue({
        code: 'custom',
        path: [index, 'name'],
        message: `${given} is the name of an earlier property; names must differ`,
      });
    }
    seen.add(given);
  });
}

const propertyFields = {
  label: propertyLabel,
  name: optional(propertyName),
  type: z.enum(PROPERTY_TYPES),
  description: optional(description),
  options: optional(options),
};

const propertyDefinition = z
  .strictObject(propertyFields)
  .superRefine(optionsFitType, besideOtherFaults)
  .superRefine(labelLeavesName('property', propertyLabel), besideOtherFaults);
export type PropertyDefinition = z.output<typeof propertyDefinition>;

const customMatchingId = z.strictObject({
  primaryObjectRule: z.strictObject({
    targetObjectPropertyName: text({ min: 1, max: 255 }),
    eventPropertyName: name,
  }),
});

/** An event without object records has nothing to link occurrences to (section 2.5). */
function matchingHasRecords(
  { primaryObject, customMatchingId: given }: Unproven<'primaryObject' | 'customMatchingId'>,
  context: z.RefinementCtx,
): void {
  if (primaryObject === 'NO_OBJECT' && given !== undefined) {
    context.addIssue({
      code: 'custom',
      path: ['customMatchingId'],
      message: 'must not be given with the primaryObject NO_OBJECT, which has no records to match',
    });
  }
}

export const createEventDefinitionInput = z
  .strictObject({
    label: eventLabel,
    name: optional(name),
    description: optional(description),
    propertyDefinitions: withDefault(
      z
        .array(propertyDefinition)
        .max(MAX_CUSTOM_PROPERTIES)
        .superRefine(namesDiffer, { when: ({ value }) => Array.isArray(value) }),
      [],
    ),
    primaryObject: withDefault(
      z
        .string()
        .regex(
          /^[A-Za-z][A-Za-z0-9_]{0,99}$/,
          `must be one of ${PRIMARY_OBJECTS.join(', ')}, or a custom object name: a letter, then at most 99 letters, digits or underscores`,
        ),
      'CONTACT',
    ),
    customMatchingId: optional(customMatchingId),
    includeDefaultProperties: withDefault(z.boolean(), true),
  })
  .superRefine(matchingHasRecords, besideOtherFaults)
  .superRefine(labelLeavesName('event', eventLabel), besideOtherFaults);
export type CreateEventDefinitionInput = z.output<typeof createEventDefinitionInput>;

export const eventDefinitionReference = z.strictObject({ eventName });
export type EventDefinitionReference = z.output<typeof eventDefinitionReference>;

export const updateEventDefinitionInput = z.strictObject({
  eventName,
  label: eventLabel.optional(),
  description: description.nullable().optional(),
});
export type UpdateEventDefinitionInput = z.output<typeof updateEventDefinitionInput>;

/** A part of the name. */
export const eventDefinitionSearch = z.string().max(1000, 'must be at most 1000 characters');

/** Further conditions of a list of definitions; each absent, null, or given. A list of nothing fits nothing. */
export const eventDefinitionFilter = z.strictObject({
  primaryObject: z
    .array(text({ max: 100 }))
    .max(100)
    .nullish(),
  hasCustomMatchingId: z.boolean().nullish(),
});
export type EventDefinitionFilter = z.output<typeof eventDefinitionFilter> & {
  readonly search?: z.output<typeof eventDefinitionSearch> | null | undefined;
};

/** The REST search; GraphQL pages through the same operation with Relay's arguments. */
export const searchEventDefinitionsInput = z.strictObject({
  searchString: eventDefinitionSearch.optional(),
  after: z.string().optional(),
  limit: z.int().min(1).max(500).default(100),
  includeProperties: z.boolean().default(false),
  sortOrder: z.enum(['ASC', 'DESC']).default('ASC'),
});
export type SearchEventDefinitionsInput = z.output<typeof searchEventDefinitionsInput>;

export const addEventPropertyInput = z
  .strictObject({ eventName, ...propertyFields })
  .superRefine(optionsFitType, besideOtherFaults)
  .superRefine(labelLeavesName('property', propertyLabel), besideOtherFaults);
export type AddEventPropertyInput = z.output<typeof addEventPropertyInput>;

export const updateEventPropertyInput = z.strictObject({
  eventName,
  name: existingPropertyName,
  label: propertyLabel.optional(),
  description: description.nullable().optional(),
  options: options.optional(),
});
export type UpdateEventPropertyInput = z.output<typeof updateEventPropertyInput>;

export const eventPropertyReference = z.strictObject({ eventName, name: existingPropertyName });
export type EventPropertyReference = z.output<typeof eventPropertyReference>;

export const replaceEventPropertyTypeInput = z
  .strictObject({
    eventName,
    name: existingPropertyName,
    type: z.enum(PROPERTY_TYPES),
    label: optional(propertyLabel),
    description: description.nullable().optional(),
    options: optional(options),
  })
  .superRefine(optionsFitType, besideOtherFaults);
export type ReplaceEventPropertyTypeInput = z.output<typeof replaceEventPropertyTypeInput>;

export const eventDefinitionNamePreviewInput = z.strictObject({ label: eventLabel });
