import type { z } from 'zod';
import { type HttpAnswer, answerWith } from '../../core/http/messages.ts';
import { textStream } from '../../core/http/ndjson.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type ExportedEntries, type ExportedEvents, exportSession } from './export.ts';
import type { exportSessionInput } from './input.ts';
import { createMarkdown } from './markdown.ts';
import { eventStream, writeError, writeEvent } from '../../core/http/server-sent-events.ts';
import type { Tailed } from './live-tail.ts';
import type { SessionEventRow } from './queries.ts';
import type { FileLines } from './transcript-export.ts';

/** The files of `exportSession`, as streams of text. */

type Texts = AsyncGenerator<string, void, undefined>;

const FILES = {
  transcript: { type: 'application/x-ndjson; charset=utf-8', extension: 'transcript.ndjson' },
  ndjson: { type: 'application/x-ndjson; charset=utf-8', extension: 'ndjson' },
  markdown: { type: 'text/markdown; charset=utf-8', extension: 'md' },
} as const;

export async function fileOf(
  context: OperationContext,
  input: z.output<typeof exportSessionInput>,
): Promise<HttpAnswer> {
  const exported = await exportSession(context, input);
  const { type, extension } = FILES[input.format];
  const texts =
    'lines' in exported
      ? transcript(exported.lines)
      : 'entries' in exported
        ? markdown(exported)
        : ndjson(exported);
  return answerWith(
    textStream(texts, () => context.budget.close()),
    {
      headers: {
        'Content-Type': type,
        'Content-Disposition': `attachment; filename="session-${exported.session.id}.${extension}"`,
      },
    },
  );
}

async function* transcript(lines: FileLines): Texts {
  for await (const some of lines) yield some.map((line) => `${JSON.stringify(line)}\n`).join('');
}

async function* ndjson({ pages }: ExportedEvents): Texts {
  for await (const events of pages) yield events.map((event) => `${eventToJson(event)}\n`).join('');
}

async function* markdown({ session, usage, entries }: ExportedEntries): Texts {
  const text = createMarkdown();
  const { title, agent, state, createdAt } = session;
  yield text.head({ title, agent, state, createdAt, usage });
  for await (const some of entries) yield some.map((entry) => text.entry(entry)).join('');
}

/**
 * Converts pages of events to server-sent events. The SSE id of an event is its cursor, so that a client can resume.
 * `event: end` follows the last event. `event: error` contains the reason when the stream ends early.
 */
export function toEventStream(
  { toDomainError }: Pick<OperationContext, 'toDomainError'>,
  pages: Tailed['pages'],
  onCancel: () => void,
): ReadableStream<Uint8Array> {
  return eventStream(partsOf(pages, toDomainError), onCancel);
}

async function* partsOf(
  pages: Tailed['pages'],
  toDomainError: OperationContext['toDomainError'],
): AsyncGenerator<string, void, undefined> {
  try {
    let next = await pages.next();
    for (; next.done !== true; next = await pages.next())
      yield next.value.map((event) => writeEvent({ id: event.id, data: eventToJson(event) })).join('');
    // With the id, a client that reconnects by itself resumes at the end, even if a filter excludes the last events.
    yield writeEvent({ event: 'end', id: next.value, data: '{}' });
  } catch (error) {
    yield writeError(toDomainError(error).message);
  }
}

/** The documented JSON of an event (Workspace Management API, section 6). The recorded JSON text of its data is inserted unchanged. */
export function eventToJson(row: SessionEventRow): string {
  const { id, createdAt, eventType, messageId, sessionId, provider, eventData } = row;
  const message = messageId === null ? 'null' : `"${messageId}"`;
  return `{"id":${id},"createdAt":"${createdAt}","eventType":${JSON.stringify(eventType)},"messageId":${message},"sessionId":"${sessionId}","provider":${JSON.stringify(provider)},"eventData":${eventData}}`;
}
