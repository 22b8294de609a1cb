import type { z } from 'zod';
import type { OperationContext } from '../../core/operation.ts';
import { route } from '../../core/http/route.ts';
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
import { defaultPropertiesOf } from './derived.ts';
import { propertyRow } from './property-queries.ts';
import { type EventDefinitionRow, definitionRow } from './queries.ts';
import {
  definitionDocument,
  listDocument,
  propertyDocument,
  toDefinitionDocument,
  toPropertyDocument,
} from './rest-documents.ts';

const E = '/events/2026-03/event-definitions';
const tag = 'Event definitions';

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
