import { z } from 'zod';
import { documentOf } from '../../core/documents.ts';
import { listEventTypes } from '../event-definitions/public.ts';
import { answerWith } from '../../core/http/messages.ts';
import { fileParameters } from '../../core/input/file-parameters.ts';
import { FILE_NAME_HEADER, ndjsonFile, ndjsonHeaders } from '../../core/http/ndjson.ts';
import { routesOf } from '../../core/http/route.ts';
import type { OperationContext } from '../../core/operation.ts';
import { exportEventOccurrences } from './export.ts';
import { sendEventOccurrence, sendEventOccurrences } from './operations.ts';
import { type SearchedOccurrence, searchEventOccurrences } from './read-operations.ts';
import { type SearchEventOccurrencesInput, exportEventOccurrencesInput } from './search-input.ts';
import { deleteObjectOccurrences } from './object-deletion.ts';

const route = routesOf('Event occurrences');

const TEXTS = {
  id: 'Id of the occurrence.',
  eventType: 'Fully qualified name of the event.',
  objectType: 'Primary object of the event.',
  objectId: 'Id of the record; empty where there is none.',
  occurredAt: 'When the event occurred.',
  properties: 'Values by property name, each as text: `99.5`, `true`, `2026-03-01`.',
};

const occurrenceDocument = documentOf(TEXTS, {
  id: z.uuid(),
  eventType: z.string(),
  objectType: z.string(),
  objectId: z.string(),
  occurredAt: z.iso.datetime(),
  properties: z.record(z.string(), z.string()),
}).meta({ id: 'EventOccurrence' });

const LINK = 'Address of the page.';
const nextDocument = documentOf(
  { after: 'Cursor for the parameter `after`.', link: LINK },
  { after: z.string(), link: z.url() },
);
const previousDocument = documentOf(
  { before: 'Cursor for the parameter `before`.', link: LINK },
  { before: z.string(), link: z.url() },
);

const occurrenceListDocument = documentOf(
  { results: 'The occurrences of this page.', paging: 'Absent when there is no other page.' },
  {
    results: z.array(occurrenceDocument),
    paging: documentOf(
      { next: 'The next page; absent on the last one.', prev: 'The previous page; absent on the first one.' },
      { next: nextDocument.optional(), prev: previousDocument.optional() },
    ).optional(),
  },
).meta({ id: 'EventOccurrenceList' });

/** Existing clients require text for every value and for `objectId`. */
function toOccurrenceDocument(found: SearchedOccurrence): z.input<typeof occurrenceDocument> {
  const { id, eventType, primaryObject: objectType, objectId, occurredAt } = found;
  const properties = Object.fromEntries(Object.entries(found.properties).map(([name, value]) => [name, String(value)]));
  return { id, eventType, objectType, objectId: objectId ?? '', occurredAt, properties };
}

type Searched = Awaited<ReturnType<typeof searchEventOccurrences>>;

/** The next and the previous page, each as a cursor and as a link with the same conditions. */
function pagingOf(
  { settings }: OperationContext,
  search: SearchEventOccurrencesInput,
  { page }: Searched,
  path: string,
): Pick<z.input<typeof occurrenceListDocument>, 'paging'> {
  const [first, last] = [page.rows.at(0), page.rows.at(-1)];
  const linkTo = (cursor: Readonly<Record<string, string>>) =>
    `${settings.publicUrl}${path}?${new URLSearchParams([...queryOf(search), ...Object.entries(cursor)])}`;
  const after = page.hasNextPage && last ? page.cursorOf(last) : undefined;
  const before = page.hasPreviousPage && first ? page.cursorOf(first) : undefined;
  if (after === undefined && before === undefined) return {};
  return {
    paging: {
      ...(after !== undefined && { next: { after, link: linkTo({ after }) } }),
      ...(before !== undefined && { prev: { before, link: linkTo({ before }) } }),
    },
  };
}

