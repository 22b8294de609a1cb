/** Sends what is new of transcripts. */

import { randomUUID } from 'node:crypto';
import * as fs from 'node:fs';
import { basename } from 'node:path';
import { say, SEND_EVERY_MS, textOf } from './common.mjs';
import { digest, markOf, shortHash, splitLines } from './cursors.mjs';
/** @import { Cursor, Cursors, Pending } from './cursors.mjs' */
import { describe, titleIn } from './description.mjs';
import { Problem, Refusal } from './failures.mjs';
import { isConflict, post, postJson } from './gateway.mjs';
import { nextBatch } from './spool.mjs';
/** @import { Transcript } from './transcript-files.mjs' */
import { assembledBytes, isAssembled } from './transcript-lines.mjs';

/** A session whose transcript was not changed for so long is completed. */
export const IDLE_MS = 10 * 60_000;
const PROGRESS_MS = 2000;

/** @typedef {{ file?: string | undefined, map?: string | undefined, public?: boolean | undefined, waitMs: number }} SendingOptions */

/** @param {number} bytes */
export const inMib = (bytes) => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;

/** @param {readonly Transcript[]} transcripts @param {Cursors} cursors @param {SendingOptions} options @param {number | undefined} total bytes; undefined without progress */
export async function sendAll(transcripts, cursors, options, total) {
  let [sent, shownAt, done] = [0, Date.now(), 0];
  const progress = (/** @type {number} */ bytes) => {
    sent += bytes;
    if (total === undefined || Date.now() - shownAt < PROGRESS_MS) return;
    shownAt = Date.now();
    say(`${done} of ${transcripts.length} files, ${inMib(Math.min(sent, total))} of ${inMib(total)}`);
  };
  const { pending } = cursors;
  if (pending)
    await unlessDeleted(cursors, pending.path, () => send(cursors, pending, options)).catch((error) => {
      // The lines are sent again with the others of the file.
      if (!(error instanceof Refusal) || cursors.pending) throw error;
    });
  for (const transcript of transcripts) {
    try {
      await sendTranscript(transcript, cursors, options, progress);
      done += 1;
    } catch (error) {
      if (!(error instanceof Refusal) || error.status === 401 || error.status === 403) throw error;
      // The others can be sent.
      say(`${transcript.path} is not sent: ${error.message}`);
      process.exitCode = 1;
    }
  }
  if (total !== undefined) say(`${done} of ${transcripts.length} files are sent`);
}

/** Nobody gets back what was deleted. @param {Cursors} cursors @param {string} path @param {() => Promise<void>} work */
async function unlessDeleted(cursors, path, work) {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Refusal) || (error.status !== 404 && !/was deleted/.test(error.message))) throw error;
    cursors.forget(path);
  }
}

