import type { z } from 'zod';
import { type HttpAnswer, answerWith } from '../../core/http/messages.ts';
import { textStream } from '../../core/http/text-stream.ts';
import type { OperationContext } from '../../core/operation.ts';
import type { EventData } from './event-data.ts';
import { type ExportedSession, exportSession } from './export.ts';
import type { exportSessionInput } from './input.ts';
import { createMarkdown } from './markdown.ts';
import { eventToJson } from './rest-document.ts';

/** The files of `exportSession`, as streams of text. */

type Texts = AsyncGenerator<string, void, undefined>;

const FILES = {
  ndjson: { type: 'application/x-ndjson; charset=utf-8', extension: 'ndjson', textsOf: ndjson },
  markdown: { type: 'text/markdown; charset=utf-8', extension: 'md', textsOf: markdown },
} as const;

export async function fileOf(
  context: OperationContext,
  input: z.output<typeof exportSessionInput>,
): Promise<HttpAnswer> {
  const exported = await exportSession(context, input);
  const { type, extension, textsOf } = FILES[input.format];
  return answerWith(
    textStream(textsOf(exported), () => context.budget.close()),
    {
      headers: {
        'Content-Type': type,
        'Content-Disposition': `attachment; filename="session-${exported.session.id}.${extension}"`,
      },
    },
  );
}

async function* ndjson({ pages }: ExportedSession): Texts {
  for await (const events of pages) yield events.map((event) => `${eventToJson(event)}\n`).join('');
}

async function* markdown({ session, usage, pages }: ExportedSession): Texts {
  const text = createMarkdown();
  const { title, agent, state, createdAt } = session;
  yield text.head({ title, agent, state, createdAt, usage });
  for await (const events of pages)
    yield events.map(({ eventData }) => text.event(JSON.parse(eventData) as EventData)).join('');
  yield text.end();
}
