import { z } from 'zod';
import type { OperationContext } from '../../core/operation.ts';
import { requireOrganization } from '../../core/operation.ts';
import { route } from '../../core/route.ts';
import {
  type UpdateEventPropertyInput,
  addEventPropertyInput,
  createEventDefinitionInput,
  eventDefinitionReference,
  eventPropertyReference,
  searchEventDefinitionsInput,
  updateEventDefinitionInput,
  updateEventPropertyInput,
} from './input.ts';
import {
  createEventDefinition,
  deleteEventDefinition,
  readEventDefinitionWithProperties,
  readPropertiesOf,
  searchEventDefinitions,
  updateEventDefinition,
} from './operations.ts';
import { addEventProperty, deleteEventProperty, updateEventProperty } from './property-operations.ts';
import { FIELD_TYPE_OF, PROPERTY_TYPES } from './property-types.ts';
import {
  DEFAULT_ROWS,
  GROUP_NAME,
  defaultPropertiesOf,
  displayOrder,
  fullyQualifiedName,
  isDefault,
  objectTypeId,
} from './derived.ts';
import { type EventDefinitionRow, type EventPropertyRow, definitionRow, propertyRow } from './queries.ts';

const E = '/events/2026-03/event-definitions';
const tag = 'Event definitions';

const optionDocument = z.strictObject({
  label: z.string(),
  value: z.string(),
  displayOrder: z.int(),
  hidden: z.boolean(),
  description: z.string().nullable(),
});

const propertyDocument = z
  .strictObject({
    name: z.string(),
    label: z.string(),
    type: z.enum(PROPERTY_TYPES),
    fieldType: z.enum(['radio', 'date', 'select', 'number', 'text']),
    description: z.string().nullable(),
    groupName: z.string(),
    options: z.array(optionDocument),
    displayOrder: z.int(),
    isDefault: z.boolean(),
    archived: z.literal(false),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'EventProperty' });

const definitionDocument = z
  .strictObject({
    id: z.uuid(),
    name: z.string(),
    fullyQualifiedName: z.string(),
    objectTypeId: z.string(),
    labels: z.strictObject({ singular: z.string(), plural: z.null() }),
    label: z.string(),
    description: z.string().nullable(),
    primaryObject: z.string(),
    customMatchingId: z
      .strictObject({
        primaryObjectRule: z.strictObject({ targetObjectPropertyName: z.string(), eventPropertyName: z.string() }),
      })
      .nullable(),
    includeDefaultProperties: z.boolean(),
    trackingType: z.literal('MANUAL'),
    archived: z.literal(false),
    associations: z.array(z.never()),
    properties: z.array(propertyDocument),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'EventDefinition' });

const listDocument = z
  .strictObject({
    results: z.array(definitionDocument),
    total: z.int(),
    paging: z.strictObject({ next: z.strictObject({ after: z.string(), link: z.string() }) }).optional(),
  })
  .meta({ id: 'EventDefinitionList' });

