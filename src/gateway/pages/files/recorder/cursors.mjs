/** What was sent of each transcript. */

import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { basename, join } from 'node:path';
import { GATEWAY } from './common.mjs';

/**
 * What was sent of a file: up to `end`. `mark` is the hash of the file's beginning, and of what is before `end`, by which a file that grew differs
 * from one that was rewritten. `title` is the one that the session got from the file.
 * @typedef {{ end: number, size?: number, mtimeMs?: number, session?: string, mark?: string | undefined, title?: string | undefined, isCustom?: boolean, isOpen?: boolean,
 *   isDeleted?: boolean, isRewritten?: boolean }} Cursor
 */
/** Lines that are being sent, with the cursor after them. @typedef {{ path: string, cursor: Cursor, type: string, body: Buffer }} Pending */

const MARK_BYTES = 1024;

/** @param {string | Buffer} data */
export const digest = (data) => createHash('sha256').update(data).digest('hex').slice(0, 40);

/** A file to which changed cursors are appended. The last one of a transcript counts. */
export class Cursors {
  /** @param {string} base */
  constructor(base) {
    this.base = base;
    this.path = join(base, 'transcripts.ndjson');
    /** @type {Map<string, Cursor>} */
    this.known = new Map();
    /** @type {Map<string, string> | undefined} */
    this.byName = undefined;
    fs.mkdirSync(join(base, 'lines'), { recursive: true, mode: 0o700 });
    const lines = fs.existsSync(this.path) ? fs.readFileSync(this.path, 'utf8').split('\n') : [];
    for (const line of lines)
      try {
        /** @type {[string, Cursor]} */
        const [key, cursor] = JSON.parse(line);
        this.known.set(key, cursor);
      } catch {
        // The last line of a process that was killed.
      }
    if (lines.length > 2 * this.known.size + 100) this.rewrite();
    else if (lines.at(-1)) fs.appendFileSync(this.path, '\n');
  }

  rewrite() {
    const text = [...this.known].map((each) => `${JSON.stringify(each)}\n`).join('');
    fs.writeFileSync(`${this.path}.new`, text, { mode: 0o600 });
    fs.renameSync(`${this.path}.new`, this.path);
  }

  /** @param {string} path */
  get(path) {
    return this.known.get(`${GATEWAY} ${path}`);
  }

  /**
   * The cursor of a file, which can have been moved since, as into an archive: then that of one with its name that is gone.
   * @param {string} path @returns {Cursor | undefined}
   */
  find(path) {
    const known = this.get(path);
    if (known) return known;
    this.byName ??= new Map([...this.known.keys()].map((key) => [basename(key), key]));
    const key = this.byName.get(basename(path));
    const before = key?.startsWith(`${GATEWAY} `) ? key.slice(GATEWAY.length + 1) : undefined;
    const cursor = before === undefined || fs.existsSync(before) ? undefined : this.get(before);
    if (before === undefined || !cursor || cursor.isDeleted || !isSameFile(path, cursor)) return undefined;
    if (fs.existsSync(this.linesFile(before))) fs.renameSync(this.linesFile(before), this.linesFile(path));
    this.set(path, cursor);
    return cursor;
  }

  /** @param {string} path @param {Cursor} cursor */
  set(path, cursor) {
    const key = `${GATEWAY} ${path}`;
    this.known.set(key, cursor);
    fs.appendFileSync(this.path, `${JSON.stringify([key, cursor])}\n`, { mode: 0o600 });
  }

  /** Nothing more of it is sent. @param {string} path */
  forget(path) {
    this.set(path, { end: 0, isDeleted: true });
    this.drop();
  }

  /** Forgets the lines that were being sent. */
  drop() {
    fs.rmSync(this.pendingFile, { force: true });
  }

  /** @param {string} path */
  linesFile(path) {
    return join(this.base, 'lines', digest(`${GATEWAY} ${path}`));
  }

  /** Remembers lines that were sent, by eight bytes each. @param {string} path @param {readonly Buffer[]} lines */
  addLines(path, lines) {
    fs.appendFileSync(this.linesFile(path), Buffer.concat(lines.map(shortHash)), { mode: 0o600 });
  }

  get pendingFile() {
    return join(this.base, `sending-${digest(GATEWAY)}`);
  }

  /** Keeps lines before they are sent: whether they have arrived is not known of a process that is killed. @param {Pending} pending */
  begin({ body, ...head }) {
    const path = `${this.pendingFile}.new`;
    fs.writeFileSync(path, Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), body]), { mode: 0o600 });
    fs.renameSync(path, this.pendingFile);
  }

  /** Notes that the lines have arrived. @param {Pending} pending */
  end({ path, cursor, body }) {
    this.addLines(path, splitLines(body));
    this.set(path, cursor);
    this.drop();
  }

  /** What an earlier process was sending. @returns {Pending | undefined} */
  get pending() {
    if (!fs.existsSync(this.pendingFile)) return undefined;
    const bytes = fs.readFileSync(this.pendingFile);
    const start = bytes.indexOf(10) + 1;
    /** @type {Omit<Pending, 'body'>} */
    const head = JSON.parse(bytes.toString('utf8', 0, start));
    return { ...head, body: bytes.subarray(start) };
  }

  /** @param {string} path @returns {Set<string>} */
  linesOf(path) {
    const file = this.linesFile(path);
    const bytes = fs.existsSync(file) ? fs.readFileSync(file) : Buffer.alloc(0);
    return new Set(
      Array.from({ length: Math.floor(bytes.length / 8) }, (_, index) =>
        bytes.toString('latin1', index * 8, index * 8 + 8),
      ),
    );
  }
}

/** @param {Buffer} line */
export const shortHash = (line) => createHash('sha256').update(line).digest().subarray(0, 8);

/** Whether a file has the lines that were sent of another one. @param {string} path @param {Cursor} cursor */
function isSameFile(path, { end, mark }) {
  try {
    const file = fs.openSync(path, 'r');
    const isSame = end > 0 && fs.fstatSync(file).size >= end && mark === markOf(file, end);
    fs.closeSync(file);
    return isSame;
  } catch {
    return false;
  }
}

/** @param {number} file @param {number} end */
export function markOf(file, end) {
  const length = Math.min(MARK_BYTES, end);
  const bytes = Buffer.alloc(2 * length);
  fs.readSync(file, bytes, 0, length, 0);
  fs.readSync(file, bytes, length, length, end - length);
  return digest(bytes);
}

/** @param {Buffer} bytes @returns {Buffer[]} the lines that are not empty */
export function splitLines(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(10, at);
    const stop = end === -1 ? bytes.length : end;
    if (stop > at) lines.push(bytes.subarray(at, stop));
    at = stop + 1;
  }
  return lines;
}
