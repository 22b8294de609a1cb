/** The lines of the files of sessions. */

import * as fs from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { MAX_LINE_BYTES } from './common.mjs';

const HEAD_BYTES = 128 * 1024;
const TAIL_BYTES = 64 * 1024;
const MAX_HEAD = 100;
const MIN_LINES = 10;

/** @typedef {Readonly<Record<string, unknown>>} Line */
/** @typedef {{ format: string, path: string }} File */

/** @param {unknown} value @returns {Line} */
export const membersOf = (value) => (value !== null && typeof value === 'object' ? /** @type {Line} */ (value) : {});

/** @param {unknown} value */
export const nameIn = (value) => (typeof value === 'string' && value.trim() !== '' ? value : undefined);

/** @param {string} path @param {number} position @param {number} length */
function textAt(path, position, length) {
  const file = fs.openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(Math.min(length, fs.fstatSync(file).size));
    return buffer.toString('utf8', 0, fs.readSync(file, buffer, 0, buffer.length, position));
  } finally {
    fs.closeSync(file);
  }
}

/** @param {string} text @returns {Line[]} its JSON lines */
export function jsonLinesIn(text) {
  return text.split('\n').flatMap((line) => {
    try {
      return [membersOf(JSON.parse(line))];
    } catch {
      return [];
    }
  });
}

/** @param {string} path @param {number} [count] */
export function firstLines(path, count) {
  const text = headText(path);
  return jsonLinesIn(count === undefined ? text : text.split('\n', count).join('\n'));
}

/** The beginning of a file. If that has few lines, more of it is read. @param {string} path */
export function headText(path) {
  const text = textAt(path, 0, HEAD_BYTES);
  return text.split('\n', MIN_LINES).length < MIN_LINES ? textAt(path, 0, MAX_LINE_BYTES) : text;
}

/** Whether the lines are put together from JSON that is written anew with each message. @param {File} file */
export const isAssembled = ({ format, path }) =>
  (format === 'gemini-chat' || format === 'opencode-storage') && path.endsWith('.json');

/** The lines of JSON that is written anew. @param {File} file @returns {Generator} */
function* assembled({ format, path }) {
  const session = jsonIn(path);
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

/** @param {string} path @returns {unknown} undefined if it is no JSON, such as a file that is just being written */
function jsonIn(path) {
  try {
    return JSON.parse(fs.readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

/** @param {string} folder */
function* jsonsIn(folder) {
  /** @type {string[]} */
  let names = [];
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

/** @param {File} file */
export const assembledBytes = (file) =>
  Buffer.concat([...assembled(file)].map((line) => Buffer.from(`${JSON.stringify(line)}\n`)));

/** The first lines of a file. @param {File} file @returns {Line[]} */
export function headOf(file) {
  if (!isAssembled(file)) return firstLines(file.path);
  const lines = [];
  for (const line of assembled(file)) if (lines.push(membersOf(line)) >= MAX_HEAD) break;
  return lines;
}

/** The last lines of a file that are not among the first. @param {File & { size: number }} file */
export function tailOf({ size, ...file }) {
  if (isAssembled(file) || size <= HEAD_BYTES) return [];
  return jsonLinesIn(textAt(file.path, Math.max(0, size - TAIL_BYTES), TAIL_BYTES));
}
