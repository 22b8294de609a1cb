import { EventSplitter, type ReceivedEvent } from '../../core/outbound/event-splitter.ts';
import { OutboundError } from '../../core/outbound/outbound.ts';
import type { StreamedAnswer } from '../../core/outbound/streamed-answer.ts';
import { settlesWithin } from '../../core/concurrency.ts';
import type { Deadline } from './server-call.ts';
import { MAX_ANSWER_BYTES, answerTooLarge, brokenAnswer, tooManyEvents } from './upstream.ts';
import { UpstreamError } from './errors.ts';

interface PassedStreamOptions {
  readonly answer: StreamedAnswer;
  readonly deadline: Deadline;
  readonly pingMs: number;
  /** Maximum size of the whole stream; undefined for one that is bounded by time only. */
  readonly maxBytes: number | undefined;
  /** Called with each event before it is passed on. @returns what is passed on in its place. */
  readonly onEvent?: (event: ReceivedEvent) => Uint8Array;
  /** The last event for a client that would otherwise not learn why the stream ends; undefined if it can resume the stream. */
  readonly lastEvent: (error: UpstreamError) => string | undefined;
  /** Called once, when the stream has ended or its reader has left, with the number of bytes. The end waits for it. */
  readonly onEnd: (bytes: number) => Promise<void>;
}

/** A line that clients ignore (HTML, section 9.2.6). It follows whole events only. */
export const PING = Buffer.from(': keep-alive\n');

/** Passes the events of a server on, each as soon as it is complete, with unchanged bytes. A silent stream is kept open by comments. */
export function passedStream(options: PassedStreamOptions): AsyncIterable<Uint8Array> {
  const { answer, deadline } = options;
  const source = answer.body[Symbol.asyncIterator]();
  const splitter = new EventSplitter(tooManyEvents);
  const ready: Uint8Array[] = [];
  const passed = (event: ReceivedEvent) => options.onEvent?.(event) ?? event.bytes;
  let bytes = 0;
  let isOver = false;
  let ended: Promise<void> | undefined;
  /** Thrown by the next read, because the error can come while nobody reads. */
  let failure: { readonly error: unknown } | undefined;
  const end = () => {
    isOver = true;
    if (ended) return ended;
    deadline.end();
    answer.discard();
    return (ended = options.onEnd(bytes));
  };

  async function readMore(): Promise<void> {
    const { done, value } = await source.next();
    if (done === true) {
      const last = splitter.end();
      if (last) ready.push(passed(last));
      return end();
    }
    deadline.onBytes(value.byteLength);
    bytes += value.byteLength;
    for await (const event of splitter.push(value)) ready.push(passed(event));
    if (splitter.heldBytes > MAX_ANSWER_BYTES || bytes > (options.maxBytes ?? Infinity)) throw answerTooLarge();
  }

  async function fail(error: unknown): Promise<void> {
    const known = error instanceof OutboundError ? brokenAnswer(error) : error;
    const last = known instanceof UpstreamError ? options.lastEvent(known) : undefined;
    // A client that can resume the stream does so when the connection breaks.
    if (last === undefined) failure = { error: known };
    else ready.push(Buffer.from(last));
    // Last, because a reader ends as soon as the stream is over and nothing is ready.
    await end();
  }

  let reading: Promise<void> | undefined;
  const iterator: AsyncIterator<Uint8Array, undefined> = {
    async next() {
      for (;;) {
        const value = ready.length > 1 ? Buffer.concat(ready) : ready[0];
        ready.length = 0;
        if (value !== undefined) return { done: false, value };
        if (isOver) {
          await ended;
          if (failure) throw failure.error;
          return { done: true, value: undefined };
        }
        reading ??= readMore()
          .catch(fail)
          .finally(() => (reading = undefined));
        if ((await settlesWithin(reading, options.pingMs)) || isOver) continue;
        return { done: false, value: PING };
      }
    },
    return: () => end().then(() => ({ done: true, value: undefined })),
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
