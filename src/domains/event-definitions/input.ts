import { z } from 'zod';
import { textOf } from '../../core/documents.ts';
import { expectedUpdatedAtInput } from '../../core/input/expected-version.ts';
import { createdBetween } from '../../core/input/moments.ts';
import { inAnyCase, pageLimit, textOrAbsent } from '../../core/input/tolerant.ts';
import { optional, rule, text, withDefault } from '../../core/input/validation.ts';
import { PRIMARY_OBJECTS, primaryObjectOf } from './entity.ts';
import { MAX_CUSTOM_PROPERTIES, propertyDefinition } from './property-input.ts';
import {
  type Unchecked,
  descriptionInput,
  evenWithFaults,
  labelMakesName,
  nameInput,
  referenceInput,
} from './shared-input.ts';
import { definitionDocument } from './documents.ts';

const { shape: texts } = definitionDocument;
const { primaryObjectRule: matchingRule } = texts.customMatchingId.unwrap().shape;
const { shape: ofRule } = matchingRule;
const label = text({ min: 1, max: 100 });
const eventName = referenceInput.describe('Name, fully qualified name, or id of the event definition.');

const primaryObject = z
  .string()
  .regex(
    /^[A-Za-z][A-Za-z0-9_]{0,99}$/,
    `must be one of ${PRIMARY_OBJECTS.join(', ')}, or a custom object name: a letter, then at most 99 letters, digits or underscores`,
  )
  .transform(primaryObjectOf);

export const primaryObjectRule = z
  .strictObject({
    targetObjectPropertyName: text({ min: 1, max: 255 }).describe(textOf(ofRule.targetObjectPropertyName)),
    eventPropertyName: nameInput.describe(`${textOf(ofRule.eventPropertyName)} It has text or numbers.`),
  })
  .describe(textOf(matchingRule));
export const customMatchingId = z
  .strictObject({ primaryObjectRule })
  .describe('Links occurrences to records by the value of a property.');

function namesDiffer(properties: readonly (Unchecked<'name'> | null)[], context: z.RefinementCtx): void {
  const seen = new Set<unknown>();
  properties.forEach((property, index) => {
    const given = property?.name;
    if (typeof given === 'string' && seen.has(given)) {
      context.addIssue({
        code: 'custom',
        path: [index, 'name'],
        ...rule('DUPLICATE', `${given} is already the name of another property; names must be unique`),
      });
    }
    seen.add(given);
  });
}

const propertyDefinitions = z
  .array(propertyDefinition)
  .max(MAX_CUSTOM_PROPERTIES)
  .superRefine(namesDiffer, { when: ({ value }) => Array.isArray(value) });

/** Refuses custom matching for `NO_OBJECT`, which has no records to link occurrences to (Custom Event Definition API, section 2.5). */
export function matchingHasRecords(
  given: Unchecked<'primaryObject' | 'customMatchingId'>,
  context: z.RefinementCtx,
): void {
  if (given.primaryObject === 'NO_OBJECT' && given.customMatchingId != null) {
    context.addIssue({
      code: 'custom',
      path: ['customMatchingId'],
      ...rule('CONFLICTING', 'must not be given with the primaryObject NO_OBJECT, which has no records to match'),
    });
  }
}

export const createEventDefinitionInput = z
  .strictObject({
    label: label.describe(textOf(texts.label)),
    name: optional(nameInput).describe(
      'Name of the event: lowercase letters, digits and underscores, starting with a letter. When absent, it is generated from the label. It never changes, and can never be used again.',
    ),
    description: optional(descriptionInput).describe('What the event means.'),
    propertyDefinitions: withDefault(propertyDefinitions, []).meta({ default: [] }).describe('The custom properties.'),
    primaryObject: withDefault(primaryObject, 'CONTACT').describe(textOf(texts.primaryObject)),
    customMatchingId: optional(customMatchingId).describe(
      'How occurrences are linked to records by the value of a property. Not allowed with `NO_OBJECT`.',
    ),
    includeDefaultProperties: withDefault(z.boolean(), true).describe(textOf(texts.includeDefaultProperties)),
  })
  .superRefine(matchingHasRecords, evenWithFaults)
  .superRefine(labelMakesName('event', label), evenWithFaults);
export type CreateEventDefinitionInput = z.output<typeof createEventDefinitionInput>;

export const eventDefinitionReference = z.strictObject({ eventName });

export const readEventDefinitionInput = eventDefinitionReference.extend({
  includeProperties: z.boolean().default(true).describe('Whether the definition includes its properties.'),
});

export const updateEventDefinitionInput = z.strictObject({
  eventName,
  label: label.optional().describe(textOf(texts.label)),
  description: descriptionInput.nullable().optional().describe('What the event means; null or empty for none.'),
  expectedUpdatedAt: expectedUpdatedAtInput,
});

/** A text that the name must contain. */
export const eventDefinitionSearch = z.string().max(1000);

/** The enum value that GraphQL uses for any custom object. Another field contains the name of the object. */
export const CUSTOM_OBJECT = 'CUSTOM_OBJECT';

/** Null is the same as absent. */
export const eventDefinitionFilter = z
  .strictObject({
    search: eventDefinitionSearch
      .nullish()
      .describe('Whose name contains this text. Case is ignored; there are no wildcards.'),
    label: text({ max: 1000 })
      .nullish()
      .describe('Whose label contains this text. Case is ignored; there are no wildcards.'),
    text: text({ max: 1000 })
      .nullish()
      .describe('Whose name or label contains this text. Case is ignored; there are no wildcards.'),
    primaryObjects: z
      .array(z.enum([...PRIMARY_OBJECTS, CUSTOM_OBJECT]))
      .max(100)
      .nullish()
      .describe('With any of these primary objects. `CUSTOM_OBJECT` means any custom object.'),
    customObjectNames: z
      .array(text({ max: 100 }))
      .max(100)
      .nullish()
      .describe(
        'With any of these custom objects. Together with `primaryObjects`, a definition must match one of the two lists.',
      ),
    hasCustomMatchingId: z
      .boolean()
      .nullish()
      .describe('True lists definitions with a custom matching id, false those without one.'),
    ...createdBetween,
  })
  .describe(
    'Conditions on event definitions. A definition is listed when it meets all of them. A condition with an empty list matches nothing.',
  );
export type EventDefinitionFilter = z.output<typeof eventDefinitionFilter>;

const DIRECTIONS = ['ASC', 'DESC'] as const;

/** The list parameters of the REST API. GraphQL uses the arguments of Relay connections. */
export const searchEventDefinitionsInput = z.strictObject({
  searchString: eventDefinitionSearch
    .optional()
    .describe('Lists definitions whose name contains this text. Case is ignored; there are no wildcards.'),
  after: z.string().transform(textOrAbsent).optional().describe('Cursor: `paging.next.after` of the previous page.'),
  limit: pageLimit({ max: 500, byDefault: 100 }),
  includeProperties: z.boolean().default(false).describe('Whether each definition includes its properties.'),
  sortOrder: inAnyCase(DIRECTIONS, z.enum(DIRECTIONS).default('ASC')).meta({
    description: 'Sort direction by name, in any case.',
  }),
});
export type SearchEventDefinitionsInput = z.output<typeof searchEventDefinitionsInput>;

export const eventDefinitionNamePreviewInput = z.strictObject({ label });
