/** Splits a stream of server-sent events (WHATWG HTML, section 9.2) into whole events, whose bytes do not change. */
export class EventSplitter {
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** Whether the bytes since the last line feed are none, or only a carriage return. */
  #isLineEmpty = true;

  /** The number of bytes of the event that is not complete yet. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** @returns the events that are complete with this chunk, each with its empty line. */
  push(chunk: Uint8Array): Buffer[] {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const events: Buffer[] = [];
    let start = 0;
    let lineStart = 0;
    for (let end = bytes.indexOf(LF); end >= 0; end = bytes.indexOf(LF, lineStart)) {
      const isEmpty = this.#isLineEmpty && isBlank(bytes, lineStart, end);
      this.#isLineEmpty = true;
      lineStart = end + 1;
      // Empty lines before an event belong to it.
      if (!isEmpty || (this.#heldBytes === 0 && start === end)) continue;
      events.push(this.#take(bytes.subarray(start, lineStart)));
      start = lineStart;
    }
    this.#isLineEmpty &&= isBlank(bytes, lineStart, bytes.length);
    if (start < bytes.length) {
      // A copy, because the chunk may be a part of a larger buffer.
      this.#held.push(Buffer.from(bytes.subarray(start)));
      this.#heldBytes += bytes.length - start;
    }
    return events;
  }

  /** The bytes after the last complete event. */
  rest(): Buffer {
    return this.#take(Buffer.alloc(0));
  }

  #take(last: Buffer): Buffer {
    if (this.#held.length === 0) return last;
    const event = Buffer.concat([...this.#held, last]);
    this.#held = [];
    this.#heldBytes = 0;
    return event;
  }
}

const LF = 10;
const CR = 13;

function isBlank(bytes: Buffer, start: number, end: number): boolean {
  return end === start || (end === start + 1 && bytes[start] === CR);
}

/** The data of an event; undefined if it has none, like a comment. */
export function dataOf(event: Buffer): string | undefined {
  const lines = event
    .toString()
    .split(/\r?\n/)
    .flatMap((line) => (/^data(?::|$)/.test(line) ? [line.replace(/^data:? ?/, '')] : []));
  return lines.length === 0 ? undefined : lines.join('\n');
}

/** The event with other data, of one line, and its other fields. */
export function withData(event: Buffer, data: Buffer): Buffer {
  const others = event
    .toString()
    .split(/\r?\n/)
    .filter((line) => line !== '' && !/^data(?::|$)/.test(line))
    .map((line) => `${line}\n`);
  return Buffer.concat([Buffer.from(`${others.join('')}data: `), data, Buffer.from('\n\n')]);
}

/** Whether an event has an id, from which a client can resume. */
export function hasId(event: Buffer): boolean {
  return /(?:^|\n)id:/.test(event.toString('latin1'));
}
