import type { z } from 'zod';
import type { OperationContext } from '../../core/operation.ts';
import { route } from '../../core/http/route.ts';
import { cursorAfter, itemsOfPage } from '../../core/input/lists.ts';
import type { EventDefinition, EventProperty } from './entity.ts';
import type { SearchEventDefinitionsInput } from './input.ts';
import { createEventDefinition, deleteEventDefinition, updateEventDefinition } from './operations.ts';
import { readDefinitionDetails, readEventDefinition, searchEventDefinitions } from './read-operations.ts';
import { addEventProperty, deleteEventProperty, updateEventProperty } from './property-operations.ts';
import { eventPropertyReferenceByPath, updateEventPropertyByPathInput } from './property-input.ts';
import { pathsOf } from '../../core/http/event-paths.ts';
import { propertyRow } from './property-queries.ts';
import { definitionRow } from './queries.ts';
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
  definition: EventDefinition,
  context: OperationContext,
): Promise<z.input<typeof definitionDocument>> {
  const row = definitionRow(definition);
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

const withoutDefinition = ({ property }: { readonly property: EventProperty }) =>
  toPropertyDocument(propertyRow(property));

export const eventDefinitionRoutes = [
  route(createEventDefinition, {
    method: 'POST',
    ...at(''),
    tag,
    output: definitionDocument,
    status: 201,
    location: ({ name }) => name,
    examples: {
      input: { label: 'Checkout started', propertyDefinitions: [newPropertyExample] },
      output: definitionExample,
    },
    toDocument: withProperties,
  }),
  route(searchEventDefinitions, {
    method: 'GET',
    ...at(''),
    tag,
    output: listDocument,
    status: 200,
    examples: { output: listExample },
    run: async (context, input: SearchEventDefinitionsInput, path) => {
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
  route(readEventDefinition, {
    method: 'GET',
    ...at('/:eventName'),
    tag,
    output: definitionDocument,
    status: 200,
    examples: { output: definitionExample },
    toDocument: ({ definition, properties }, context) => toDefinitionDocument(definition, properties, context),
  }),
  route(updateEventDefinition, {
    method: 'PATCH',
    ...at('/:eventName'),
    tag,
    output: definitionDocument,
    status: 200,
    examples: {
      input: { label: 'Checkout begun', description: null },
      output: {
        ...definitionExample,
        label: 'Checkout begun',
        labels: { singular: 'Checkout begun', plural: null },
      },
    },
    toDocument: withProperties,
  }),
  route(deleteEventDefinition, { method: 'DELETE', ...at('/:eventName'), tag, status: 204 }),
  route(addEventProperty, {
    method: 'POST',
    ...at('/:eventName/property'),
    tag,
    output: propertyDocument,
    status: 201,
    location: ({ name }) => name,
    examples: { input: newPropertyExample, output: propertyExample },
    toDocument: withoutDefinition,
  }),
  route(updateEventProperty, {
    method: 'PATCH',
    ...at('/:eventName/property'),
    tag,
    output: propertyDocument,
    status: 200,
    examples: {
      input: { name: 'cart_total', label: 'Total of the cart' },
      output: { ...propertyExample, label: 'Total of the cart' },
    },
    toDocument: withoutDefinition,
  }),
  route(updateEventProperty, {
    operationId: 'updateEventPropertyByPath',
    method: 'PATCH',
    ...at('/:eventName/property/:propertyName'),
    tag,
    summary: 'Updates a property whose name is in the path.',
    description: 'The same operation as the update with the name in the body.',
    input: updateEventPropertyByPathInput,
    output: propertyDocument,
    status: 200,
    examples: { input: { label: 'Total of the cart' }, output: { ...propertyExample, label: 'Total of the cart' } },
    run: async (context, input) => withoutDefinition(await updateEventProperty(context, input)),
  }),
  route(deleteEventProperty, {
    method: 'DELETE',
    ...at('/:eventName/property/:propertyName'),
    tag,
    input: eventPropertyReferenceByPath,
    status: 204,
    run: async (context, input) => void (await deleteEventProperty(context, input)),
  }),
];
