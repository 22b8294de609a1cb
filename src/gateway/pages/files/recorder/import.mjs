/** Sends transcripts: all of the past after a question, or what is new. */

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { BASE, isAgreed, SAVED, say, SEND_EVERY_MS, settingsProblem, textOf, UsageError, withMap } from './common.mjs';
import { Cursors, digest, markOf, shortHash } from './cursors.mjs';
import { Problem, Refusal } from './failures.mjs';
import { isConflict, post, postJson } from './gateway.mjs';
import { isRunning, nextBatch } from './spool.mjs';
import { describeTranscript, findTranscripts, isLeftOut, TRANSCRIPT_AGENTS } from './transcripts.mjs';
/** @import { Cursor } from './cursors.mjs' */
/** @import { Transcript } from './transcripts.mjs' */

/** A session whose transcript was not changed for so long is completed. */
const IDLE_MS = 10 * 60_000;
const PROGRESS_MS = 2000;
const CHUNK = 1024 * 1024;

/** @param {string[]} args */
function readOptions(args) {
  const options = /** @type {const} */ ({
    agent: { type: 'string' },
    format: { type: 'string' },
    map: { type: 'string', multiple: true },
    since: { type: 'string' },
    exclude: { type: 'string', multiple: true },
    public: { type: 'boolean' },
    'dry-run': { type: 'boolean' },
    yes: { type: 'boolean' },
    hook: { type: 'boolean' },
    spool: { type: 'string', default: BASE },
    wait: { type: 'string', default: '600' },
  });
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  const [file] = values.hook ? [] : positionals;
  if (values.agent !== undefined && file === undefined && !TRANSCRIPT_AGENTS.includes(values.agent))
    throw new UsageError(`--agent: must be one of ${TRANSCRIPT_AGENTS.join(', ')}`);
  if (file !== undefined && !fs.existsSync(file)) throw new UsageError(`there is no file ${file}`);
  if (!/^\d{1,5}$/.test(values.wait)) throw new UsageError('--wait: must be a number of seconds');
  const { format, map } = withMap(values);
  if (format !== undefined && file === undefined) throw new UsageError('--format and --map: are only for one file');
  return {
    ...values,
    format,
    map,
    exclude: values.exclude ?? [],
    file,
    waitMs: Number(values.wait) * 1000,
    from: values.since === undefined ? 0 : timeOf(values.since),
  };
}
/** @typedef {ReturnType<typeof readOptions>} Options */

/** @param {string} since */
function timeOf(since) {
  const [, count, unit] = /^(\d{1,5})([dh])$/.exec(since) ?? [];
  const time =
    count === undefined ? Date.parse(since) : Date.now() - Number(count) * (unit === 'd' ? 24 : 1) * 3_600_000;
  if (Number.isNaN(time)) throw new UsageError('--since: must be days such as 90d, hours such as 12h, or a date');
  return time;
}

/** Whether something of a transcript is to be sent, or its session to be completed. @param {Transcript} transcript @param {Cursor | undefined} cursor */
function isDue({ size, mtimeMs }, cursor) {
  if (cursor === undefined) return size > 0;
  if (cursor.isDeleted) return false;
  return (
    cursor.size !== size || cursor.mtimeMs !== mtimeMs || (cursor.isOpen === true && Date.now() - mtimeMs > IDLE_MS)
  );
}

/** @param {Options} options @param {Cursors} cursors */
function dueTranscripts({ agent, file, format, from, exclude }, cursors) {
  /** @type {Map<string, boolean>} */
  const leftOut = new Map();
  return findTranscripts(agent, file, format).filter((transcript) => {
    const cursor = cursors.get(transcript.path);
    if (!isDue(transcript, cursor)) return false;
    // What was there before the hooks were installed is sent by `import` only.
    if (cursor === undefined && transcript.mtimeMs < from) return false;
    const folder = describeTranscript(transcript).cwd ?? dirname(transcript.path);
    const isOut = leftOut.get(folder) ?? isLeftOut(folder, exclude);
    leftOut.set(folder, isOut);
    return !isOut;
  });
}

/** Shapes of credentials, which the gateway replaces by its own rules. */
const CREDENTIALS =
  /gh[pousr]_\w{36}|github_pat_\w{40}|xox[abprs]-[\w-]{10}|sk-[\w-]{20}|AKIA[\dA-Z]{16}|AIza[\w-]{35}|-----BEGIN [A-Z ]*PRIVATE KEY|wg[ko]_[\w-]{20}|Authorization[^\n]{0,4}: ?(?:Bearer|Basic) [\w.~+/-]{8}/g;

