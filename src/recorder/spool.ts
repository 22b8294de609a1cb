/** Lines on disk that are not sent. */

import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { say, textOf } from './common.ts';
import { MAX_BYTES, MAX_LINE_BYTES, MAX_LINES, MAX_MEMORY } from './limits.ts';

/** What is known of a run; `state.json` in its folder. */
export interface State {
  run: string;
  title: string;
  visibility: string;
  pid?: number;
  agent?: string;
  /** The id of the session that the agent has, or else of the run. */
  sourceId?: string | undefined;
  project?: string | undefined;
  branchName?: string | undefined;
  format?: string;
  map?: string | undefined;
  isResumed?: boolean;
  session?: string;
  starts: number;
  isStarted: boolean;
  sent: number;
  batch?: number;
  outcome?: 'completed' | 'failed';
  errorText?: string;
}

/**
 * The lines of a run: `lines.ndjson` grows as the agent writes, and `state.json` says what was sent. What cannot be written to the file,
 * because there is no folder or the disk is full, is kept in memory.
 */
export class Spool {
  readonly folder: string | undefined;
  readonly state: State;
  /** Set when nothing more is written. */
  isComplete = false;
  #isSaved = true;
  readonly #file: number | undefined;
  #inFile = 0;
  /** What follows the file. It begins at `start`. */
  #memory = Buffer.alloc(0);
  #start = 0;

  constructor(folder: string | undefined, state: State) {
    this.folder = folder;
    this.state = state;
    if (folder === undefined) return;
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
    try {
      this.#file = fs.openSync(join(folder, 'lines.ndjson'), 'a+', 0o600);
      this.#inFile = this.#start = fs.fstatSync(this.#file).size;
      this.save(true);
    } catch (error) {
      this.remove();
      throw error;
    }
  }

