import { z } from 'zod';
import {
  type HttpAnswer,
  type HttpHeaders,
  type HttpRequest,
  answerJsonText,
  answerWith,
} from '../../core/http/messages.ts';
import type { OperationContext } from '../../core/operation.ts';
import { readOnly, route } from '../../core/http/route.ts';
import { cursorId, idOf } from './cursor.ts';
import { eventDataFields } from './event-data.ts';
import { type ListSessionEventsInput, appendSessionEventsInput, listSessionEventsInput } from './input.ts';
import { appendSessionEvents, listSessionEvents } from './operations.ts';
import { eventToJson } from './queries.ts';
import { toEventStream } from './event-stream.ts';
import { tailSessionEvents } from './live-tail.ts';

/** What a client that reconnects sends (WHATWG HTML, section 9.2.3). */
const LAST_ID_HEADER = 'Last-Event-ID';

const sessionEventDocument = z
  .strictObject({
    id: readOnly(z.int()),
    createdAt: z.iso.datetime(),
    eventType: z.string(),
    messageId: z.uuid().nullable(),
    sessionId: readOnly(z.uuid()),
    provider: z.string(),
    eventData: eventDataFields,
  })
  .meta({ id: 'SessionEvent' });

const pageDocument = z
  .strictObject({ items: z.array(sessionEventDocument), nextCursor: z.string() })
  .meta({ id: 'SessionEventPage' });

const appendedDocument = z
  .strictObject({
    sessionId: z.uuid(),
    firstId: z.int().meta({ description: 'Id of the first event of the batch.' }),
    lastId: z.int().meta({ description: 'Id of the last event of the batch: the cursor behind it.' }),
    isReplayed: z.boolean().meta({ description: 'Whether the batch was stored before.' }),
  })
  .meta({ id: 'AppendedEvents' });

export const sessionEventRoutes = [
  route({
    method: 'GET',
    path: '/v1/sessions/:sessionId/events',
    operationId: 'listSessionEvents',
    tag: 'Sessions',
    summary: 'List the recorded events of a session, or follow them live.',
    description:
      'Ascending by id. `nextCursor` is the id of the last event seen, also for an empty page, so that it can be polled with for ever; only an empty page is the end, since one with more than 16 MiB of data ends early. With `Accept: text/event-stream` the events behind `cursor`, or `Last-Event-ID`, are sent and then new ones as they are recorded; the stream ends with `event: end` when the session is finished.',
    input: listSessionEventsInput,
    output: pageDocument,
    status: 200,
    errors: [400, 403, 404, 500, 503],
    headerParameters: [
      {
        name: LAST_ID_HEADER,
        description: 'Of a stream alone: id of the last event seen, which takes the place of `cursor`.',
        schema: { type: 'string', pattern: '^\\d+$' },
      },
    ],
    mediaTypes: {
      'text/event-stream':
        'Each event as `id:` and `data:`, a comment every 8 s, `event: end` at the end; `event: error` with `{"error": …}` when there is no more to see.',
    },
    run: () => Promise.reject(new Error('answered by respond')),
    respond: async (context, input, request) =>
      wantsStream(request.headers) ? streamOf(context, input, request) : pageOf(context, input),
  }),
  route({
    method: 'POST',
    path: '/v1/sessions/:sessionId/events',
    operationId: 'appendSessionEvents',
    tag: 'Sessions',
    summary: 'Append events to the stream of a session.',
    description:
      'For agent runners. All events are stored, or none; they are numbered in their order. With a `batchId` a retry is harmless: the same batch again stores nothing and answers the stored ids, other events under a known `batchId` are 409, and so is a finished session. A body has at most 4 MiB. Needs the scope `sessions.record`.',
    input: appendSessionEventsInput,
    output: appendedDocument,
    status: 201,
    errors: [400, 403, 404, 409],
    examples: {
      input: {
        batchId: 'run-7-batch-1',
        events: [
          {
            eventType: 'content_block_delta',
            provider: 'anthropic',
            eventData: { type: 'content_block_delta', delivery: 'realtime', deltaType: 'text_delta', index: 0 },
          },
        ],
      },
    },
    run: appendSessionEvents,
  }),
];

function wantsStream(headers: HttpHeaders): boolean {
  return /\btext\/event-stream\b/i.test(headers.get('accept') ?? '');
}

async function pageOf(context: OperationContext, input: ListSessionEventsInput): Promise<HttpAnswer> {
  try {
    const { events, nextCursor, hasMore } = await listSessionEvents(context, input);
    const body = `{"items":[${events.map(eventToJson).join(',')}],"nextCursor":"${nextCursor}"}`;
    return answerJsonText(body, { headers: hasMore ? { Link: nextLink(context, input, nextCursor) } : {} });
  } finally {
    context.budget.close();
  }
}

/** The address of the next page (RFC 8288), for clients that page to an end. */
function nextLink(
  { settings }: OperationContext,
  { sessionId, limit, messageId }: ListSessionEventsInput,
  cursor: string,
): string {
  const query = new URLSearchParams({ limit: String(limit), cursor, ...(messageId && { messageId }) });
  return `<${settings.publicUrl}/v1/sessions/${sessionId}/events?${query}>; rel="next"`;
}

async function streamOf(
  context: OperationContext,
  { sessionId, cursor, messageId }: ListSessionEventsInput,
  request: HttpRequest,
): Promise<HttpAnswer> {
  const after = cursorId(request.headers.get(LAST_ID_HEADER), LAST_ID_HEADER) ?? idOf(cursor);
  const gone = new AbortController();
  const signal = AbortSignal.any([request.signal, gone.signal]);
  const pages = await tailSessionEvents(context, { sessionId, after, filter: { messageId }, signal });
  const headers = {
    'Content-Type': 'text/event-stream; charset=utf-8',
    'Cache-Control': 'no-store',
    'X-Accel-Buffering': 'no',
  };
  return answerWith(
    toEventStream(context, pages, () => gone.abort()),
    { headers },
  );
}