/** What is to be sent of transcripts. @param {readonly Transcript[]} transcripts @param {Cursors} cursors */
function measure(transcripts, cursors) {
  let [lines, credentials] = [0, 0];
  const buffer = Buffer.alloc(CHUNK);
  for (const { path, size } of transcripts) {
    const file = fs.openSync(path, 'r');
    let at = Math.min(cursors.get(path)?.end ?? 0, size);
    for (let count = 0; (count = fs.readSync(file, buffer, 0, CHUNK, at)) > 0; at += count) {
      const text = buffer.toString('latin1', 0, count);
      for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', end + 1)) lines += 1;
      credentials += text.match(CREDENTIALS)?.length ?? 0;
    }
    fs.closeSync(file);
  }
  return { lines, credentials };
}

/** @param {number} bytes */
const inMib = (bytes) => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;

/** @param {string[]} args */
export async function runImport(args) {
  const options = readOptions(args);
  const cursors = new Cursors(options.spool);
  const due = dueTranscripts(options, cursors);
  const bytes = due.reduce((sum, { path, size }) => sum + size - Math.min(size, cursors.get(path)?.end ?? 0), 0);
  const sessions = new Set(due.map(({ agent, sourceId }) => `${agent} ${sourceId}`)).size;
  say(`${sessions} sessions, ${inMib(bytes)}`);
  // All of the files is read for the question only.
  if (!options.yes || options['dry-run']) {
    const { lines, credentials } = measure(due, cursors);
    say(`${lines} lines; ${credentials} texts look like credentials, which the gateway replaces`);
  }
  if (options['dry-run'] || due.length === 0) return;
  const problem = settingsProblem();
  if (problem !== undefined) throw new UsageError(problem);
  if (
    !options.yes &&
    !(await isAgreed('Send them?', 'add --yes to send without a question, or --dry-run to see what would be sent'))
  )
    return;
  await locked(options.spool, () => sendAll(due, cursors, options, bytes));
}

/** @param {string[]} args */
export async function runSync(args) {
  const options = readOptions(args);
  if (options.hook) return startInBackground();
  const problem = settingsProblem();
  if (problem !== undefined) throw new UsageError(problem);
  const from = Math.max(options.from, SAVED.since ?? 0);
  await locked(options.spool, async () => {
    const cursors = new Cursors(options.spool);
    await sendAll(dueTranscripts({ ...options, from }, cursors), cursors, options, undefined);
  });
}

/** A hook must not delay the agent, whatever happens. */
function startInBackground() {
  try {
    spawn(process.execPath, [process.argv[1] ?? '', 'sync'], { detached: true, stdio: 'ignore' })
      .on('error', () => undefined)
      .unref();
  } catch {
    // It is sent after the next turn.
  }
}

/**
 * Runs the work unless another process does; that one then looks once more, so that nothing of this call is left.
 * @param {string} base @param {() => Promise<void>} work
 */
async function locked(base, work) {
  const [lock, again] = [join(base, 'sync.lock'), join(base, 'sync.again')];
  fs.mkdirSync(base, { recursive: true, mode: 0o700 });
  try {
    fs.writeFileSync(lock, String(process.pid), { flag: 'wx' });
  } catch {
    if (isRunning(Number(fs.readFileSync(lock, 'utf8')) || undefined)) return fs.writeFileSync(again, '');
    fs.writeFileSync(lock, String(process.pid));
  }
  try {
    do {
      fs.rmSync(again, { force: true });
      await work();
    } while (fs.existsSync(again));
  } finally {
    fs.rmSync(lock, { force: true });
  }
}

