/** What this machine knows of what was sent of each transcript. The gateway knows it, too: what is lost here is asked there. */

import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { GATEWAY } from './common.ts';

/** What was sent of a file: so many lines, up to `end`, of which the last begins at `start`. `title` is the one that the session got from the file. */
export interface Cursor {
  end: number;
  start?: number;
  lines?: number;
  /** The hash of the last line, as the gateway has it. */
  mark?: string | undefined;
  /** The end of the next line, which must be known: if it is not, the file has another beginning. */
  probe?: number | undefined;
  size?: number;
  mtimeMs?: number;
  session?: string;
  title?: string | undefined;
  isCustom?: boolean;
  isDeleted?: boolean;
  /** The session from which the file was pulled, as long as nothing was sent since. */
  continuedFrom?: string | undefined;
}

/** Lines that are being sent. */
export interface Pending {
  path: string;
  session: string;
  /** The parameters of the query. */
  place: string;
  type: string;
  body: Buffer;
}

const digest = (data: string | Buffer) => createHash('sha256').update(data).digest('hex').slice(0, 40);

/** A file to which changed cursors are appended. The last one of a transcript counts. */
export class Cursors {
  readonly #base: string;
  readonly #path: string;
  readonly #known = new Map<string, Cursor>();

  constructor(base: string) {
    this.#base = base;
    this.#path = join(base, 'transcripts.ndjson');
    fs.mkdirSync(base, { recursive: true, mode: 0o700 });
    const lines = fs.existsSync(this.#path) ? fs.readFileSync(this.#path, 'utf8').split('\n') : [];
    for (const line of lines)
      try {
        const [key, cursor]: [string, Cursor] = JSON.parse(line);
        this.#known.set(key, cursor);
      } catch {
        // The last line of a process that was killed.
      }
    if (lines.length > 2 * this.#known.size + 100) this.#rewrite();
    else if (lines.at(-1)) fs.appendFileSync(this.#path, '\n');
  }

  #rewrite() {
    const text = [...this.#known].map((each) => `${JSON.stringify(each)}\n`).join('');
    fs.writeFileSync(`${this.#path}.new`, text, { mode: 0o600 });
    fs.renameSync(`${this.#path}.new`, this.#path);
  }

  get(path: string) {
    return this.#known.get(`${GATEWAY} ${path}`);
  }

  /** The session whose file has the id that its agent has given it. */
  sessionOf(id: string) {
    const isOf = (key: string) =>
      key.startsWith(`${GATEWAY} `) && [`/${id}.jsonl`, `/${id}/events.jsonl`].some((end) => key.endsWith(end));
    return [...this.#known].findLast(([key, { session }]) => isOf(key) && session !== undefined)?.[1].session;
  }

  set(path: string, cursor: Cursor) {
    const key = `${GATEWAY} ${path}`;
    this.#known.set(key, cursor);
    fs.appendFileSync(this.#path, `${JSON.stringify([key, cursor])}\n`, { mode: 0o600 });
  }

  /** Nothing more of it is sent. */
  forget(path: string) {
    this.set(path, { end: 0, isDeleted: true });
    this.drop();
  }

  get #pendingFile() {
    return join(this.#base, `sending-${digest(GATEWAY)}`);
  }

  /** Keeps lines before they are sent: their file can be rewritten before the next process sends them. */
  begin({ body, ...head }: Pending) {
    const path = `${this.#pendingFile}.new`;
    fs.writeFileSync(path, Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), body]), { mode: 0o600 });
    fs.renameSync(path, this.#pendingFile);
  }

  /** Forgets the lines that were being sent. */
  drop() {
    fs.rmSync(this.#pendingFile, { force: true });
  }

  /** What an earlier process was sending; undefined of one of 1.0. */
  get pending(): Pending | undefined {
    if (!fs.existsSync(this.#pendingFile)) return undefined;
    const bytes = fs.readFileSync(this.#pendingFile);
    const start = bytes.indexOf(10) + 1;
    const head = JSON.parse(bytes.toString('utf8', 0, start)) as Partial<Omit<Pending, 'body'>> & {
      cursor?: { session?: string };
    };
    const { path = '', session = head.cursor?.session ?? '', place = '', type = '' } = head;
    return { path, session, place, type, body: bytes.subarray(start) };
  }
}
