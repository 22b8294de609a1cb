import { isObject } from '../../../core/is-object.ts';
import { OutboundError } from '../../../core/outbound/outbound.ts';
import { EventSplitter, type ReceivedEvent, withData } from '../../../core/outbound/event-splitter.ts';
import { WORK } from '../../../core/work-budget.ts';

/** Messages besides the response. The client package answers each request of a server with a request to it. */
const MAX_OTHERS = 100;
/** Of a chunk that is processed at once: a text that turned out to be events is one chunk of any size. */
const PART_BYTES = 64 * 1024;

export interface StreamReading {
  /** The value of a JSON text; undefined for any other text. @throws OutboundError beyond a bound. */
  readonly parse: (text: string) => unknown;
  /** Changes a message before the package reads it. */
  readonly change: (message: unknown) => unknown;
  /** Whether a message ends the stream: nothing is read after the response to the only request. */
  readonly isLast: (message: unknown) => boolean;
  /** The message in place of the response when the stream fails; undefined to fail with it, because the package can resume the stream. */
  readonly failed: (error: unknown, canResume: boolean) => object | undefined;
}

/**
 * The events of an answer in the form that the client package reads in linear time: each with one message in one line. It gets only what it
 * needs: responses, ids of events, and requests of the server.
 */
export function changedEvents(source: ReadableStream<Uint8Array>, reading: StreamReading): ReadableStream<Uint8Array> {
  const parts = changedParts(source, reading);
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await parts.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => void (await parts.return()),
  });
}

async function* changedParts(
  source: ReadableStream<Uint8Array>,
  reading: StreamReading,
): AsyncGenerator<Uint8Array, void, undefined> {
  const messages = new Messages(reading);
  const encoder = new TextEncoder();
  try {
    for await (const event of eventsOf(source)) {
      const text = messages.textOf(event);
      if (text !== '') yield encoder.encode(text);
      if (messages.isOver) return;
    }
  } catch (error) {
    const message = reading.failed(error, messages.canResume);
    if (!message) throw error;
    yield encoder.encode(`data: ${JSON.stringify(message)}\n\n`);
  }
}

async function* eventsOf(source: ReadableStream<Uint8Array>) {
  const splitter = new EventSplitter(() => new OutboundError(`it answers with more than ${WORK.events} events`));
  for await (const chunk of source)
    for (let start = 0; start < chunk.byteLength; start += PART_BYTES)
      yield* splitter.push(chunk.subarray(start, start + PART_BYTES));
  const last = splitter.end();
  if (last) yield last;
}

/** The messages of a stream as the package gets them. */
class Messages {
  readonly #reading: StreamReading;
  #others = 0;
  isOver = false;
  canResume = false;

  constructor(reading: StreamReading) {
    this.#reading = reading;
  }

  textOf(event: ReceivedEvent): string {
    const { parse, change, isLast } = this.#reading;
    const document = event.data === undefined ? undefined : parse(event.data);
    const sent: readonly unknown[] = Array.isArray(document) ? document : [document];
    const messages = sent.filter((message) => this.#isNeeded(message)).map(change);
    this.isOver = messages.some(isLast);
    if (event.fields.has('id')) {
      this.canResume = true;
      // An event without a message tells where to resume.
      if (messages.length === 0) return withData(event, '');
    }
    return messages.map((message) => withData(event, JSON.stringify(message))).join('');
  }

  #isNeeded(message: unknown): boolean {
    if (!isObject(message)) return false;
    if (this.#reading.isLast(message)) return true;
    return (!('method' in message) || message['id'] !== undefined) && (this.#others += 1) <= MAX_OTHERS;
  }
}
