import { createHash } from 'node:crypto';
import { isObject } from '../../core/is-object.ts';
import type { OperationContext } from '../../core/operation.ts';
import { mayHaveCredential, redactDocuments } from '../../core/redaction/redact.ts';
import { WorkSlices } from '../../core/work-budget.ts';

/** By what a line of a transcript is known again. */

/** The mark of a file is the hash of its last line, as it was sent. */
export const markOf = (line: string) => createHash('sha256').update(line).digest('hex');

export const keyFrom = (text: string) => markOf(text).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');

export interface Key {
  readonly key: string;
  /** Whether the agent gave the line an id, which it gives to no other line. */
  readonly isId: boolean;
}

export function keyOf(line: string): Key {
  const uuid = uuidOf(line);
  return uuid === undefined
    ? { key: keyFrom(`bytes ${line}`), isId: false }
    : { key: keyFrom(`uuid ${uuid}`), isId: true };
}

function uuidOf(line: string): string | undefined {
  if (!line.includes('"uuid"') || !/^\s*\{/.test(line)) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    const uuid = isObject(value) ? value['uuid'] : undefined;
    return typeof uuid === 'string' && uuid !== '' ? uuid : undefined;
  } catch {
    return undefined;
  }
}

/** The keys of lines, and those that they have after credentials were replaced, where these differ. */
export async function keysOf(context: OperationContext, lines: readonly string[]): Promise<[Key, Key | undefined][]> {
  const slices = new WorkSlices();
  const keys: [Key, Key | undefined][] = [];
  for (const line of lines) {
    if (slices.isOver()) await slices.pause();
    const key = keyOf(line);
    keys.push([key, key.isId || !context.settings.isRecordRedacted ? undefined : await redactedKey(line)]);
  }
  return keys;
}

async function redactedKey(line: string): Promise<Key | undefined> {
  const text = await redactedLine(line);
  return text === line ? undefined : keyOf(text);
}

/** The line as it is stored, with its credentials replaced. */
export async function redactedLine(line: string): Promise<string> {
  if (!mayHaveCredential(line)) return line;
  const isJson = /^\s*\{/.test(line) && isParsed(line);
  const { documents, secrets } = await redactDocuments([isJson ? line : JSON.stringify(line)]);
  const [text = ''] = documents;
  if (secrets === 0) return line;
  return isJson ? text : (JSON.parse(text) as string);
}

function isParsed(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

/** The line in the data of its events. */
export function lineIn(events: readonly { readonly eventData: string }[]): string {
  const parts = events.map(({ eventData }) => JSON.parse(eventData) as LineData);
  const [{ line } = {}] = parts;
  const text = parts.slice(0, line?.parts ?? 1).map(({ event }) => event?.message ?? '');
  return line?.encoding === 'base64' ? Buffer.from(text.join(''), 'base64').toString() : text.join('');
}

interface LineData {
  readonly event?: { readonly message?: string };
  readonly line?: { readonly parts?: number; readonly encoding?: string };
}
