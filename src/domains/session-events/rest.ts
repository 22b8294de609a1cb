import { z } from 'zod';
import { FILE_NAME_HEADER } from '../../core/http/ndjson.ts';
import { ofOrganization } from '../../core/input/file-parameters.ts';
import { type HttpAnswer, type HttpRequest, answerJsonText, answerWith } from '../../core/http/messages.ts';
import {
  EVENT_STREAM_HEADERS,
  LAST_EVENT_ID_HEADER,
  STOP_RECONNECTING,
  wantsStream,
} from '../../core/http/server-sent-events.ts';
import type { OperationContext } from '../../core/operation.ts';
import { routesOf, textBody } from '../../core/http/route.ts';
import { cursorId, idOf } from './cursor.ts';
import { appendedDocument, failureDocument, redactedDocument, sessionEventDocument } from './documents.ts';
import { exportSession } from './export.ts';
import { readSessionFailure } from './failure.ts';
import { eventToJson, fileOf, toEventStream } from './rest-export.ts';
import { type ListSessionEventsInput, exportSessionInput } from './input.ts';
import { appendSessionEvents, appendSessionLines } from './append-operations.ts';
import { FORMAT_NAMES, TABLE_ROLES } from './formats/names.ts';
import { listSessionEvents } from './operations.ts';
import { redactSessionEvents } from './redaction-operations.ts';
import { tailSessionEvents } from './live-tail.ts';

const route = routesOf('Sessions');

const pageDocument = z
  .strictObject({
    items: z.array(sessionEventDocument).describe('The events of the page.'),
    nextCursor: z
      .string()
      .describe(
        'Id of the last event of the page, or the given cursor when the page is empty, so that you can always poll with it.',
      )
      .meta({ example: '42' }),
  })
  .meta({ id: 'SessionEventPage' });

const MAP_TEXT = `With the format \`jsonl\`, the parameter \`map\` says what the members of the lines mean, such as \`map="from:human=user,body.text=text"\`: \`MEMBER=ROLE\` for a member, which is named with those that contain it, and \`MEMBER:VALUE=ROLE\` for who speaks in the lines in which it has that value. ROLE is one of ${TABLE_ROLES.join(', ')}.`;

