/** Server-sent events (WHATWG HTML, section 9.2), as the live tail and GraphQL subscriptions send them. */

/** A comment is sent this often, so that nothing in between takes a quiet connection for a dead one. */
const PING_MS = 8_000;

/** What a client that reconnects sends (section 9.2.3). */
export const LAST_EVENT_ID_HEADER = 'Last-Event-ID';

export const EVENT_STREAM_HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
} as const;

const encoder = new TextEncoder();

export interface ServerSentEvent {
  /** Where the client resumes; without it the id of the event before stays. */
  readonly id?: string | number | undefined;
  readonly event?: string;
  readonly data: string;
}

export function writeEvent({ id, event, data }: ServerSentEvent): string {
  // A line end, which JSON has between its tokens alone, would end the field.
  const line = data.replaceAll(/[\r\n]+/g, ' ');
  return `${event === undefined ? '' : `event: ${event}\n`}${id === undefined ? '' : `id: ${id}\n`}data: ${line}\n\n`;
}

/**
 * A stream of written events. A reader who does not read stops the source, which holds one part at most. `onCancel` is called when the reader
 * is gone; it must end the source, also when that has never been read.
 */
export function eventStream(parts: AsyncIterator<string, unknown>, onCancel: () => void): ReadableStream<Uint8Array> {
  let pings: NodeJS.Timeout | undefined;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(encoder.encode(': connected\n\n'));
    },
    async pull(controller) {
      const ping = () => (controller.desiredSize ?? 0) > 0 && controller.enqueue(encoder.encode(': ping\n\n'));
      // Only to a reader who waits, and from the first read on: a stream that nobody reads leaves nothing behind.
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
