/** What was sent of each transcript. */

import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { GATEWAY } from './common.mjs';

/**
 * What was sent of a file: up to `end`; `batch` is where a batch ends that was begun. `mark` is the hash of the file's beginning, and of what is
 * before `end`, by which a file that grew differs from one that was rewritten.
 * @typedef {{ end: number, size?: number, mtimeMs?: number, session?: string, batch?: number | undefined, mark?: string, isOpen?: boolean,
 *   isDeleted?: boolean, isRewritten?: boolean }} Cursor
 */

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

  /** @param {string} path @param {Cursor} cursor */
  set(path, cursor) {
    const key = `${GATEWAY} ${path}`;
    this.known.set(key, cursor);
    fs.appendFileSync(this.path, `${JSON.stringify([key, cursor])}\n`, { mode: 0o600 });
  }

  /** @param {string} path */
  linesFile(path) {
    return join(this.base, 'lines', digest(`${GATEWAY} ${path}`));
  }

  /** Remembers lines that were sent, by eight bytes each. @param {string} path @param {readonly Buffer[]} lines */
  addLines(path, lines) {
    fs.appendFileSync(this.linesFile(path), Buffer.concat(lines.map(shortHash)), { mode: 0o600 });
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

/** @param {number} file @param {number} end */
export function markOf(file, end) {
  const length = Math.min(MARK_BYTES, end);
  const bytes = Buffer.alloc(2 * length);
  fs.readSync(file, bytes, 0, length, 0);
  fs.readSync(file, bytes, length, length, end - length);
  return digest(bytes);
}
