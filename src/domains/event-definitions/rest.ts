import type { z } from 'zod';
import type { OperationContext } from '../../core/operation.ts';
import { route } from '../../core/http/route.ts';
import { cursorAfter, itemsOfPage } from '../../core/input/lists.ts';
import { defaultPropertiesOf } from './computed-fields.ts';
import {
  type SearchEventDefinitionsInput,
  createEventDefinitionInput,
  eventDefinitionReference,
  readEventDefinitionInput,
  searchEventDefinitionsInput,
  updateEventDefinitionInput,
} from './input.ts';
import { createEventDefinition, deleteEventDefinition, updateEventDefinition } from './operations.ts';
import { readDefinitionDetails, readEventDefinitionWithProperties, searchEventDefinitions } from './read-operations.ts';
import { addEventProperty, deleteEventProperty, updateEventProperty } from './property-operations.ts';
import {
  type UpdateEventPropertyInput,
  addEventPropertyInput,
  eventPropertyReferenceByPath,
  updateEventPropertyByPathInput,
  updateEventPropertyInput,
} from './property-input.ts';
import { pathsOf } from '../../core/http/event-paths.ts';
import { EVENT_DEFINITIONS } from './policy.ts';
import { propertyRow } from './property-queries.ts';
import { type EventDefinitionRow, definitionRow } from './queries.ts';
import {
  definitionDocument,
  listDocument,
  propertyDocument,
  toDefinitionDocument,
  toPropertyDocument,
} from './rest-documents.ts';
import { definitionExample, listExample, newPropertyExample, propertyExample } from './rest-examples.ts';

const tag = 'Event definitions';

const at = (path: string) => pathsOf('definitions', path);

async function withProperties(
  context: OperationContext,
  row: EventDefinitionRow,
): Promise<z.input<typeof definitionDocument>> {
  const [details] = await readDefinitionDetails(context, [row]);
  return toDefinitionDocument(row, details?.properties ?? null, context);
}

function nextPage(
  { settings }: OperationContext,
  { searchString, includeProperties, limit, sortOrder }: SearchEventDefinitionsInput,
  after: string | null,
  path: string,
): Pick<z.input<typeof listDocument>, 'paging'> {
  if (after === null) return {};
  const query = new URLSearchParams({
    ...(searchString && { searchString }),
    includeProperties: String(includeProperties),
    limit: String(limit),
    sortOrder,
    after,
  });
  return { paging: { next: { after, link: `${settings.publicUrl}${path}?${query}` } } };
}

const changeProperty = async (context: OperationContext, input: UpdateEventPropertyInput) =>
  toPropertyDocument(propertyRow((await updateEventProperty(context, input)).property));

