import { z } from 'zod';
import { NotFoundError } from '../../core/errors.ts';
import { type HttpAnswer, type HttpRequest, answerJson, answerWith } from '../../core/http/messages.ts';
import { routesOf } from '../../core/http/route.ts';
import {
  EVENT_STREAM_HEADERS,
  LAST_EVENT_ID_HEADER,
  STOP_RECONNECTING,
  eventStream,
  wantsStream,
  writeError,
  writeEvent,
} from '../../core/http/server-sent-events.ts';
import { type OperationContext, defineOperation } from '../../core/operation.ts';
import { READ_SESSIONS, sessionNotFound } from '../sessions/public.ts';
import { afterEnd, entryPosition, idOf } from './cursor.ts';
import { ENTRY_KINDS } from './entry-fold.ts';
import { type EntryRow, pagesOfEntries } from './entry-queries.ts';
import { type TailedEntries, tailSessionEntries } from './entry-tail.ts';
import { type ListSessionEntriesInput, listSessionEntriesInput } from './input.ts';

const route = routesOf('Sessions');

const nullableText = z.string().nullable();
const entryDocument = z
  .strictObject({
    id: z.int().describe('Id of the entry: that of its first event.'),
    kind: z.enum(ENTRY_KINDS).describe('What the entry is.'),
    turn: z.int().describe('Number of the turn, from 1; 0 before the first message of a person.'),
    startedAt: z.iso.datetime().describe('When it began.'),
    endedAt: z.iso.datetime().nullable().describe('When it ended. Null while it is open.'),
    lastEventId: z.int().describe('Id of the last event that has changed it.'),
    isFailed: z.boolean().describe('Whether it has failed.'),
    isOpen: z.boolean().describe('Whether later events can still add to it.'),
    subagentId: nullableText.describe('Id of the subagent that it belongs to. Null for the agent itself.'),
    text: z.string().optional().describe('The text, of all but calls.'),
    isTextCut: z.boolean().optional().describe('Whether the text is only the first 120,000 characters.'),
    model: nullableText.optional().describe('The model, of messages of the agent.'),
    isFinal: z.boolean().optional().describe('Whether it is the last message of its turn, of messages of the agent.'),
    provider: nullableText.optional().describe('The provider, of notes.'),
    toolName: z.string().optional().describe('Name of the tool, of calls.'),
    title: nullableText.optional().describe('The title that the tool gave the call.'),
    input: z.string().optional().describe('The input of the call.'),
    output: z.string().optional().describe('The output of the call.'),
    exitCode: z.int().nullable().optional().describe('The exit code of the call.'),
    durationMs: z.number().nullable().optional().describe('Time from the call to its result.'),
    startedSubagentId: nullableText.optional().describe('Id of the subagent that the call has started.'),
  })
  .meta({ id: 'SessionEntry' });

const pageDocument = z
  .strictObject({
    items: z.array(entryDocument).describe('The entries of the page.'),
    nextCursor: z
      .string()
      .describe('Id of the last entry of the page, or the given cursor when the page is empty.')
      .meta({ example: '42' }),
  })
  .meta({ id: 'SessionEntryPage' });

export function entryToJson(entry: EntryRow): z.output<typeof entryDocument> {
  const { id, kind, turn, startedAt, endedAt, lastEventId, isFailed, isOpen, subagentId, content } = entry;
  const { text, isTextCut, output, exitCode, title } = content;
  const rest = {
    userMessage: () => ({ text, isTextCut }),
    agentMessage: () => ({ text, isTextCut, model: entry.model, isFinal: entry.isFinal }),
    thinking: () => ({ text, isTextCut }),
    note: () => ({ text, isTextCut, provider: entry.provider }),
    toolCall: () => ({
      toolName: entry.toolName ?? '',
      title,
      input: text,
      output,
      exitCode,
      durationMs: entry.durationMs,
      startedSubagentId: entry.startsSubagent ? entry.callId : null,
    }),
  }[kind]();
  return { id, kind, turn, startedAt, endedAt, lastEventId, isFailed, isOpen, subagentId, ...rest };
}

