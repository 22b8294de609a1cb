/** Sends what is new of transcripts. */

import { randomUUID } from 'node:crypto';
import { counted } from '../core/text/wording.ts';
import { say, textOf } from './common.ts';
import { SEND_EVERY_MS } from './limits.ts';
import type { Cursor, Cursors, Pending } from './cursors.ts';
import { describe, titleIn } from './description.ts';
import { type ArrivedFile, Problem, Refusal } from './failures.ts';
import { type Answer, ensureSession, isConflict, post, postJson } from './gateway.ts';
import { nextBatch } from './spool.ts';
import { linesIn, placeAfter, type Source, sourceOf } from './transcript-source.ts';
import type { Transcript } from './transcript-files.ts';

/** The last line of a transcript that was not changed for so long is sent without its end. */
export const IDLE_MS = 10 * 60_000;
const PROGRESS_MS = 2000;
/** How often the place in a file is looked for again. */
const MAX_ASKED = 10;

export interface SendingOptions {
  file?: string | undefined;
  map?: string | undefined;
  public?: boolean | undefined;
  waitMs: number;
}

export const sizeOf = (bytes: number) =>
  bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;

/** @param total bytes; undefined without progress */
export async function sendAll(
  transcripts: readonly Transcript[],
  cursors: Cursors,
  options: SendingOptions,
  total: number | undefined,
) {
  let [sent, shownAt, done] = [0, Date.now(), 0];
  const progress = (bytes: number) => {
    sent += bytes;
    if (total === undefined || Date.now() - shownAt < PROGRESS_MS) return;
    shownAt = Date.now();
    say(`${done} of ${counted(transcripts.length, 'file')}, ${sizeOf(Math.min(sent, total))} of ${sizeOf(total)}`);
  };
  const { pending } = cursors;
  if (pending)
    await unlessDeleted(cursors, pending.path, async () => void (await send(cursors, pending, options))).catch(
      (error) => {
        // The lines are sent again with the others of the file.
        if (!(error instanceof Refusal) || cursors.pending) throw error;
      },
    );
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

/** Nobody gets back what was deleted. */
async function unlessDeleted(cursors: Cursors, path: string, work: () => Promise<void>) {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Refusal) || (error.status !== 404 && !/was deleted/.test(error.message))) throw error;
    cursors.forget(path);
  }
}

