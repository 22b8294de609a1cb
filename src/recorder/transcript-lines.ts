/** The lines of the files of sessions. */

import * as fs from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isInDatabase, linesInDatabase } from './opencode-database.ts';
import { MAX_LINE_BYTES } from './limits.ts';

const HEAD_BYTES = 128 * 1024;
const TAIL_BYTES = 64 * 1024;
const MAX_HEAD = 100;
const MIN_LINES = 10;

export type Line = Readonly<Record<string, unknown>>;
export interface File {
  format: string;
  path: string;
}

export const membersOf = (value: unknown): Line => (value !== null && typeof value === 'object' ? (value as Line) : {});

export const nameIn = (value: unknown) => (typeof value === 'string' && value.trim() !== '' ? value : undefined);

function textAt(path: string, position: number, length: number) {
  const file = fs.openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(Math.min(length, fs.fstatSync(file).size));
    return buffer.toString('utf8', 0, fs.readSync(file, buffer, 0, buffer.length, position));
  } finally {
    fs.closeSync(file);
  }
}

/** @returns its JSON lines */
export function jsonLinesIn(text: string): Line[] {
  return text.split('\n').flatMap((line) => {
    try {
      return [membersOf(JSON.parse(line))];
    } catch {
      return [];
    }
  });
}

export function firstLines(path: string, count?: number) {
  const text = headText(path);
  return jsonLinesIn(count === undefined ? text : text.split('\n', count).join('\n'));
}

/** The beginning of a file. If that has few lines, more of it is read. */
export function headText(path: string) {
  const text = textAt(path, 0, HEAD_BYTES);
  return text.split('\n', MIN_LINES).length < MIN_LINES ? textAt(path, 0, MAX_LINE_BYTES) : text;
}

/** Whether the lines are put together from JSON that is written anew with each message. */
export const isAssembled = ({ format, path }: File) =>
  ((format === 'gemini-chat' || format === 'opencode-storage') && path.endsWith('.json')) ||
  (format === 'cline' && OF_CLINE.test(path));
/** The file of a session of Cline, or of a subagent beside it. */
export const OF_CLINE = /\.messages\.json$/;

/** The lines of JSON that is written anew. */
function* assembled({ format, path }: File): Generator {
  if (isInDatabase(path)) {
    yield* linesInDatabase(path);
    return;
  }
  const session = jsonIn(path);
  if (format === 'cline') {
    const { session_id, started_at, cwd, metadata } = membersOf(jsonIn(path.replace(OF_CLINE, '.json')));
    const { title, git } = membersOf(metadata);
    if (session_id !== undefined) yield { session_id, started_at, cwd, title, git };
    const { messages } = membersOf(session);
    if (Array.isArray(messages)) yield* messages;
    return;
  }
  if (format === 'gemini-chat') {
    // Its members that change with each message are left out.
    const { messages, lastUpdated: _lastUpdated, ...head } = membersOf(session);
    yield head;
    if (Array.isArray(messages)) yield* messages;
    return;
  }
  if (session !== undefined) yield session;
  const storage = join(dirname(path), '..', '..');
  for (const message of jsonsIn(join(storage, 'message', basename(path, '.json')))) {
    yield message;
    const id = nameIn(membersOf(message)['id']);
    if (id !== undefined && basename(id) === id) yield* jsonsIn(join(storage, 'part', id));
  }
}

/** @returns undefined if it is no JSON, such as a file that is just being written */
function jsonIn(path: string): unknown {
  try {
    return JSON.parse(fs.readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

function* jsonsIn(folder: string) {
  let names: string[] = [];
  try {
    names = fs.readdirSync(folder).toSorted();
  } catch {
    // A message without parts.
  }
  for (const name of names) {
    const json = name.endsWith('.json') ? jsonIn(join(folder, name)) : undefined;
    if (json !== undefined) yield json;
  }
}

export const assembledBytes = (file: File) =>
  Buffer.concat([...assembled(file)].map((line) => Buffer.from(`${JSON.stringify(line)}\n`)));

/** The first lines of a file. */
export function headOf(file: File): Line[] {
  if (!isAssembled(file)) return firstLines(file.path);
  const lines = [];
  for (const line of assembled(file)) if (lines.push(membersOf(line)) >= MAX_HEAD) break;
  return lines;
}

/** The last lines of a file that are not among the first. */
export function tailOf({ size, ...file }: File & { size: number }) {
  if (isAssembled(file) || size <= HEAD_BYTES) return [];
  return jsonLinesIn(textAt(file.path, Math.max(0, size - TAIL_BYTES), TAIL_BYTES));
}