/** Tries again while the gateway is away. @template Result @param {number} waitMs @param {() => Promise<Result>} request */
async function patiently(waitMs, request) {
  const end = Date.now() + waitMs;
  for (let pauseMs = SEND_EVERY_MS; ; pauseMs = Math.min(2 * pauseMs, 15_000))
    try {
      return await request();
    } catch (error) {
      const pause = error instanceof Problem ? (error.pauseMs ?? pauseMs) : Infinity;
      if (Date.now() + pause > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
}

/** @param {string} session @param {string} state */
const move = (session, state) => postJson(`/v1/sessions/${session}/transition`, { state }, randomUUID());

/** @param {unknown} error */
function ignoreConflict(error) {
  if (!isConflict(error)) throw error;
}

/** Moves the session to inProgress, also one that was finished. @param {string} session */
async function open(session) {
  try {
    await move(session, 'inProgress');
  } catch (error) {
    ignoreConflict(error);
    if (/is inProgress/.test(textOf(error))) return;
    await move(session, 'queued').catch(ignoreConflict);
    await move(session, 'inProgress').catch(ignoreConflict);
  }
}

/** @param {Transcript} transcript @param {Cursors} cursors @param {SendingOptions} options @param {(bytes: number) => void} progress */
async function sendTranscript(transcript, cursors, options, progress) {
  const { path, mtimeMs } = transcript;
  const source = readable(transcript);
  if (source === undefined) return;
  try {
    await unlessDeleted(cursors, path, async () => {
      const isIdle = Date.now() - mtimeMs > IDLE_MS || options.file !== undefined;
      const begun = startOf(source, cursors.get(path) ?? { end: 0 });
      const cursor = await sendLines({ transcript, cursors, options, progress, source, isIdle }, begun);
      if (isIdle && cursor.isOpen && cursor.session !== undefined) {
        const { session } = cursor;
        await patiently(options.waitMs, () => move(session, 'completed').catch(ignoreConflict));
        cursor.isOpen = false;
      }
      cursors.set(path, { ...cursor, size: transcript.size, mtimeMs });
    });
  } finally {
    source.close();
  }
}

/** Undefined if the file was deleted meanwhile, or cannot be read. The others can. @param {Transcript} transcript */
function readable(transcript) {
  try {
    return sourceOf(transcript);
  } catch (error) {
    say(`${transcript.path} is left out: ${textOf(error)}`);
    return undefined;
  }
}

/** The bytes of a transcript. @typedef {{ size: number, read: (position: number, length: number) => Buffer, markAt: (end: number) => string | undefined, close: () => void }} Source */

/** @param {Transcript} transcript @returns {Source} */
function sourceOf(transcript) {
  if (isAssembled(transcript)) {
    const bytes = assembledBytes(transcript);
    return {
      size: bytes.length,
      read: (position, length) => bytes.subarray(position, position + length),
      markAt: () => undefined,
      close: () => undefined,
    };
  }
  const file = fs.openSync(transcript.path, 'r');
  const { size } = fs.fstatSync(file);
  return {
    size,
    read: (position, length) => {
      const buffer = Buffer.alloc(Math.max(0, Math.min(length, size - position)));
      return buffer.subarray(0, fs.readSync(file, buffer, 0, buffer.length, position));
    },
    markAt: (end) => markOf(file, end),
    close: () => fs.closeSync(file),
  };
}

/** Where to go on. Of a file that was rewritten all lines are looked at again. @param {Source} source @param {Cursor} known @returns {Cursor} */
function startOf({ size, markAt }, known) {
  const isGrown = known.end <= size && known.mark !== undefined && known.mark === markAt(known.end);
  if (known.end === 0 || isGrown) return known;
  return { ...known, end: 0, isRewritten: true };
}

/**
 * @typedef {{ transcript: Transcript, cursors: Cursors, options: SendingOptions, progress: (bytes: number) => void, source: Source,
 *   isIdle: boolean }} Sending
 */

/** @param {Sending} sending @param {Cursor} start @returns {Promise<Cursor>} */
async function sendLines(sending, start) {
  const { transcript, cursors, options, progress, source, isIdle } = sending;
  const { path, format, subagent } = transcript;
  const known = start.isRewritten ? cursors.linesOf(path) : undefined;
  let cursor = start;
  for (
    let next = nextBatch(source.read, cursor.end, undefined, isIdle);
    next;
    next = nextBatch(source.read, cursor.end, undefined, isIdle)
  ) {
    const { end } = next;
    const lines = splitLines(next.lines).filter((line) => !known?.has(shortHash(line).toString('latin1')));
    /** @type {Cursor} */
    let after = { ...cursor, end, mark: source.markAt(end) };
    if (lines.length > 0) {
      if (cursor.session === undefined) Object.assign(after, await ensure(transcript, options));
      if (!cursor.isOpen) await patiently(options.waitMs, () => open(after.session ?? ''));
      after.isOpen = true;
      // Without a line break at its end, which could be one byte too much.
      const body = Buffer.concat(lines.flatMap((line, index) => (index === 0 ? [line] : [Buffer.from('\n'), line])));
      const id = digest(Buffer.concat([Buffer.from(`${basename(path)} ${cursor.end} `), body]));
      const parameters = { format, batchId: id, map: options.map, subagent };
      await send(cursors, { path, cursor: after, type: typeWith(parameters), body }, options, true);
      after = await renamed(transcript, after, lines, options);
    }
    cursors.set(path, after);
    progress(end - cursor.end);
    cursor = after;
  }
  return cursor;
}

/** @param {Readonly<Record<string, string | undefined>>} parameters */
const typeWith = (parameters) =>
  Object.entries(parameters).reduce(
    (type, [name, value]) => (value === undefined ? type : `${type}; ${name}="${value}"`),
    'application/x-ndjson',
  );

/** Sends lines, which are on disk until they have arrived. @param {Cursors} cursors @param {Pending} pending @param {SendingOptions} options @param {boolean} [isNew] */
async function send(cursors, pending, { waitMs }, isNew = false) {
  if (isNew) cursors.begin(pending);
  const { cursor, type, body } = pending;
  const session = cursor.session ?? '';
  const request = () =>
    post(`/v1/sessions/${session}/events`, new Uint8Array(body), { 'Content-Type': type }).catch(async (error) => {
      ignoreConflict(error);
      // Somebody has finished it meanwhile.
      await open(session);
      return post(`/v1/sessions/${session}/events`, new Uint8Array(body), { 'Content-Type': type });
    });
  try {
    await patiently(waitMs, request);
  } catch (error) {
    // It would be refused again, but with another key.
    if (error instanceof Refusal && error.status !== 401 && error.status !== 403) cursors.drop();
    throw error;
  }
  cursors.end(pending);
}

/** @param {Transcript} transcript @param {object} body */
function put({ agent, sourceId }, body) {
  const path = `/v1/sessions/by-source/${encodeURIComponent(agent)}/${encodeURIComponent(sourceId)}`;
  return post(path, JSON.stringify(body), { 'Content-Type': 'application/json' }, 'PUT');
}

/** Creates the session, or finds it. @param {Transcript} transcript @param {SendingOptions} options */
async function ensure(transcript, options) {
  const { body, isCustom } = describe(transcript);
  const visibility = options.public ? 'public' : 'private';
  const session = await patiently(options.waitMs, () => put(transcript, { ...body, visibility }));
  if (session === undefined) throw new Error('the gateway has not answered with a session');
  return { session: session.id, title: body.title, isCustom };
}

/**
 * Gives the session the title that lines have, unless a person has renamed it.
 * @param {Transcript} transcript @param {Cursor} cursor @param {readonly Buffer[]} lines @param {SendingOptions} options @returns {Promise<Cursor>}
 */
async function renamed(transcript, cursor, lines, options) {
  const { title, isCustom = false } = (transcript.isOfSubagent ? undefined : titleIn(lines)) ?? {};
  if (title === undefined || title === cursor.title || (cursor.isCustom && !isCustom)) return cursor;
  const previousTitle = cursor.title ?? `${transcript.agent} ${transcript.sourceId}`;
  await patiently(options.waitMs, () => put(transcript, { title, previousTitle }));
  return { ...cursor, title, isCustom };
}
