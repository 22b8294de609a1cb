import { write, writeSync } from 'node:fs';

/** A write for each line would be more expensive than the line, so lines are written in blocks, at the latest after {@link FLUSH_MS}. */
const BLOCK_CHARACTERS = 8_192;
const FLUSH_MS = 250;
/** How many characters wait for a reader that does not read; further lines are lost. */
const WAITING_CHARACTERS = 8 * 1024 * 1024;
/** After this time a full pipe is tried again; at the end of the process, {@link LAST_RETRIES} times. */
const RETRY_MS = 10;
const LAST_RETRIES = 50;
const NEWLINE = 10;
const NOTHING = Buffer.alloc(0);

export interface Loss {
  readonly lines: number;
  readonly code: string | undefined;
}

/**
 * The file, pipe or device that receives the log. Lines that cannot be written, because the disk is full or the pipe is closed, are
 * counted and lost; nothing fails or waits because of them. (sonic-boom, the usual destination of pino, repeats a failed write
 * endlessly when the process ends.)
 */
export class LogOutput {
  /** Lines that were lost since the start. */
  linesLost = 0;
  readonly #fd: number;
  readonly #onLoss: (loss: Loss) => void;
  #lines = '';
  /** What is left of the block that is being written. */
  #block: Buffer = NOTHING;
  #isBusy = false;
  #isWriting = false;
  #timer: NodeJS.Timeout | undefined;
  /** Whether the output ends within a line, the rest of which is lost, so that the block begins by ending it. */
  #isTorn = false;
  #endsLine = false;
  /** What is lost and not reported yet, and whether the block ends with the report. */
  #loss: Loss | undefined;
  #isReported = false;
  #onFlushed: (() => void)[] = [];

  /** @param onLoss is called before each further attempt to write with what was lost before, and adds a line about it. */
  constructor(fd: number, onLoss: (loss: Loss) => void) {
    this.#fd = fd;
    this.#onLoss = onLoss;
  }

  write(line: string): void {
    if (this.#timer === undefined) {
      this.#timer = setInterval(() => this.#next(), FLUSH_MS).unref();
      process.on('exit', () => this.#finish());
    }
    if (this.#lines.length > WAITING_CHARACTERS) return this.#lose(1, 'EAGAIN');
    this.#lines += line;
    if (this.#lines.length >= BLOCK_CHARACTERS) this.#next();
  }

  /** Calls back when all lines so far are written or lost. */
  flush(done: () => void): void {
    this.#onFlushed.push(done);
    this.#next();
  }

  #next(): void {
    if (this.#isBusy) return;
    this.#isBusy = true;
    const lines = this.#lines;
    this.#lines = '';
    if (this.#loss) this.#onLoss(this.#loss);
    this.#isReported = this.#lines !== '';
    this.#lines = lines + this.#lines;
    this.#endsLine = this.#isTorn;
    this.#block = this.#takeLines();
    if (this.#block.length > 0) return this.#write();
    this.#isBusy = false;
    for (const done of this.#onFlushed.splice(0)) done();
  }

  #takeLines(): Buffer {
    const bytes = Buffer.from(this.#isTorn && this.#lines !== '' ? `\n${this.#lines}` : this.#lines);
    this.#lines = '';
    return bytes;
  }

  #write(): void {
    this.#isWriting = true;
    write(this.#fd, this.#block, (error, written) => {
      this.#isWriting = false;
      if (isFull(error)) {
        setTimeout(() => this.#write(), RETRY_MS).unref();
        return;
      }
      if (error) {
        this.#lose(linesIn(this.#block) - Number(this.#isReported) - Number(this.#endsLine), error.code);
      } else {
        this.#isTorn = this.#block[written - 1] !== NEWLINE;
        this.#endsLine = false;
        this.#block = this.#block.subarray(written);
        if (this.#block.length > 0) return this.#write();
        if (this.#isReported) this.#loss = undefined;
      }
      this.#block = NOTHING;
      this.#isBusy = false;
      if (this.#lines === '') for (const done of this.#onFlushed.splice(0)) done();
      else if (this.#onFlushed.length > 0 || this.#lines.length >= BLOCK_CHARACTERS) this.#next();
    });
  }

  /** Writes what is left when the process ends. */
  #finish(): void {
    let bytes = Buffer.concat([this.#isWriting ? NOTHING : this.#block, this.#takeLines()]);
    for (let retries = 0; bytes.length > 0;) {
      try {
        bytes = bytes.subarray(writeSync(this.#fd, bytes));
      } catch (error) {
        if (!isFull(error) || retries === LAST_RETRIES) return;
        retries += 1;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
      }
    }
  }

  #lose(lines: number, code: string | undefined): void {
    this.linesLost += lines;
    this.#loss = { lines: lines + (this.#loss?.lines ?? 0), code };
  }
}

function linesIn(bytes: Buffer): number {
  let lines = 0;
  for (const byte of bytes) if (byte === NEWLINE) lines += 1;
  return lines;
}

/** Whether a pipe has no space because its reader does not read. */
const isFull = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EAGAIN';
