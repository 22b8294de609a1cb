import { z } from 'zod';
import type { OperationContext } from '../../core/operation.ts';
import { routesOf } from '../../core/http/route.ts';
import { cursorAfter, itemsOfPage } from '../../core/input/lists.ts';
import type { EventDefinition, EventProperty } from './entity.ts';
import type { SearchEventDefinitionsInput } from './input.ts';
import { createEventDefinition, deleteEventDefinition, updateEventDefinition } from './operations.ts';
import { readDefinitionDetails, readEventDefinition, searchEventDefinitions } from './read-operations.ts';
import { addEventProperty, deleteEventProperty, updateEventProperty } from './property-operations.ts';
import { eventPropertyReferenceByPath, updateEventPropertyByPathInput } from './property-input.ts';
import { propertyRow } from './property-queries.ts';
import { definitionRow } from './queries.ts';
import { definitionDocument, listDocument, newPropertyExample, propertyDocument } from './documents.ts';
import { toDefinitionDocument, toPropertyDocument } from './rest-documents.ts';
import { documentOf, exampleOf } from '../../core/documents.ts';
import { applyTrackingPlan } from './tracking-plan.ts';

const route = routesOf('Event definitions');

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

const appliedDocument = documentOf(
  {
    isDryRun: 'Whether nothing was changed because a check was asked for.',
    created: 'Names of the events that did not exist.',
    changed: 'Names of the events that differed.',
    deleted: 'Names of the deleted events.',
    unchanged: 'Names of the events that were already as planned.',
  },
  {
    isDryRun: z.boolean(),
    created: z.array(z.string()),
    changed: z.array(z.string()),
    deleted: z.array(z.string()),
    unchanged: z.array(z.string()),
  },
).meta({ id: 'AppliedTrackingPlan' });

export const eventDefinitionRoutes = [
  route('POST /events/2026-03/event-definitions', createEventDefinition, {
    output: definitionDocument,
    location: ({ name }) => name,
    examples: {
      input: { label: 'Checkout started', propertyDefinitions: [newPropertyExample] },
    },
    toDocument: withProperties,
  }),
  route('GET /events/2026-03/event-definitions', searchEventDefinitions, {
    output: listDocument,
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
  route('GET /events/2026-03/event-definitions/:eventName', readEventDefinition, {
    output: definitionDocument,
    toDocument: ({ definition, properties }, context) => toDefinitionDocument(definition, properties, context),
  }),
  route('PATCH /events/2026-03/event-definitions/:eventName', updateEventDefinition, {
    optionalBody: false,
    output: definitionDocument,
    examples: {
      input: { label: 'Checkout begun', description: null },
      output: {
        ...exampleOf(definitionDocument),
        label: 'Checkout begun',
        labels: { singular: 'Checkout begun', plural: null },
      },
    },
    toDocument: withProperties,
  }),
  route('DELETE /events/2026-03/event-definitions/:eventName', deleteEventDefinition),
  route('POST /events/2026-03/event-definitions/:eventName/property', addEventProperty, {
    output: propertyDocument,
    location: ({ name }) => name,
    examples: { input: newPropertyExample },
    toDocument: withoutDefinition,
  }),
  route('PATCH /events/2026-03/event-definitions/:eventName/property', updateEventProperty, {
    output: propertyDocument,
    examples: {
      input: { name: 'cart_total', label: 'Total of the cart' },
      output: { ...exampleOf(propertyDocument), label: 'Total of the cart' },
    },
    toDocument: withoutDefinition,
  }),
  route('PATCH /events/2026-03/event-definitions/:eventName/property/:propertyName', updateEventProperty, {
    operationId: 'updateEventPropertyByPath',
    optionalBody: false,
    summary: 'Updates a property whose name is in the path.',
    description: 'The same operation as the update with the name in the body.',
    input: updateEventPropertyByPathInput,
    output: propertyDocument,
    examples: {
      input: { label: 'Total of the cart' },
      output: { ...exampleOf(propertyDocument), label: 'Total of the cart' },
    },
    run: async (context, input) => withoutDefinition(await updateEventProperty(context, input)),
  }),
  route('DELETE /events/2026-03/event-definitions/:eventName/property/:propertyName', deleteEventProperty, {
    input: eventPropertyReferenceByPath,
    run: async (context, input) => void (await deleteEventProperty(context, input)),
  }),
  route('POST /v1/tracking-plan', applyTrackingPlan, {
    optionalBody: false,
    output: appliedDocument,
    status: 200,
    examples: {
      input: {
        definitions: [
          {
            name: 'checkout_started',
            label: 'Checkout started',
            propertyDefinitions: [newPropertyExample],
            expectedUpdatedAt: '2026-03-01T10:20:30.500Z',
          },
        ],
      },
      output: { isDryRun: false, created: [], changed: ['checkout_started'], deleted: [], unchanged: [] },
    },
    toDocument: ({ isDryRun, created, changed, deleted, unchanged }) => ({
      isDryRun,
      created,
      changed,
      deleted,
      unchanged,
    }),
  }),
];