function queryOf(search: SearchEventOccurrencesInput): [string, string][] {
  const { eventType, objectType, objectId, occurredAfter, occurredBefore, direction, page } = search;
  const single = { eventType, objectType, objectId, occurredAfter, occurredBefore, sort: direction };
  return [
    ...Object.entries(single).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, value]],
    ),
    ...(search.ids ?? []).map((id): [string, string] => ['id', id]),
    ...(search.properties ?? []).map((name): [string, string] => ['properties', name]),
    ...search.propertyValues.map(([name, value]): [string, string] => [`property.${name}`, value]),
    ...search.objectPropertyValues.map(([name, value]): [string, string] => [`objectProperty.${name}`, value]),
    ['limit', String(page.limit)],
  ];
}

const example = {
  eventName: 'checkout_started',
  email: 'ada@example.com',
  properties: { cart_total: 99.5 },
  occurredAt: '2026-03-01T10:20:30.500Z',
  uuid: '6f1c1a0e-5f0b-4c58-9f0a-1d5f7c0f6a11',
};

const occurrenceExample: z.input<typeof occurrenceDocument> = {
  id: '6f1c1a0e-5f0b-4c58-9f0a-1d5f7c0f6a11',
  eventType: 'pe1_checkout_started',
  objectType: 'CONTACT',
  objectId: '1001',
  occurredAt: '2026-03-01T10:20:30.500Z',
  properties: { cart_total: '99.5' },
};

const objectDeletionDocument = documentOf(
  { deletionJobId: 'Id of the deletion job.', deletionQueued: 'Always true.' },
  { deletionJobId: z.uuid(), deletionQueued: z.literal(true) },
).meta({ id: 'ObjectDeletion' });

export const eventOccurrenceRoutes = [
  route('POST /events/2026-03/send', sendEventOccurrence, { examples: { input: example } }),
  route('POST /events/2026-03/send/batch', sendEventOccurrences, { examples: { input: { inputs: [example] } } }),
  route('GET /events/event-occurrences/2026-03', searchEventOccurrences, {
    output: occurrenceListDocument,
    examples: { output: { results: [occurrenceExample] } },
    run: async (context, input: SearchEventOccurrencesInput, path) => {
      const searched = await searchEventOccurrences(context, input);
      return { results: searched.occurrences.map(toOccurrenceDocument), ...pagingOf(context, input, searched, path) };
    },
  }),
  route('GET /events/event-occurrences/2026-03/event-types', listEventTypes, {
    output: z
      .strictObject({ eventTypes: z.array(z.string()).describe('Fully qualified names.') })
      .meta({ id: 'EventTypes' }),
    examples: { output: { eventTypes: [occurrenceExample.eventType] } },
    toDocument: (eventTypes) => ({ eventTypes }),
  }),
  route('GET /v1/event-definitions/:name/occurrences/export', exportEventOccurrences, {
    input: exportEventOccurrencesInput.extend(fileParameters('ndjson')),
    mediaTypes: {
      'application/x-ndjson': 'An `EventOccurrence` on each line, earliest first.',
    },
    answerHeaders: FILE_NAME_HEADER,
    respond: async (context, input, request) => {
      const { definitionId, batches } = await exportEventOccurrences(context, input);
      const name = `occurrences-${definitionId}`;
      if (request.method === 'HEAD') return answerWith(null, { headers: ndjsonHeaders(name) });
      const toLine = (found: SearchedOccurrence) => JSON.stringify(toOccurrenceDocument(found));
      return ndjsonFile(context, { name, batches, toLine });
    },
  }),
  route('POST /v1/object-occurrences/delete', deleteObjectOccurrences, {
    optionalBody: false,
    output: objectDeletionDocument,
    status: 202,
    examples: {
      input: { email: 'ada@example.com' },
      output: { deletionJobId: 'a3bb189e-8bf9-4888-9912-ace4e6543002', deletionQueued: true },
    },
    toDocument: ({ id }) => ({ deletionJobId: id, deletionQueued: true as const }),
  }),
];