function toPropertyDocument(row: EventPropertyRow): z.input<typeof propertyDocument> {
  return {
    name: row.name,
    label: row.label,
    type: row.type,
    fieldType: FIELD_TYPE_OF[row.type],
    description: row.description,
    groupName: GROUP_NAME,
    options: DEFAULT_OPTIONS.get(row.options) ?? toOptionDocuments(row.options),
    displayOrder: displayOrder(row),
    isDefault: isDefault(row),
    archived: false,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}

function toOptionDocuments(options: EventPropertyRow['options']): z.input<typeof optionDocument>[] {
  return options.map(({ label, value }, place) => ({
    label,
    value,
    displayOrder: place,
    hidden: false,
    description: null,
  }));
}

/** Of the default properties, which are the same for every definition; one of them has an option for each language. */
const DEFAULT_OPTIONS = new Map(DEFAULT_ROWS.map(({ options }) => [options, toOptionDocuments(options)]));

function toDefinitionDocument(
  row: EventDefinitionRow,
  properties: readonly EventPropertyRow[],
  context: OperationContext,
): z.input<typeof definitionDocument> {
  return {
    id: row.id,
    name: row.name,
    fullyQualifiedName: fullyQualifiedName(row, requireOrganization(context.actor)),
    objectTypeId: objectTypeId(row),
    labels: { singular: row.label, plural: null },
    label: row.label,
    description: row.description,
    primaryObject: row.primaryObject,
    customMatchingId: row.customMatchingId,
    includeDefaultProperties: row.includeDefaultProperties,
    trackingType: 'MANUAL',
    archived: false,
    associations: [],
    properties: properties.map(toPropertyDocument),
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}

async function withProperties(
  context: OperationContext,
  row: EventDefinitionRow,
): Promise<z.input<typeof definitionDocument>> {
  return toDefinitionDocument(row, (await readPropertiesOf(context, [row])).get(row.id) ?? [], context);
}

const propertyExample = {
  label: 'Cart total',
  name: 'cart_total',
  type: 'number',
  description: 'Sum of all items in the cart.',
};

const changeProperty = async (context: OperationContext, input: UpdateEventPropertyInput) =>
  toPropertyDocument(propertyRow((await updateEventProperty(context, input)).property));

export const eventDefinitionRoutes = [
  route({
    method: 'POST',
    path: E,
    operationId: 'createEventDefinition',
    tag,
    summary: 'Create an event definition with its properties.',
    input: createEventDefinitionInput,
    output: definitionDocument,
    status: 201,
    errors: [400, 409],
    examples: { input: { label: 'Checkout started', propertyDefinitions: [propertyExample] } },
    run: async (context, input) => withProperties(context, definitionRow(await createEventDefinition(context, input))),
  }),
  route({
    method: 'GET',
    path: E,
    operationId: 'searchEventDefinitions',
    tag,
    summary: 'List event definitions, or search them by name.',
    input: searchEventDefinitionsInput,
    output: listDocument,
    status: 200,
    errors: [400],
    run: async (context, input) => {
      const { page, total } = await searchEventDefinitions(context, input);
      const properties = await readPropertiesOf(context, input.includeProperties ? page.rows : []);
      const results = page.rows.map((row) => toDefinitionDocument(row, properties.get(row.id) ?? [], context));
      const last = page.rows.at(-1);
      if (!page.hasNextPage || !last) return { results, total: await total() };
      const after = page.cursorOf(last);
      const { searchString, includeProperties, limit, sortOrder } = input;
      const query = new URLSearchParams({
        ...(searchString && { searchString }),
        includeProperties: String(includeProperties),
        limit: String(limit),
        sortOrder,
        after,
      });
      return { results, total: await total(), paging: { next: { after, link: `${E}?${query}` } } };
    },
  }),
  route({
    method: 'GET',
    path: `${E}/:eventName`,
    operationId: 'readEventDefinition',
    tag,
    summary: 'Read one event definition by name or fully qualified name.',
    input: eventDefinitionReference,
    output: definitionDocument,
    status: 200,
    errors: [400, 404],
    run: async (context, input) => {
      const { customProperties, ...row } = await readEventDefinitionWithProperties(context, input);
      return toDefinitionDocument(row, [...defaultPropertiesOf(row), ...customProperties], context);
    },
  }),
  route({
    method: 'PATCH',
    path: `${E}/:eventName`,
    operationId: 'updateEventDefinition',
    tag,
    summary: 'Change the label and description of an event definition.',
    input: updateEventDefinitionInput,
    output: definitionDocument,
    status: 200,
    errors: [400, 404],
    examples: { input: { label: 'Checkout begun', description: null } },
    run: async (context, input) => withProperties(context, definitionRow(await updateEventDefinition(context, input))),
  }),
  route({
    method: 'DELETE',
    path: `${E}/:eventName`,
    operationId: 'deleteEventDefinition',
    tag,
    summary: 'Delete an event definition for ever; its name can never be used again.',
    input: eventDefinitionReference,
    status: 204,
    errors: [400, 404],
    run: async (context, input) => void (await deleteEventDefinition(context, input)),
  }),
  route({
    method: 'POST',
    path: `${E}/:eventName/property`,
    operationId: 'addEventProperty',
    tag,
    summary: 'Add a property to an event definition.',
    input: addEventPropertyInput,
    output: propertyDocument,
    status: 201,
    errors: [400, 404, 409],
    examples: { input: propertyExample },
    run: async (context, input) => toPropertyDocument(propertyRow((await addEventProperty(context, input)).property)),
  }),
  route({
    method: 'PATCH',
    path: `${E}/:eventName/property`,
    operationId: 'updateEventProperty',
    tag,
    summary: 'Change label, description, and the options of an enumeration; the property is named in the body.',
    input: updateEventPropertyInput,
    output: propertyDocument,
    status: 200,
    errors: [400, 404],
    examples: { input: { name: 'cart_total', label: 'Total of the cart' } },
    run: changeProperty,
  }),
  route({
    method: 'PATCH',
    path: `${E}/:eventName/property/:propertyName`,
    operationId: 'updateEventPropertyByPath',
    tag,
    summary: 'Change label, description, and the options of an enumeration; the property is named in the path.',
    input: updateEventPropertyInput
      .omit({ name: true })
      .extend({ propertyName: updateEventPropertyInput.shape.name })
      .transform(({ propertyName, ...input }) => ({ ...input, name: propertyName })),
    output: propertyDocument,
    status: 200,
    errors: [400, 404],
    examples: { input: { label: 'Total of the cart' } },
    run: changeProperty,
  }),
  route({
    method: 'DELETE',
    path: `${E}/:eventName/property/:propertyName`,
    operationId: 'deleteEventProperty',
    tag,
    summary: 'Remove a property; past occurrences keep their values.',
    input: eventPropertyReference
      .omit({ name: true })
      .extend({ propertyName: eventPropertyReference.shape.name })
      .transform(({ eventName, propertyName }) => ({ eventName, name: propertyName })),
    status: 204,
    errors: [400, 404, 409],
    run: async (context, input) => void (await deleteEventProperty(context, input)),
  }),
];
