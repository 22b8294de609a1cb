/** Opcodes of frames (RFC 6455, section 5.2). */
export const BINARY = 0x2;
export const PING = 0x9;

const FIRST_CONTROL = 0x8;
const FINAL = 0x80;
const MASKED = 0x80;
const OPCODE = 0x0f;
const LENGTH = 0x7f;
/** Values of the length in the second byte that mean a longer one in the bytes after it. */
const LENGTH_16 = 126;
const LENGTH_64 = 127;

/** Follows the frames of a WebSocket, of which it keeps nothing, to know what arrives before it is complete. */
export class FrameReader {
  /** Number of messages and control frames that are complete. */
  complete = 0;
  readonly #onFrame: (opcode: number) => void;
  #header: number[] = [];
  #payloadLeft = 0;
  #hasMoreFrames = false;

  /** `onFrame` is called for the header of each frame. */
  constructor(onFrame: (opcode: number) => void) {
    this.#onFrame = onFrame;
  }

  /** Whether something has begun that is not complete. */
  get isWithin(): boolean {
    return this.#header.length > 0 || this.#payloadLeft > 0 || this.#hasMoreFrames;
  }

  read(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length;) {
      if (this.#payloadLeft > 0) {
        const taken = Math.min(this.#payloadLeft, chunk.length - at);
        this.#payloadLeft -= taken;
        at += taken;
      } else {
        this.#header.push(chunk[at] ?? 0);
        at += 1;
        if (this.#header.length === headerLength(this.#header)) this.#begin(this.#header);
      }
      if (!this.isWithin) this.complete += 1;
    }
  }

  #begin([first = 0, second = 0, ...rest]: readonly number[]): void {
    const opcode = first & OPCODE;
    const length = second & LENGTH;
    const longer = rest.slice(0, lengthBytes(second));
    this.#payloadLeft = longer.length === 0 ? length : longer.reduce((sum, byte) => sum * 256 + byte, 0);
    if (opcode < FIRST_CONTROL) this.#hasMoreFrames = (first & FINAL) === 0;
    this.#header = [];
    this.#onFrame(opcode);
  }
}

const headerLength = ([, second]: readonly number[]): number =>
  second === undefined ? 2 : 2 + lengthBytes(second) + (second >= MASKED ? 4 : 0);

/** How many bytes after the second one have the length. */
function lengthBytes(second: number): number {
  const length = second & LENGTH;
  if (length === LENGTH_16) return 2;
  return length === LENGTH_64 ? 8 : 0;
}
