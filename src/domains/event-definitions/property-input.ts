import { enumValue, wording } from '../../core/text/wording.ts';
import { z } from 'zod';
import { textOf } from '../../core/documents.ts';
import { expectedUpdatedAtInput } from '../../core/input/expected-version.ts';
import { textOrScalar } from '../../core/input/tolerant.ts';
import { optional, text, rule } from '../../core/input/validation.ts';
import { propertyMeantBy } from './default-properties.ts';
import { RESERVED_PREFIX } from './naming.ts';
import { PROPERTY_TYPES } from './property-types.ts';
import {
  type Unchecked,
  descriptionInput,
  evenWithFaults,
  labelMakesName,
  nameInput,
  referenceInput,
} from './shared-input.ts';
import { optionDocument, propertyDocument } from './documents.ts';

/** Maximum number of custom properties of a definition. Default properties do not count (Custom Event Definition API, section 8). */
export const MAX_CUSTOM_PROPERTIES = 50;

export const propertyName = nameInput
  .refine(
    (value) => !value.startsWith(RESERVED_PREFIX),
    `must not start with ${RESERVED_PREFIX}, which is reserved for default properties`,
  )
  .refine((value) => propertyMeantBy(value) === value, {
    error: ({ input }) =>
      `must not be ${String(input)}, which is another name of the default property ${propertyMeantBy(String(input))}`,
  });

const label = text({ min: 1, max: 50 });
const eventName = referenceInput.describe('Name, fully qualified name, or id of the event definition.');
const propertyReference = referenceInput.describe('Name of the property.');

/** The other fields than `label` and `value` are only stored, so that clients can send back what they read. */
export const option = z
  .strictObject({
    label: text({ min: 1, max: 1000 }).describe(textOf(optionDocument.shape.label)),
    value: textOrScalar(text({ min: 1, max: 1000 })).describe(
      'What occurrences store: 1 to 1,000 characters, unique within the property.',
    ),
    displayOrder: optional(z.int32()).describe(textOf(optionDocument.shape.displayOrder)),
    hidden: optional(z.boolean()).describe(textOf(optionDocument.shape.hidden)),
    description: descriptionInput.nullish().describe('What the option means.'),
  })
  .describe('One option of an enumeration.');

const options = z
  .array(option)
  .max(5000)
  .refine(
    (list) => new Set(list.map(({ value }) => value)).size === list.length,
    rule('DUPLICATE', 'must not contain a value twice'),
  )
  .meta({ description: 'Options of an enumeration, at least one. Absent or empty for every other type.' });

/**
 * An enumeration must have at least one option; other types must have none (Custom Event Definition API, section 2.2).
 * An empty list is the same as none.
 */
export function optionsFitType(
  { type, options: given }: Unchecked<'type' | 'options'>,
  context: z.RefinementCtx,
): void {
  const isEmpty = Array.isArray(given) && given.length === 0;
  const refuse = (...broken: Parameters<typeof rule>) =>
    context.addIssue({ code: 'custom', path: ['options'], ...rule(...broken) });
  if (type === 'enumeration') {
    if (given == null)
      refuse('REQUIRED', wording`is required for the type ${enumValue('enumeration')}, with at least one option`);
    else if (isEmpty) refuse('TOO_FEW', AT_LEAST_ONE_OPTION, 1);
  } else if (given != null && !isEmpty && PROPERTY_TYPES.some((known) => known === type)) {
    refuse(
      'CONFLICTING',
      wording`is allowed only for the type ${enumValue('enumeration')}, not for ${enumValue(String(type))}`,
    );
  }
}

export const AT_LEAST_ONE_OPTION = 'must have at least 1 item';

const propertyFields = {
  label: label.describe(textOf(propertyDocument.shape.label)),
  name: optional(propertyName).describe(
    'Name within the definition: lowercase letters, digits and underscores, starting with a letter. When absent, it is generated from the label. It never changes.',
  ),
  type: z.enum(PROPERTY_TYPES).describe(textOf(propertyDocument.shape.type)),
  description: optional(descriptionInput).describe('What the property means.'),
  options: optional(options),
};

export const propertyDefinition = z
  .strictObject(propertyFields)
  .describe('A property to create together with its definition.')
  .superRefine(optionsFitType, evenWithFaults)
  .superRefine(labelMakesName('property', label), evenWithFaults);
export type PropertyDefinition = z.output<typeof propertyDefinition>;

export const addEventPropertyInput = z
  .strictObject({ eventName, ...propertyFields })
  .superRefine(optionsFitType, evenWithFaults)
  .superRefine(labelMakesName('property', label), evenWithFaults);

export const updateEventPropertyInput = z.strictObject({
  eventName,
  name: propertyReference,
  label: label.optional().describe(textOf(propertyDocument.shape.label)),
  description: descriptionInput.nullable().optional().describe('What the property means; null or empty for none.'),
  options: options.optional(),
  expectedUpdatedAt: expectedUpdatedAtInput,
});
export type UpdateEventPropertyInput = z.output<typeof updateEventPropertyInput>;

/** The same input for the path that contains the name of the property. The body can repeat the name. */
export const updateEventPropertyByPathInput = updateEventPropertyInput
  .extend({ propertyName: propertyReference, name: optional(propertyReference) })
  .refine(({ propertyName: inPath, name }) => name === undefined || name === inPath, {
    path: ['name'],
    ...rule('CONFLICTING', 'must be the same as in the path, or absent'),
  })
  .transform(({ propertyName: inPath, ...input }): UpdateEventPropertyInput => ({ ...input, name: inPath }));

export const eventPropertyReference = z.strictObject({ eventName, name: propertyReference });
export type EventPropertyReference = z.output<typeof eventPropertyReference>;

export const eventPropertyReferenceByPath = z
  .strictObject({ eventName, propertyName: propertyReference })
  .transform(({ propertyName: name, ...reference }): EventPropertyReference => ({ ...reference, name }));

export const replaceEventPropertyTypeInput = z
  .strictObject({
    eventName,
    name: propertyReference,
    type: z.enum(PROPERTY_TYPES).describe('The new type.'),
    label: optional(label).describe('What people see. When absent, it does not change.'),
    description: descriptionInput
      .nullable()
      .optional()
      .describe('What the property means; null or empty for none. When absent, it does not change.'),
    options: optional(options),
    expectedUpdatedAt: expectedUpdatedAtInput,
  })
  .superRefine(optionsFitType, evenWithFaults);