/** @param {readonly Transcript[]} transcripts @param {Cursors} cursors @param {Options} options @param {number | undefined} total bytes; undefined without progress */
async function sendAll(transcripts, cursors, options, total) {
  let [sent, shownAt, done] = [0, Date.now(), 0];
  const progress = (/** @type {number} */ bytes) => {
    sent += bytes;
    if (total === undefined || Date.now() - shownAt < PROGRESS_MS) return;
    shownAt = Date.now();
    say(`${done} of ${transcripts.length} files, ${inMib(sent)} of ${inMib(total)}`);
  };
  for (const transcript of transcripts) {
    await sendTranscript(transcript, cursors, options, progress);
    done += 1;
  }
  if (total !== undefined) say(`${done} of ${transcripts.length} files are sent`);
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

/** @param {Transcript} transcript @param {Cursors} cursors @param {Options} options @param {(bytes: number) => void} progress */
async function sendTranscript(transcript, cursors, options, progress) {
  const { path, mtimeMs } = transcript;
  const file = fs.openSync(path, 'r');
  try {
    const { size } = fs.fstatSync(file);
    let cursor = cursors.get(path) ?? { end: 0 };
    const isRewritten = cursor.end > size || (cursor.mark !== undefined && cursor.mark !== markOf(file, cursor.end));
    if (isRewritten) cursor = { ...cursor, end: 0, batch: undefined, isRewritten: true };
    const isIdle = Date.now() - mtimeMs > IDLE_MS || options.file !== undefined;
    cursor = await sendLines({ transcript, cursors, options, progress, file, size, isIdle }, cursor);
    if (isIdle && cursor.isOpen && cursor.session !== undefined) {
      const { session } = cursor;
      await patiently(options.waitMs, () => move(session, 'completed').catch(ignoreConflict));
      cursor.isOpen = false;
    }
    cursors.set(path, { ...cursor, size, mtimeMs });
  } catch (error) {
    if (!(error instanceof Refusal) || (error.status !== 404 && !/was deleted/.test(error.message))) throw error;
    // Nobody gets back what was deleted.
    cursors.set(path, { end: 0, isDeleted: true });
  } finally {
    fs.closeSync(file);
  }
}

/**
 * @typedef {{ transcript: Transcript, cursors: Cursors, options: Options, progress: (bytes: number) => void, file: number, size: number,
 *   isIdle: boolean }} Sending
 */

/** @param {Sending} sending @param {Cursor} start @returns {Promise<Cursor>} */
async function sendLines(sending, start) {
  const { transcript, cursors, options, progress, file, size, isIdle } = sending;
  const { path } = transcript;
  const known = start.isRewritten ? cursors.linesOf(path) : undefined;
  const read = (/** @type {number} */ position, /** @type {number} */ length) => {
    const buffer = Buffer.alloc(Math.max(0, Math.min(length, size - position)));
    return buffer.subarray(0, fs.readSync(file, buffer, 0, buffer.length, position));
  };
  const cursor = { ...start };
  for (
    let next = nextBatch(read, cursor.end, cursor.batch, isIdle);
    next;
    next = nextBatch(read, cursor.end, undefined, isIdle)
  ) {
    const { end } = next;
    const lines = splitLines(next.lines).filter((line) => !known?.has(shortHash(line).toString('latin1')));
    if (lines.length > 0) {
      cursor.batch = end;
      if (cursor.session === undefined) cursor.session = await ensure(transcript, options);
      cursors.set(path, cursor);
      await append(cursor, transcript, options, lines);
      cursors.addLines(path, lines);
    }
    progress(end - cursor.end);
    Object.assign(cursor, { end, batch: undefined, mark: markOf(file, end) });
    cursors.set(path, cursor);
  }
  return cursor;
}

/** @param {Buffer} bytes @returns {Buffer[]} */
function splitLines(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(10, at);
    const stop = end === -1 ? bytes.length : end;
    if (stop > at) lines.push(bytes.subarray(at, stop));
    at = stop + 1;
  }
  return lines;
}

/** Creates the session, or finds it. @param {Transcript} transcript @param {Options} options */
async function ensure(transcript, options) {
  const { agent, sourceId } = transcript;
  const { body } = describeTranscript(transcript);
  const path = `/v1/sessions/by-source/${encodeURIComponent(agent)}/${encodeURIComponent(sourceId)}`;
  const text = JSON.stringify({ ...body, visibility: options.public ? 'public' : 'private' });
  const session = await patiently(options.waitMs, () =>
    post(path, text, { 'Content-Type': 'application/json' }, 'PUT'),
  );
  if (session === undefined) throw new Error('the gateway has not answered with a session');
  return session.id;
}

/** @param {Cursor} cursor @param {Transcript} transcript @param {Options} options @param {readonly Buffer[]} lines */
async function append(cursor, { path, format }, { waitMs, map }, lines) {
  const { session = '' } = cursor;
  const body = Buffer.concat(lines.flatMap((line) => [line, Buffer.from('\n')]));
  const id = digest(Buffer.concat([Buffer.from(`${path.split(/[/\\]/).at(-1)} ${cursor.end} `), body]));
  const send = () =>
    post(`/v1/sessions/${session}/events`, body, {
      'Content-Type': `application/x-ndjson; format=${format}; batchId="${id}"${map ? `; map="${map}"` : ''}`,
    });
  if (!cursor.isOpen) await patiently(waitMs, () => open(session));
  cursor.isOpen = true;
  await patiently(waitMs, () =>
    send().catch(async (error) => {
      ignoreConflict(error);
      // Somebody has finished it meanwhile.
      await open(session);
      return send();
    }),
  );
}
