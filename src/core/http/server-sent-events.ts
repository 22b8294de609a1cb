import { chooseMediaType, prefers } from './accept.ts';
import { type HttpAnswer, type HttpHeaders, answerWith } from './messages.ts';

/** Server-sent events (WHATWG HTML, section 9.2), as the live tail and GraphQL subscriptions send them. */

export const EVENT_STREAM = 'text/event-stream';

/** The id of the last event of a stream that has none of its own. A client that resumes with it is at the end. */
export const END_ID = 'end';

/** Interval of comments, which keep intermediaries from closing an idle connection. */
const PING_MS = 8_000;

/** The header with which a client resumes (HTML, section 9.2.3). */
export const LAST_EVENT_ID_HEADER = 'Last-Event-ID';

export const EVENT_STREAM_HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
} as const;

/** The answer to a resumption after the end: an `EventSource` stops to reconnect (HTML, section 9.2.2). */
export const STOP_RECONNECTING: HttpAnswer = answerWith(null, { status: 204 });

const encoder = new TextEncoder();

export interface ServerSentEvent {
  /** The id from which the client can resume; without it the previous id stays valid. */
  readonly id?: string | number | undefined;
  readonly event?: string;
  readonly data: string;
}

export function writeEvent({ id, event, data }: ServerSentEvent): string {
  // A line end, which JSON has only between tokens, would end the field.
  const line = data.replaceAll(/[\r\n]+/g, ' ');
  return `${event === undefined ? '' : `event: ${event}\n`}${id === undefined ? '' : `id: ${id}\n`}data: ${line}\n\n`;
}

/**
 * A stream of serialized events with backpressure: a reader that does not read stops the source after one part.
 * `onCancel` is called when the reader has left; it must end the source, even if that was never read.
 */
export function eventStream(parts: AsyncIterator<string, unknown>, onCancel: () => void): ReadableStream<Uint8Array> {
  let pings: NodeJS.Timeout | undefined;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(encoder.encode(': connected\n\n'));
    },
    async pull(controller) {
      const ping = () => (controller.desiredSize ?? 0) > 0 && controller.enqueue(encoder.encode(': ping\n\n'));
      // Starts with the first read and runs only while the reader waits: a stream that nobody reads leaves nothing behind.
      pings ??= setInterval(ping, PING_MS).unref();
      try {
        const { done, value } = await parts.next();
        if (done !== true) return controller.enqueue(encoder.encode(value));
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

/** Whether the client asks for a stream instead of a page. */
export const wantsStream = (headers: HttpHeaders): boolean => prefers(EVENT_STREAM, headers);

/** Whether the client accepts a stream, in whatever order it names what it accepts. Clients of MCP name JSON first. */
export function acceptsStream(headers: HttpHeaders): boolean {
  const accept = headers.get('accept') ?? '';
  return accept.toLowerCase().includes(EVENT_STREAM) && chooseMediaType(accept, [EVENT_STREAM]) !== undefined;
}

/** The last event of a stream that has failed, since its HTTP status is already sent. */
export const writeError = (message: string): string =>
  writeEvent({ event: 'error', data: JSON.stringify({ error: message }) });