export const listSessionEntries = defineOperation({
  name: 'listSessionEntries',
  description:
    'Lists the entries of a session, what people read of it: messages, calls of tools with their results, thinking and notes, in the order in which they began.',
  access: READ_SESSIONS,
  input: listSessionEntriesInput,
  errors: [NotFoundError],
  run: async (context, { sessionId, limit, cursor, ...filter }) => {
    const page = { first: limit, after: cursor };
    const found = (await pagesOfEntries(context, { filter, page })([sessionId])).get(sessionId);
    if (!found) throw sessionNotFound();
    return { items: found.rows.map(entryToJson), nextCursor: String(found.rows.at(-1)?.id ?? cursor) };
  },
});

export const entryRoutes = [
  route('GET /v1/sessions/:sessionId/entries', listSessionEntries, {
    description:
      'With `Accept: text/event-stream` the answer is a live stream: server-sent events with `{entries, removedIds}`, the entries that events after `cursor` or `Last-Event-ID` have begun or changed and the ids of entries that are no more, because their events were deleted or superseded, and `event: end` when the session is finished.',
    output: pageDocument,
    examples: {
      output: {
        items: [
          {
            id: 7,
            kind: 'agentMessage',
            turn: 1,
            startedAt: '2026-03-01T10:20:31.000Z',
            endedAt: '2026-03-01T10:20:33.000Z',
            lastEventId: 9,
            isFailed: false,
            isOpen: false,
            subagentId: null,
            text: 'The timer fires before the map is made.',
            isTextCut: false,
            model: 'claude-opus-5-5',
            isFinal: true,
          },
        ],
        nextCursor: '7',
      },
    },
    headerParameters: [
      {
        name: LAST_EVENT_ID_HEADER,
        description: 'Only for the live stream: id of the last message. It takes precedence over `cursor`.',
        schema: { type: 'string', pattern: '^\\d+(\\.end)?$' },
      },
    ],
    mediaTypes: {
      'text/event-stream':
        'At most five messages a second, each with at most 500 entries. An entry that has changed is sent again, with the same id; one that a filter on `isFailed` excludes since it has failed is among `removedIds`. `event: end` is sent when the session is finished, and its id ends in `.end`; a client that resumes after it gets 204, one that resumes before it gets what the end has changed.',
    },
    respond: async (context, input, request) =>
      wantsStream(request.headers) ? streamOf(context, input, request) : pageOf(context, input),
  }),
];

async function pageOf(context: OperationContext, input: ListSessionEntriesInput): Promise<HttpAnswer> {
  try {
    return answerJson(await listSessionEntries(context, input));
  } finally {
    context.budget.close();
  }
}

async function streamOf(
  context: OperationContext,
  { sessionId, cursor, ...filter }: ListSessionEntriesInput,
  request: HttpRequest,
): Promise<HttpAnswer> {
  const resumed = entryPosition(request.headers.get(LAST_EVENT_ID_HEADER), LAST_EVENT_ID_HEADER);
  const position = resumed ?? { after: idOf(cursor) };
  const gone = new AbortController();
  const signal = AbortSignal.any([request.signal, gone.signal]);
  const { pages, hasEnded } = await tailSessionEntries(context, { sessionId, ...position, filter, signal });
  if (hasEnded && resumed) {
    gone.abort();
    context.budget.close();
    return STOP_RECONNECTING;
  }
  return answerWith(
    eventStream(partsOf(context, pages), () => gone.abort()),
    { headers: EVENT_STREAM_HEADERS },
  );
}

async function* partsOf(
  { toDomainError }: Pick<OperationContext, 'toDomainError'>,
  pages: TailedEntries['pages'],
): AsyncGenerator<string, void, undefined> {
  try {
    for await (const batches of pages)
      for (const { entries, removed, lastEventId: id, isEnded } of batches) {
        const data = JSON.stringify({ entries: entries.map(entryToJson), removedIds: removed.map((each) => each.id) });
        if (entries.length + removed.length > 0) yield writeEvent({ id, data });
        if (isEnded) yield writeEvent({ event: 'end', id: afterEnd(id), data: '{}' });
      }
  } catch (error) {
    yield writeError(toDomainError(error).message);
  }
}