export const sessionEventRoutes = [
  route('GET /v1/sessions/:sessionId/events', listSessionEvents, {
    summary: 'Lists the recorded events of a session, or follows them live.',
    description:
      'Events are listed by ascending id. The header `Link` with `rel="next"` is present only while more events follow. A page ends early when its events reach 4 MiB.\n\nWith `Accept: text/event-stream` the answer is a live tail: server-sent events with the stored events after `cursor` or `Last-Event-ID`, then each new event as it is recorded, and `event: end` when the session is finished.',
    output: pageDocument,
    headerParameters: [
      {
        name: LAST_EVENT_ID_HEADER,
        description: 'Only for the live tail: id of the last event seen. It takes precedence over `cursor`.',
        schema: { type: 'string', pattern: '^\\d+$' },
      },
    ],
    mediaTypes: {
      'text/event-stream':
        'Each event is sent as `id:` and `data:`. A comment is sent every 8 seconds. `event: end` is sent when the session is finished, and `event: error` with `{"error": "…"}` when the stream ends early. A client that resumes after the end gets 204, which stops an `EventSource`.',
    },
    answerHeaders: {
      Link: {
        description: 'Address of the next page, with `rel="next"` (RFC 8288). Absent when no more events follow.',
        schema: { type: 'string' },
      },
    },
    respond: async (context, input, request) =>
      wantsStream(request.headers) ? streamOf(context, input, request) : pageOf(context, input),
  }),
  route('GET /v1/sessions/:sessionId/failure', readSessionFailure, {
    output: failureDocument,
    respond: async (context, input) => {
      const { reason, event } = await readSessionFailure(context, input);
      return answerJsonText(`{"reason":${JSON.stringify(reason)},"event":${event ? eventToJson(event) : 'null'}}`);
    },
  }),
  route('GET /v1/sessions/:sessionId/export', exportSession, {
    description:
      'The file is streamed and can have any size. It has the events that are stored when the request begins. A connection that ends early has not sent all of them.',
    mediaTypes: {
      'application/x-ndjson':
        'Every event as the list of events has it, one on a line; with `format=transcript`, `{"file": "…", "line": "…"}` for every line of the files of the transcript, as it was received but for what was redacted. 409 for a session without a transcript of Claude Code or Codex, and for one whose lines were received without their files.',
      'text/markdown': 'The transcript: who speaks, messages, tool calls with their input and output, and the totals.',
    },
    input: exportSessionInput.extend(ofOrganization),
    answerHeaders: FILE_NAME_HEADER,
    respond: fileOf,
  }),
  route('POST /v1/sessions/:sessionId/redact', redactSessionEvents, {
    optionalBody: false,
    output: redactedDocument,
    status: 200,
    examples: { input: { text: 'correct horse battery staple' } },
    toDocument: (redaction) => redaction,
  }),
  route('POST /v1/sessions/:sessionId/events', appendSessionEvents, {
    output: appendedDocument,
    isUnchanged: { description: 'The body has no lines.', when: ({ events }) => events === 0 },
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
    textBody: textBody(appendSessionLines, {
      mediaType: 'application/x-ndjson',
      description: `The lines that an agent has written, with the parameter \`format\` of the media type: ${FORMAT_NAMES.join(', ')}. Every line becomes one or more events, of which the first has the whole line in \`event.message\`; a line that is unknown or malformed is kept too, and so is one that would become more than four times its bytes. Parts of a text have it in \`delta\`; the text so far is in \`accumulatedText\` at its end and every 32 KiB. At most 10,000 lines; blank ones are ignored, and a body without other lines is answered with 200. The optional parameter \`batchId\` makes a retry with the same lines harmless, like \`batchId\` of a JSON body, and so does an \`Idempotency-Key\`. With \`resumed=true\` the agent goes on with an earlier run: its first total, which has that run, is not counted. The parameter \`subagent\` is the id of the subagent whose lines these are, where they do not say so themselves. ${MAP_TEXT}`,
      example: '{"type":"thread.started","thread_id":"0199"}\n{"type":"turn.started"}\n',
      queryParameters: {
        file: {
          description:
            'With a body of lines: the file of a transcript whose lines these are, such as `<id>.jsonl`, below the folder that its agent has for the session. A line that the session has already makes no event, and is counted in `repeatedLines`: one with the same `uuid`, or else the k-th line of the same bytes where k were received.',
          schema: { type: 'string', minLength: 1, maxLength: 500 },
        },
        fromLine: {
          description:
            'With `file`: the number of the first of these lines in it, from 1; blank lines count. If lines before it are missing, the answer is 409, with what was received in `details.files`.',
          schema: { type: 'integer', minimum: 1 },
        },
        pulled: {
          description:
            'With `file`: the lines are those that a pull has written for the lines with these numbers, with other folders. They make no events, and are known from then on.',
          schema: { type: 'boolean' },
        },
      },
      toInput: (text, { format, batchid: batchId, map, subagent, resumed }, query) => ({
        text,
        // Absent, it is refused like one that is not known, because the message names the formats.
        format: format ?? '',
        ...(query.has('file') && { file: query.get('file') }),
        ...(query.has('pulled') && { pulled: query.get('pulled') }),
        ...(query.has('fromLine') && { fromLine: numberIn(query.get('fromLine') ?? '') }),
        ...(batchId !== undefined && { batchId }),
        ...(map !== undefined && { map }),
        ...(subagent !== undefined && { subagent }),
        ...(resumed !== undefined && { resumed }),
      }),
    }),
    toDocument: (appended) => appended,
  }),
];

const numberIn = (text: string) => (/^\d{1,10}$/.test(text) ? Number(text) : text);

async function pageOf(context: OperationContext, input: ListSessionEventsInput): Promise<HttpAnswer> {
  try {
    const { events, nextCursor, hasMore } = await listSessionEvents(context, input);
    const body = `{"items":[${events.map(eventToJson).join(',')}],"nextCursor":"${nextCursor}"}`;
    return answerJsonText(body, { headers: hasMore ? { Link: nextLink(context, input, nextCursor) } : {} });
  } finally {
    context.budget.close();
  }
}

/** The `Link` header with the address of the next page (RFC 8288). */
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
  const lastEventId = cursorId(request.headers.get(LAST_EVENT_ID_HEADER), LAST_EVENT_ID_HEADER);
  const after = lastEventId ?? idOf(cursor);
  const gone = new AbortController();
  const signal = AbortSignal.any([request.signal, gone.signal]);
  const { pages, hasEnded } = await tailSessionEvents(context, { sessionId, after, filter: { messageId }, signal });
  if (hasEnded && lastEventId !== null) {
    gone.abort();
    context.budget.close();
    return STOP_RECONNECTING;
  }
  return answerWith(
    toEventStream(context, pages, () => gone.abort()),
    { headers: EVENT_STREAM_HEADERS },
  );
}