export const eventDefinitionRoutes = [
  route({
    method: 'POST',
    ...at(''),
    operationId: 'createEventDefinition',
    access: EVENT_DEFINITIONS,
    tag,
    summary: 'Create an event definition with its properties.',
    description:
      'Without `name`, a name is generated from the label. A name can never be used again, even when its definition is deleted. A definition has at most 50 custom properties; default properties do not count.',
    input: createEventDefinitionInput,
    output: definitionDocument,
    status: 201,
    location: ({ name }) => name,
    errors: [400, 409],
    examples: {
      input: { label: 'Checkout started', propertyDefinitions: [newPropertyExample] },
      output: definitionExample,
    },
    run: async (context, input) => withProperties(context, definitionRow(await createEventDefinition(context, input))),
  }),
  route({
    method: 'GET',
    ...at(''),
    operationId: 'searchEventDefinitions',
    access: EVENT_DEFINITIONS,
    tag,
    summary: 'List event definitions, or search them by name.',
    description:
      'Sorted by name. Without `includeProperties=true` the `properties` of each definition are an empty list. Follow `paging.next.link` until it is absent.',
    input: searchEventDefinitionsInput,
    output: listDocument,
    status: 200,
    errors: [400],
    examples: { output: listExample },
    run: async (context, input, path) => {
      const { page, total } = await searchEventDefinitions(context, input);
      // Before the properties, which may use up what can be read.
      const count = await total();
      const details = input.includeProperties
        ? await readDefinitionDetails(context, page.rows)
        : page.rows.map((definition) => ({ definition, properties: [] }));
      const documents = details.map(({ definition, properties }) =>
        toDefinitionDocument(definition, properties, context),
      );
      const results = itemsOfPage(documents, context.budget);
      return { results, total: count, ...nextPage(context, input, cursorAfter(page, results.length), path) };
    },
  }),
  route({
    method: 'GET',
    ...at('/:eventName'),
    operationId: 'readEventDefinition',
    access: EVENT_DEFINITIONS,
    tag,
    summary: 'Read one event definition by name or fully qualified name.',
    description:
      'The answer contains all properties, default properties first; with `includeProperties=false` it contains none.',
    input: readEventDefinitionInput,
    output: definitionDocument,
    status: 200,
    errors: [400, 404],
    examples: { output: definitionExample },
    run: async (context, { eventName, includeProperties }) => {
      const { customProperties, ...row } = await readEventDefinitionWithProperties(context, { eventName });
      const properties = includeProperties ? [...defaultPropertiesOf(row), ...customProperties] : [];
      return toDefinitionDocument(row, properties, context);
    },
  }),
  route({
    method: 'PATCH',
    ...at('/:eventName'),
    operationId: 'updateEventDefinition',
    access: EVENT_DEFINITIONS,
    tag,
    summary: 'Change the label and description of an event definition.',
    description:
      'A missing field does not change; `null` clears `description`. The other fields of a definition never change.',
    input: updateEventDefinitionInput,
    output: definitionDocument,
    status: 200,
    errors: [400, 404],
    examples: {
      input: { label: 'Checkout begun', description: null },
      output: {
        ...definitionExample,
        label: 'Checkout begun',
        labels: { singular: 'Checkout begun', plural: null },
      },
    },
    run: async (context, input) => withProperties(context, definitionRow(await updateEventDefinition(context, input))),
  }),
  route({
    method: 'DELETE',
    ...at('/:eventName'),
    operationId: 'deleteEventDefinition',
    access: EVENT_DEFINITIONS,
    tag,
    summary: 'Delete an event definition and its occurrences. Its name can never be used again.',
    description: 'The definition answers 404 at once. A background job deletes its occurrences.',
    input: eventDefinitionReference,
    status: 204,
    errors: [400, 404],
    run: async (context, input) => void (await deleteEventDefinition(context, input)),
  }),
  route({
    method: 'POST',
    ...at('/:eventName/property'),
    operationId: 'addEventProperty',
    access: EVENT_DEFINITIONS,
    tag,
    summary: 'Add a property to an event definition.',
    description:
      'Without `name`, a name is generated from the label. `options` is required for the type `enumeration` and not allowed for other types.',
    input: addEventPropertyInput,
    output: propertyDocument,
    status: 201,
    location: ({ name }) => name,
    errors: [400, 404, 409],
    examples: { input: newPropertyExample, output: propertyExample },
    run: async (context, input) => toPropertyDocument(propertyRow((await addEventProperty(context, input)).property)),
  }),
  route({
    method: 'PATCH',
    ...at('/:eventName/property'),
    operationId: 'updateEventProperty',
    access: EVENT_DEFINITIONS,
    tag,
    summary: 'Change the label, description or options of a property, with its name in the body.',
    description:
      'Only an enumeration has options. The type of a property never changes. A removed option stays valid for past occurrences.',
    input: updateEventPropertyInput,
    output: propertyDocument,
    status: 200,
    errors: [400, 404],
    examples: {
      input: { name: 'cart_total', label: 'Total of the cart' },
      output: { ...propertyExample, label: 'Total of the cart' },
    },
    run: changeProperty,
  }),
  route({
    method: 'PATCH',
    ...at('/:eventName/property/:propertyName'),
    operationId: 'updateEventPropertyByPath',
    access: EVENT_DEFINITIONS,
    tag,
    summary: 'Change the label, description or options of a property, with its name in the path.',
    description: 'The same operation as the update with the name in the body.',
    input: updateEventPropertyByPathInput,
    output: propertyDocument,
    status: 200,
    errors: [400, 404],
    examples: { input: { label: 'Total of the cart' }, output: { ...propertyExample, label: 'Total of the cart' } },
    run: changeProperty,
  }),
  route({
    method: 'DELETE',
    ...at('/:eventName/property/:propertyName'),
    operationId: 'deleteEventProperty',
    access: EVENT_DEFINITIONS,
    tag,
    summary: 'Delete a property. Past occurrences keep their values.',
    description:
      'Refused with 409 while the custom matching id of the definition uses the property. Default properties cannot be deleted.',
    input: eventPropertyReferenceByPath,
    status: 204,
    errors: [400, 404, 409],
    run: async (context, input) => void (await deleteEventProperty(context, input)),
  }),
];
