import { z } from 'zod';
import { type HttpAnswer, type HttpRequest, answerJson, answerWith } from '../../core/http/messages.ts';
import { routesOf } from '../../core/http/route.ts';
import {
  EVENT_STREAM_HEADERS,
  LAST_EVENT_ID_HEADER,
  eventStream,
  wantsStream,
  writeError,
  writeEvent,
} from '../../core/http/server-sent-events.ts';
import type { OperationContext } from '../../core/operation.ts';
import { cursorId, idOf } from '../session-events/public.ts';
import type { ListFeedInput } from './input.ts';
import { listFeed, tailFeed } from './operations.ts';
import { feedEntryDocument, toFeedEntry } from './documents.ts';
import type { FeedEntryRow } from './queries.ts';

const route = routesOf('Feed');

const pageDocument = z
  .strictObject({
    items: z.array(feedEntryDocument).describe('The entries of the page.'),
    nextCursor: z
      .string()
      .describe(
        'The cursor after the page, so that you can always poll with it. At the end of the feed it also passes entries that you cannot read.',
      )
      .meta({ example: '1207' }),
  })
  .meta({ id: 'FeedPage' });

export const feedRoutes = [
  route('GET /v1/feed', listFeed, {
    summary: 'Lists the feed of the organization, or follows it live.',
    description:
      'Entries are listed by ascending id, which is the order of the commits: who follows `nextCursor` skips none and gets none twice. There is one for each change of what the caller may see; types whose scope the key lacks are left out. Entries are kept for 30 days. The header `Link` with `rel="next"` is present only while more entries follow.\n\nWith `Accept: text/event-stream` the answer is a live tail: server-sent events with the stored entries after `cursor` or `Last-Event-ID`, then each new entry as it is committed.',
    output: pageDocument,
    headerParameters: [
      {
        name: LAST_EVENT_ID_HEADER,
        description: 'Only for the live tail: id of the last entry seen. It takes precedence over `cursor`.',
        schema: { type: 'string', pattern: '^\\d+$' },
      },
    ],
    mediaTypes: {
      'text/event-stream':
        'Each entry is sent as `id:` and `data:`. A comment is sent every 8 seconds. `event: error` with `{"error": "…"}` is sent when the stream ends.',
    },
    answerHeaders: {
      Link: {
        description: 'Address of the next page, with `rel="next"` (RFC 8288). Absent when no more entries follow.',
        schema: { type: 'string' },
      },
    },
    respond: (context, input, request) =>
      wantsStream(request.headers) ? streamOf(context, input, request) : pageOf(context, input),
  }),
];

async function pageOf(context: OperationContext, input: ListFeedInput): Promise<HttpAnswer> {
  try {
    const { entries, nextCursor, hasMore } = await listFeed(context, input);
    const headers: Record<string, string> = hasMore ? { Link: nextLink(context, input, nextCursor) } : {};
    return answerJson({ items: entries.map(toFeedEntry), nextCursor }, { headers });
  } finally {
    context.budget.close();
  }
}

/** The `Link` header with the address of the next page (RFC 8288). */
function nextLink({ settings }: OperationContext, { limit, types }: ListFeedInput, cursor: string): string {
  const query = new URLSearchParams({ limit: String(limit), cursor, ...(types && { types: types.join(',') }) });
  return `<${settings.publicUrl}/v1/feed?${query}>; rel="next"`;
}

async function streamOf(
  context: OperationContext,
  { cursor, types }: ListFeedInput,
  request: HttpRequest,
): Promise<HttpAnswer> {
  const after = cursorId(request.headers.get(LAST_EVENT_ID_HEADER), LAST_EVENT_ID_HEADER) ?? idOf(cursor);
  const gone = new AbortController();
  const signal = AbortSignal.any([request.signal, gone.signal]);
  const pages = await tailFeed(context, { after, types, signal });
  return answerWith(
    eventStream(partsOf(context, pages), () => gone.abort()),
    { headers: EVENT_STREAM_HEADERS },
  );
}

async function* partsOf(
  { toDomainError }: Pick<OperationContext, 'toDomainError'>,
  pages: AsyncIterable<readonly FeedEntryRow[]>,
): AsyncGenerator<string, void, undefined> {
  try {
    for await (const entries of pages)
      yield entries.map((entry) => writeEvent({ id: entry.id, data: JSON.stringify(toFeedEntry(entry)) })).join('');
  } catch (error) {
    yield writeError(toDomainError(error).message);
  }
}
