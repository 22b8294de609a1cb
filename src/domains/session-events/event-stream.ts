import type { OperationContext } from '../../core/operation.ts';
import { type SessionEventRow, eventToJson } from './queries.ts';

/** A comment is sent this often, so that no one between takes a quiet connection for dead. */
const PING_MS = 8_000;

const encoder = new TextEncoder();

/**
 * Pages of events as server-sent events (WHATWG HTML, section 9.2): the id of each is its cursor, so that a client resumes where it was.
 * `event: end` follows the last; `event: error` says why there are no more: the caller may not see them, or the gateway failed. A reader who does not read holds one page, and the
 * store is read no further; `onCancel` is told when they are gone.
 */
export function toEventStream(
  { toDomainError }: Pick<OperationContext, 'toDomainError'>,
  pages: AsyncGenerator<readonly SessionEventRow[], void, undefined>,
  onCancel: () => void,
): ReadableStream<Uint8Array> {
  const chunks = chunksOf(pages, toDomainError);
  let pings: NodeJS.Timeout | undefined;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(encoder.encode(': connected\n\n'));
    },
    async pull(controller) {
      const ping = () => (controller.desiredSize ?? 0) > 0 && controller.enqueue(encoder.encode(': ping\n\n'));
      // Only to a reader who waits: for others they would pile up. From the first read on: a stream that nobody reads leaves nothing behind.
      pings ??= setInterval(ping, PING_MS).unref();
      try {
        const { done, value } = await chunks.next();
        if (!done) return controller.enqueue(encoder.encode(value));
        controller.close();
      } catch (error) {
        controller.error(error);
      }
      clearInterval(pings);
    },
    cancel() {
      clearInterval(pings);
      onCancel();
    },
  });
}

async function* chunksOf(
  pages: AsyncIterable<readonly SessionEventRow[]>,
  toDomainError: OperationContext['toDomainError'],
): AsyncGenerator<string, void, undefined> {
  try {
    for await (const events of pages) yield events.map(messageOf).join('');
    yield 'event: end\ndata: {}\n\n';
  } catch (error) {
    // The status is sent already: what is told goes into the stream.
    yield `event: error\ndata: ${JSON.stringify({ error: toDomainError(error).message })}\n\n`;
  }
}

/** Line ends, which JSON has between its tokens alone, end a field of the message. */
function messageOf(event: SessionEventRow): string {
  return `id: ${event.id}\ndata: ${eventToJson(event).replaceAll(/[\r\n]+/g, ' ')}\n\n`;
}