  write(chunk: Buffer) {
    if (this.#file !== undefined && this.#start === this.#inFile && this.#memory.length === 0)
      try {
        fs.appendFileSync(this.#file, chunk);
        this.#inFile = this.#start += chunk.length;
        return;
      } catch (error) {
        say(
          `lines cannot be written to ${this.folder}: ${textOf(error)}. What follows is kept in memory until it is sent`,
        );
        // What was written of the chunk follows in memory, with the rest of it.
        fs.ftruncateSync(this.#file, this.#inFile);
      }
    if (this.#memory.length + chunk.length > MAX_MEMORY)
      throw new Error(`more than ${MAX_MEMORY / 1024 / 1024} MiB are not sent and only in memory`);
    this.#memory = Buffer.concat([this.#memory, chunk]);
  }

  /** At most so many bytes. */
  read(position: number, length: number): Buffer {
    if (position >= this.#start) return this.#memory.subarray(position - this.#start, position - this.#start + length);
    const buffer = Buffer.alloc(Math.min(length, this.#inFile - position));
    const count = buffer.length === 0 ? 0 : fs.readSync(this.#file as number, buffer, 0, buffer.length, position);
    const rest = this.read(this.#start, length - count);
    return rest.length === 0 ? buffer.subarray(0, count) : Buffer.concat([buffer.subarray(0, count), rest]);
  }

  get size() {
    return this.#start + this.#memory.length;
  }

  /** Where what is not sent is kept. */
  get place() {
    if (this.folder === undefined) return 'memory';
    return this.#memory.length === 0 ? this.folder : `${this.folder} and memory`;
  }

  /** The run goes on without what is saved, which only a later run needs. */
  save(isFirst = false) {
    if (this.folder === undefined) return;
    const path = join(this.folder, 'state.json');
    try {
      fs.writeFileSync(`${path}.new`, JSON.stringify(this.state), { mode: 0o600 });
      fs.renameSync(`${path}.new`, path);
    } catch (error) {
      if (isFirst) throw error;
      if (this.#isSaved) say(`the state of the recording cannot be written: ${textOf(error)}`);
      this.#isSaved = false;
    }
  }

  /** The lines that are next; undefined while there is no whole line. A batch that was begun keeps its end. */
  next() {
    const { sent, batch } = this.state;
    const next = nextBatch((position, length) => this.read(position, length), sent, batch, this.isComplete);
    if (next) this.state.batch = next.end;
    return next?.lines;
  }

  acknowledge() {
    this.state.sent = this.state.batch ?? this.state.sent;
    delete this.state.batch;
    const done = this.state.sent - this.#start;
    if (done > 0) {
      this.#memory = this.#memory.subarray(done);
      this.#start = this.state.sent;
    }
    this.save();
  }

  /** Writes to the file what is only in memory. @returns how many bytes are still only there */
  keep() {
    if (this.#memory.length === 0 || this.#file === undefined) return this.#memory.length;
    try {
      // What was sent from memory takes no room in the file.
      fs.ftruncateSync(this.#file, this.#start);
      fs.appendFileSync(this.#file, this.#memory);
      this.#inFile = this.#start += this.#memory.length;
      this.#memory = Buffer.alloc(0);
    } catch {
      fs.ftruncateSync(this.#file, this.#inFile);
    }
    return this.#memory.length;
  }

  get isSent() {
    return this.isComplete && this.state.sent === this.size;
  }

  remove() {
    if (this.#file !== undefined) fs.closeSync(this.#file);
    if (this.folder !== undefined) fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The next lines after a position, and where they end; undefined while there is no whole line. @param batch the end of a batch that was begun */
export function nextBatch(
  read: (position: number, length: number) => Buffer,
  sent: number,
  batch: number | undefined,
  isComplete: boolean,
) {
  if (batch !== undefined) return { lines: fitting(read(sent, batch - sent)), end: batch };
  let bytes = read(sent, MAX_BYTES);
  let end = endOfLines(bytes);
  if (end === 0 && bytes.length === MAX_BYTES) {
    bytes = read(sent, MAX_LINE_BYTES);
    end = bytes.indexOf(10) + 1;
    if (end === 0 && bytes.length === MAX_LINE_BYTES) end = endOfPart(bytes);
  }
  if (end === 0 && isComplete) end = bytes.length;
  if (end === 0) return undefined;
  const lines = fitting(bytes.subarray(0, end));
  // A long line that cannot be made shorter.
  if (lines.length > MAX_BYTES) end = endOfPart(bytes);
  return { lines: lines.subarray(0, end), end: sent + end };
}

/** Where the last whole line of a batch ends. */
export function endOfLines(bytes: Uint8Array) {
  let [end, count] = [0, 0];
  for (let at = bytes.indexOf(10); at !== -1 && count < MAX_LINES; at = bytes.indexOf(10, end)) {
    end = at + 1;
    count += 1;
  }
  return end;
}

/** Where a part of a line that is too long ends, which is not within a character. */
export function endOfPart(bytes: Uint8Array) {
  let end = MAX_BYTES;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return end;
}

/** A line that is too long for a request, with its longest texts cut, so that the gateway can read it; if it is no JSON, as it is. */
export function fitting(bytes: Buffer): Buffer {
  if (bytes.length <= MAX_BYTES) return bytes;
  try {
    const line: unknown = JSON.parse(bytes.toString());
    for (let longest = MAX_BYTES / 4; longest >= 1024; longest /= 2) {
      const shorter = Buffer.from(`${JSON.stringify(line, (_, value) => cut(value, longest))}\n`);
      if (shorter.length <= MAX_BYTES) return shorter;
    }
  } catch {
    // It is sent in parts.
  }
  return bytes;
}

export function cut(value: unknown, length: number) {
  if (typeof value !== 'string' || value.length <= length) return value;
  return `${value.slice(0, length)}\n[… ${value.length - length} more characters were not recorded]`;
}

/** Whether a process runs. */
export function isRunning(pid: number | undefined) {
  if (pid === undefined) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM';
  }
}

/** The other recordings in a folder, with their folders. */
export function runsIn(base: string): { folder: string; state: State }[] {
  try {
    return fs.readdirSync(base).flatMap((name) => {
      const folder = join(base, name);
      const path = join(folder, 'state.json');
      return fs.existsSync(path) ? [{ folder, state: JSON.parse(fs.readFileSync(path, 'utf8')) }] : [];
    });
  } catch {
    return [];
  }
}

/** Whether another recorder of this machine still records into the session. */
export function othersIn({ folder, state }: Spool) {
  if (folder === undefined) return false;
  return runsIn(dirname(folder)).some(
    (other) =>
      other.folder !== folder &&
      other.state.session === state.session &&
      !other.state.outcome &&
      isRunning(other.state.pid),
  );
}
