/** The bytes of a transcript, and the places in it. */

import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import type { ArrivedFile } from './failures.ts';
import { nextBatch } from './spool.ts';
import { assembledBytes, type File, isAssembled } from './transcript-lines.ts';

export interface Source {
  size: number;
  /** Whether the file only grows. Of one that is written anew, all lines are sent again, and the gateway knows them. */
  isGrown: boolean;
  read: (position: number, length: number) => Buffer;
  close: () => void;
}

export function sourceOf(transcript: File): Source {
  if (isAssembled(transcript)) {
    const bytes = assembledBytes(transcript);
    return {
      size: bytes.length,
      isGrown: false,
      read: (position, length) => bytes.subarray(position, position + length),
      close: () => undefined,
    };
  }
  const file = fs.openSync(transcript.path, 'r');
  const { size } = fs.fstatSync(file);
  return {
    size,
    isGrown: true,
    read: (position, length) => {
      const buffer = Buffer.alloc(Math.max(0, Math.min(length, size - position)));
      return buffer.subarray(0, fs.readSync(file, buffer, 0, buffer.length, position));
    },
    close: () => fs.closeSync(file),
  };
}

/** How many lines there are, where the last one begins, and its mark as the gateway has it. */
export function linesIn(bytes: Buffer) {
  let [count, last] = [0, 0];
  for (let at = 0; at < bytes.length; count += 1) {
    last = at;
    const end = bytes.indexOf(10, at);
    at = end === -1 ? bytes.length : end + 1;
  }
  const line = bytes.toString('utf8', last).replace(/\r?\n?$/, '');
  return {
    count,
    last,
    mark: createHash('sha256')
      .update(line.trim() === '' ? '' : line)
      .digest('hex'),
  };
}

/** What no other line has, also none that another machine has written there. */
const NAMED = /"(?:uuid|timestamp|id)":/;

/**
 * The place after so many lines; undefined if the file has fewer, or another line there. It is read as it is sent. Where that line could be the same
 * in another state of the file, the place is before the last one that could not.
 */
export function placeAfter({ read, isGrown }: Source, arrived: ArrivedFile | undefined) {
  if (!arrived || !isGrown) return undefined;
  let [at, lines] = [0, 0];
  for (let next; (next = nextBatch(read, at, undefined, true)); at = next.end) {
    const wanted = arrived.lines - lines;
    const { count } = linesIn(next.lines);
    if (count < wanted) {
      lines += count;
      continue;
    }
    const bytes = firstOf(next.lines, wanted);
    const { last, mark } = linesIn(bytes);
    // A line that is sent shorter is alone in its batch.
    const end = count === wanted ? next.end : at + bytes.length;
    if (mark !== arrived.mark) return undefined;
    if (!NAMED.test(bytes.toString('utf8', last))) return placeBefore(bytes, at, lines);
    return {
      end,
      start: count === wanted ? next.end - next.lines.length + last : at + last,
      lines: arrived.lines,
      mark,
    };
  }
  return undefined;
}

/** The bytes of the first lines. */
function firstOf(bytes: Buffer, count: number) {
  let end = 0;
  for (let line = 0; line < count; line += 1) end = bytes.indexOf(10, end) + 1 || bytes.length;
  return bytes.subarray(0, end);
}

/** The place before the last named line. */
function placeBefore(bytes: Buffer, at: number, before: number) {
  const texts = bytes.toString('latin1').split('\n');
  const lines = texts.findLastIndex((text) => NAMED.test(text));
  const end = at + texts.slice(0, lines).reduce((sum, { length }) => sum + length + 1, 0);
  const probe = end + (texts[lines]?.length ?? 0) + 1;
  return lines === -1 ? undefined : { end, start: end, lines: before + lines, mark: undefined, probe };
}
