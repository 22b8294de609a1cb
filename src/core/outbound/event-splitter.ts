import { GrowingBytes } from '../growing-bytes.ts';
import { WORK, WorkSlices } from '../work-budget.ts';

/** An event of a stream of server-sent events (WHATWG HTML, section 9.2). A comment is one, too. */
export interface ReceivedEvent {
  /** As the server sent it, with the empty line that ends it and those before it. */
  readonly bytes: Buffer;
  /** Undefined for an event without the field. */
  readonly data: string | undefined;
  /** The other fields that the specification knows, each with its last value. */
  readonly fields: ReadonlyMap<string, string>;
}

/**
 * Splits a stream of server-sent events, whatever its chunks. The work is linear in the bytes: each is searched once and copied a few times,
 * and between the events other requests run. Lines end with LF, CRLF or CR.
 */
export class EventSplitter {
  readonly #tooMany: () => Error;
  /** The bytes of the event that is not complete yet. */
  readonly #held = new GrowingBytes();
  /** Where the line begins that is not complete yet, in the held bytes. */
  #lineStart = 0;
  /** Whether a line of the event has any character. */
  #hasBegun = false;
  /** Whether the previous line ended with a carriage return. A line feed that follows belongs to it. */
  #isAfterReturn = false;
  #isFirstLine = true;
  readonly #data = new GrowingBytes();
  #dataLines = 0;
  #fields = new Map<string, string>();
  #count = 0;

  /** @param tooMany The error for a stream with more events than an answer may have. */
  constructor(tooMany: () => Error) {
    this.#tooMany = tooMany;
  }

  /** The number of bytes of the event that is not complete yet. */
  get heldBytes(): number {
    return this.#held.length;
  }

  /** The events that are complete with this chunk. @throws the error of the constructor. */
  async *push(chunk: Uint8Array): AsyncGenerator<ReceivedEvent, void, undefined> {
    const slices = new WorkSlices();
    const searched = this.#held.length;
    this.#held.append(chunk);
    const bytes = this.#held.view();
    const lineEnds = new LineEnds(bytes, searched);
    let eventStart = 0;
    for (;;) {
      this.#skipLineEnds(bytes);
      const end = lineEnds.next(this.#lineStart);
      if (end < 0) break;
      const isEmpty = this.#readLine(bytes, end);
      this.#isAfterReturn = bytes[end] === CR;
      this.#lineStart = end + 1;
      if (!isEmpty || !this.#hasBegun) continue;
      // Of CRLF both bytes belong to the event, unless the second one is in the next chunk.
      if (this.#isAfterReturn && bytes[this.#lineStart] === LF) this.#lineStart += 1;
      yield this.#take(bytes.subarray(eventStart, this.#lineStart));
      eventStart = this.#lineStart;
      if (slices.isOver()) await slices.pause();
    }
    this.#held.drop(eventStart);
    this.#lineStart -= eventStart;
  }

  /** The event that the end of the stream completes: some servers do not write the empty line after the last one. */
  end(): ReceivedEvent | undefined {
    const bytes = this.#held.view();
    if (this.#lineStart < bytes.length) this.#readLine(bytes, bytes.length);
    const event = bytes.length === 0 ? undefined : this.#take(bytes);
    this.#held.drop(bytes.length);
    return event;
  }

  #take(bytes: Buffer): ReceivedEvent {
    this.#count += 1;
    if (this.#count > WORK.events) throw this.#tooMany();
    const data = this.#dataLines === 0 ? undefined : this.#data.view().toString();
    const event = { bytes: Buffer.from(bytes), data, fields: this.#fields };
    this.#hasBegun = false;
    this.#dataLines = 0;
    this.#data.drop(this.#data.length);
    this.#fields = new Map();
    return event;
  }

  /** Skips what does not end a line: the line feed of CRLF, and empty lines before an event. */
  #skipLineEnds(bytes: Buffer): void {
    let at = this.#lineStart;
    if (this.#isAfterReturn && bytes[at] === LF) at += 1;
    if (!this.#hasBegun) while (bytes[at] === LF || bytes[at] === CR) at += 1;
    if (at < bytes.length) this.#isAfterReturn = false;
    this.#lineStart = at;
  }

  /** Reads the line up to `end`. @returns whether it is empty. */
  #readLine(bytes: Buffer, end: number): boolean {
    const start = this.#lineStart + (this.#isFirstLine && bytes.indexOf(BYTE_ORDER_MARK) === 0 ? 3 : 0);
    this.#isFirstLine = false;
    if (start === end) return true;
    this.#hasBegun = true;
    const first = bytes[start];
    if (first === D) this.#readData(bytes.subarray(start, end));
    else if (first === E || first === I || first === R) this.#readField(bytes.toString('utf8', start, end));
    return false;
  }

  #readData(line: Buffer): void {
    if (line.compare(DATA, 0, 4, 0, 4) !== 0 || (line.length > 4 && line[4] !== COLON)) return;
    if (this.#dataLines > 0) this.#data.append(LINE_FEED);
    this.#data.append(line.subarray(line[5] === SPACE ? 6 : 5));
    this.#dataLines += 1;
  }

  #readField(line: string): void {
    const [, name, value = ''] = /^(event|id|retry)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name !== undefined) this.#fields.set(name, value);
  }
}

/** Finds the ends of lines. No part of the bytes is searched twice for the same character. */
class LineEnds {
  readonly #bytes: Buffer;
  #feed: number;
  #return: number;

  constructor(bytes: Buffer, from: number) {
    this.#bytes = bytes;
    this.#feed = bytes.indexOf(LF, from);
    this.#return = bytes.indexOf(CR, from);
  }

  /** The position of the first line end after `from`; -1 if there is none. */
  next(from: number): number {
    const bytes = this.#bytes;
    if (bytes[from] === LF || bytes[from] === CR) return from;
    if (this.#feed >= 0 && this.#feed < from) this.#feed = bytes.indexOf(LF, from);
    if (this.#return >= 0 && this.#return < from) this.#return = bytes.indexOf(CR, from);
    if (this.#feed < 0 || this.#return < 0) return Math.max(this.#feed, this.#return);
    return Math.min(this.#feed, this.#return);
  }
}

const [LF, CR, SPACE, COLON, D, E, I, R] = [0x0a, 0x0d, 0x20, 0x3a, 0x64, 0x65, 0x69, 0x72];
const LINE_FEED = Buffer.from('\n');
const DATA = Buffer.from('data');
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** An event with the same fields and other data, which has one line. */
export function withData({ fields }: Pick<ReceivedEvent, 'fields'>, data: string): string {
  const others = [...fields].map(([name, value]) => `${name}: ${value}\n`);
  return `${others.join('')}data: ${data}\n\n`;
}
