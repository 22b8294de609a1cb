import { CLOSE_CODES } from '../../core/http/close-codes.ts';
import type { ApiKeyId } from '../../core/ids.ts';
import { WORK } from '../../core/work-budget.ts';
import type { SocketPlace } from '../admission/socket-limits.ts';
import { BINARY, FrameReader, PING } from './websocket-frames.ts';

export interface SocketFault {
  readonly code: number;
  readonly reason: string;
}

interface GuardParts {
  readonly place: SocketPlace;
  /** Maximum time in which a message must be complete. */
  readonly messageTimeoutMs: number;
  readonly end: (fault: SocketFault) => void;
}

/** A small chunk takes this much memory until its message is complete, however few bytes it has. */
const MIN_CHUNK_BYTES = 512;

/** Bounds what a client sends before it is read as messages: until it is admitted, and until a message is complete. */
export class SocketGuard {
  readonly #parts: GuardParts;
  readonly #frames = new FrameReader((opcode) => this.#note(opcode));
  #isAdmitted = false;
  #fault: SocketFault | undefined;
  /** Bytes before the admission. */
  #received = 0;
  /** Bytes of the message that is not complete. */
  #held = 0;
  #deadline: NodeJS.Timeout | undefined;

  constructor(parts: GuardParts) {
    this.#parts = parts;
  }

  /** Called with the bytes of the connection. */
  readonly onData = (chunk: Uint8Array): void => {
    const bytes = Math.max(chunk.length, MIN_CHUNK_BYTES);
    const { complete } = this.#frames;
    this.#frames.read(chunk);
    const isNew = this.#frames.complete > complete;
    const { isWithin } = this.#frames;
    this.#held = isWithin ? bytes + (isNew ? 0 : this.#held) : 0;
    const full = this.#parts.place.hold(this.#held);
    if (isNew || !isWithin) this.#endDeadline();
    if (isWithin) this.#deadline ??= setTimeout(this.#onDeadline, this.#parts.messageTimeoutMs);
    if (!this.#isAdmitted) this.#countBeforeAdmission(bytes);
    if (full !== undefined) this.#fault ??= FULL[full];
    if (this.#fault) this.#parts.end(this.#fault);
  };

  /** The caller is known. @returns false if the key has too many sockets. */
  admit(keyId: ApiKeyId): boolean {
    this.#isAdmitted = this.#parts.place.admit(keyId);
    return this.#isAdmitted;
  }

  /** Nothing more is read. */
  close(): void {
    this.#endDeadline();
    this.#parts.place.hold(0);
  }

  #note(opcode: number): void {
    if (opcode === BINARY) this.#fault ??= { code: CLOSE_CODES.NOT_TEXT, reason: 'messages must be text' };
    if (opcode === PING && !this.#isAdmitted)
      this.#fault ??= { code: CLOSE_CODES.UNAUTHORIZED, reason: 'Unauthorized' };
  }

  #countBeforeAdmission(bytes: number): void {
    this.#received += bytes;
    const { socketBytes: max } = WORK;
    if (this.#received > max)
      this.#fault ??= { code: CLOSE_CODES.TOO_LARGE, reason: `at most ${max} bytes before connection_ack` };
  }

  readonly #onDeadline = (): void => {
    const { complete } = this.#frames;
    // Timers run before what has arrived is read: the process may have been busy.
    setImmediate(() => {
      if (this.#frames.complete > complete || !this.#deadline) return;
      const seconds = this.#parts.messageTimeoutMs / 1000;
      this.#parts.end({ code: CLOSE_CODES.POLICY, reason: `a message must be complete within ${seconds} s` });
    });
  };

  #endDeadline(): void {
    clearTimeout(this.#deadline);
    this.#deadline = undefined;
  }
}

const FULL = {
  key: { code: CLOSE_CODES.TOO_MANY, reason: 'too many bytes of messages of the API key are not complete' },
  process: {
    code: CLOSE_CODES.TRY_AGAIN_LATER,
    reason: 'too many bytes of messages are not complete; try again later',
  },
} as const;