/** Tries again while the gateway is away. */
async function patiently<Result>(waitMs: number, request: () => Promise<Result>) {
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

const move = (session: string, state: string) =>
  postJson(`/v1/sessions/${session}/transition`, { state }, randomUUID());

/** The gateway completes sessions by itself later; one that another process has finished or deleted stays so. */
export const complete = async (session: string | undefined, waitMs: number) =>
  session === undefined ? undefined : patiently(waitMs, () => move(session, 'completed').catch(ignoreEnd));

function ignoreEnd(error: unknown) {
  if (!(error instanceof Refusal) || error.status !== 404) ignoreConflict(error);
}

function ignoreConflict(error: unknown) {
  if (!isConflict(error)) throw error;
}

/** Moves the session to inProgress, also one that was finished. */
async function open(session: string) {
  try {
    await move(session, 'inProgress');
  } catch (error) {
    ignoreConflict(error);
    if (/is inProgress/.test(textOf(error))) return;
    await move(session, 'queued').catch(ignoreConflict);
    await move(session, 'inProgress').catch(ignoreConflict);
  }
}

interface Sending {
  transcript: Transcript;
  cursors: Cursors;
  options: SendingOptions;
  progress: (bytes: number) => void;
  source: Source;
  isIdle: boolean;
}

async function sendTranscript(
  transcript: Transcript,
  cursors: Cursors,
  options: SendingOptions,
  progress: (bytes: number) => void,
) {
  const { path, mtimeMs } = transcript;
  const source = readable(transcript);
  if (source === undefined) return;
  try {
    await unlessDeleted(cursors, path, async () => {
      const isIdle = Date.now() - mtimeMs > IDLE_MS || options.file !== undefined;
      const sending = { transcript, cursors, options, progress, source, isIdle };
      const cursor = await sendLines(sending, await startOf(sending));
      cursors.set(path, { ...cursor, size: transcript.size, mtimeMs });
    });
  } finally {
    source.close();
  }
}

/** Undefined if the file was deleted meanwhile, or cannot be read. The others can. */
function readable(transcript: Transcript) {
  try {
    return sourceOf(transcript);
  } catch (error) {
    say(`${transcript.path} is left out: ${textOf(error)}`);
    return undefined;
  }
}

/** Where to go on: where this machine has stopped, if the file has grown only, or else where the gateway says. */
async function startOf(sending: Sending): Promise<Cursor> {
  const { transcript, cursors, options, source, isIdle } = sending;
  const known = cursors.get(transcript.path) ?? { end: 0 };
  const { end, start = 0, lines, mark, session } = known;
  if (
    session !== undefined &&
    lines !== undefined &&
    source.isGrown &&
    linesIn(source.read(start, end - start)).mark === mark
  )
    return known;
  if (!nextBatch(source.read, 0, undefined, isIdle)) return known;
  const { files, ...ensured } = await ensure(transcript, options, known.continuedFrom);
  const next = { ...known, ...ensured, continuedFrom: undefined };
  if (known.continuedFrom !== undefined) {
    // What was pulled from a session of one's own has arrived there.
    if (known.continuedFrom === ensured.session && linesIn(source.read(start, end - start)).mark === mark) return next;
    await tellForms(source, { session: ensured.session, name: transcript.name, until: end }, options);
  }
  // A gateway of 1.0 does not say what has arrived.
  return { ...next, ...(files && placeOf(sending, files)) };
}

/** Tells the gateway how a pull has written lines, so that it knows them in this form, too. */
export async function tellForms(
  { read }: Pick<Source, 'read'>,
  { session, name, until }: { session: string; name: string; until: number },
  { waitMs }: Pick<SendingOptions, 'waitMs'>,
) {
  const within = (position: number, length: number) => read(position, Math.min(length, until - position));
  for (let [at, lines] = [0, 0]; at < until;) {
    const next = nextBatch(within, at, undefined, true);
    if (!next) return;
    const path = `/v1/sessions/${session}/events?file=${encodeURIComponent(name)}&fromLine=${lines + 1}&pulled=true`;
    const headers = { 'Content-Type': 'application/x-ndjson; format=auto' };
    const body = new Uint8Array(next.lines.at(-1) === 10 ? next.lines.subarray(0, -1) : next.lines);
    if (body.length > 0) await patiently(waitMs, () => post(path, body, headers));
    lines += linesIn(next.lines).count;
    at = next.end;
  }
}

/** The place after the lines of the file that have arrived; the beginning if the file has others. */
function placeOf({ transcript, source }: Sending, files: readonly ArrivedFile[]) {
  const arrived = files.find(({ name }) => name === transcript.name);
  return placeAfter(source, arrived) ?? BEGINNING;
}

const BEGINNING = { end: 0, start: 0, lines: 0, mark: undefined };

async function sendLines(sending: Sending, begun: Cursor): Promise<Cursor> {
  const { transcript, cursors, options, progress, source, isIdle } = sending;
  const { path, name, format, subagent } = transcript;
  let [cursor, asked] = [begun, 0];
  for (let next; (next = nextBatch(source.read, cursor.end, cursor.probe, isIdle));) {
    const { session = '', lines = 0, end: from, probe } = cursor;
    const { count, mark, last } = linesIn(next.lines);
    const place = `?file=${encodeURIComponent(name)}&fromLine=${lines + 1}`;
    const type = typeWith({ format, map: options.map, subagent });
    // Without a line break at its end, which could be one byte too much. A blank line alone has nothing else.
    const body = next.lines.at(-1) === 10 && next.lines.length > 1 ? next.lines.subarray(0, -1) : next.lines;
    const { files, repeatedLines } = await sendPlaced(cursors, { path, session, place, type, body }, options);
    if (files || (probe !== undefined && repeatedLines === 0)) {
      // Another machine has sent another state of the file meanwhile.
      if ((asked += 1) > MAX_ASKED) throw new Problem(`others send other states of ${path}`);
      cursor = Object.assign(cursor, { probe: undefined }, files ? placeOf(sending, files) : BEGINNING);
      continue;
    }
    const start = next.end - next.lines.length + last;
    cursor = { ...cursor, end: next.end, start, lines: lines + count, mark, probe: undefined };
    cursor = await renamed(transcript, cursor, next.lines, options);
    cursors.set(path, cursor);
    progress(next.end - from);
  }
  return cursor;
}

/** @returns in `files` what has arrived, if lines before these are missing */
async function sendPlaced(
  cursors: Cursors,
  pending: Pending,
  options: SendingOptions,
): Promise<Pick<Answer, 'files' | 'repeatedLines'>> {
  try {
    return await send(cursors, pending, options, true);
  } catch (error) {
    if (error instanceof Refusal && error.files) return error;
    throw error;
  }
}

const typeWith = (parameters: Readonly<Record<string, string | undefined>>) =>
  Object.entries(parameters).reduce(
    (type, [name, value]) => (value === undefined ? type : `${type}; ${name}="${value}"`),
    'application/x-ndjson',
  );

/** Sends lines, which are on disk until they have arrived. */
async function send(cursors: Cursors, pending: Pending, { waitMs }: SendingOptions, isNew = false) {
  if (isNew) cursors.begin(pending);
  const { session, place, type, body } = pending;
  const append = () => post(`/v1/sessions/${session}/events${place}`, new Uint8Array(body), { 'Content-Type': type });
  const request = () =>
    append().catch(async (error: unknown) => {
      if (!isConflict(error) || error.files) throw error;
      // It is finished.
      await open(session);
      return append();
    });
  try {
    const answer = await patiently(waitMs, request);
    cursors.drop();
    return answer;
  } catch (error) {
    // It would be refused again, but with another key.
    if (error instanceof Refusal && error.status !== 401 && error.status !== 403) cursors.drop();
    throw error;
  }
}

const put = ({ agent, sourceId }: Transcript, body: object) => ensureSession(agent, sourceId, body);

/** Creates the session, or finds it. */
async function ensure(transcript: Transcript, options: SendingOptions, continuedFrom: string | undefined) {
  const { body, isCustom } = describe(transcript);
  const visibility = options.public ? 'public' : 'private';
  const { id, state, files } = await patiently(options.waitMs, () =>
    put(transcript, { ...body, visibility, continuedFrom }).catch((error: unknown) => {
      // It was deleted meanwhile.
      if (continuedFrom === undefined || !(error instanceof Refusal) || error.status !== 404) throw error;
      return put(transcript, { ...body, visibility });
    }),
  );
  if (state?.current === 'queued') await patiently(options.waitMs, () => open(id));
  return { session: id, title: body.title, isCustom, files };
}

/** Gives the session the title that lines have, unless a person has renamed it. */
async function renamed(
  transcript: Transcript,
  cursor: Cursor,
  lines: Buffer,
  options: SendingOptions,
): Promise<Cursor> {
  const { title, isCustom = false } = (transcript.isOfSubagent ? undefined : titleIn(lines)) ?? {};
  if (title === undefined || title === cursor.title || (cursor.isCustom && !isCustom)) return cursor;
  const previousTitle = cursor.title ?? `${transcript.agent} ${transcript.sourceId}`;
  await patiently(options.waitMs, () => put(transcript, { title, previousTitle }));
  return { ...cursor, title, isCustom };
}
