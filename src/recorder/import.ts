/** Sends transcripts: all of the past after a question, or what is new. */

import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { counted } from '../core/text/wording.ts';
import { BASE, GATEWAY, isAgreed, SAVED, say, settingsProblem, textOf, UsageError, withMap } from './common.ts';
import { type Cursor, Cursors } from './cursors.ts';
import { describe, isLeftOut } from './description.ts';
import { readLogin } from './logins.ts';
import { clearError, noteError } from './status.ts';
import { leaveToOther, locked } from './lock.ts';
import { type Found, findFiles, identify, type Transcript, TRANSCRIPT_AGENTS } from './transcript-files.ts';
import { assembledBytes, isAssembled } from './transcript-lines.ts';
import { complete, IDLE_MS, sendAll, sizeOf } from './transcript-sender.ts';

const CHUNK = 1024 * 1024;
const MAX_HOOK = 64 * 1024;

function readOptions(args: string[]) {
  const options = {
    agent: { type: 'string' },
    format: { type: 'string' },
    map: { type: 'string', multiple: true },
    since: { type: 'string' },
    exclude: { type: 'string', multiple: true },
    public: { type: 'boolean' },
    'dry-run': { type: 'boolean' },
    yes: { type: 'boolean' },
    hook: { type: 'boolean' },
    managed: { type: 'boolean' },
    spool: { type: 'string', default: BASE },
    wait: { type: 'string', default: '600' },
  } as const;
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
    /** The arguments for a process that does the same; what an agent adds to the call of its hook is none. */
    given: args.filter((arg) => arg !== '--hook' && !positionals.includes(arg)),
    format,
    map,
    exclude: values.exclude ?? [],
    file,
    waitMs: Number(values.wait) * 1000,
    from: values.since === undefined ? 0 : timeOf(values.since),
  };
}
export type Options = ReturnType<typeof readOptions>;

function timeOf(since: string) {
  const [, count, unit] = /^(\d{1,5})([dh])$/.exec(since) ?? [];
  const time =
    count === undefined ? Date.parse(since) : Date.now() - Number(count) * (unit === 'd' ? 24 : 1) * 3_600_000;
  if (Number.isNaN(time)) throw new UsageError('--since: must be days such as 90d, hours such as 12h, or a date');
  return time;
}

/** Whether something of a transcript is to be sent, or its last line, which has no end. */
function isDue({ size, mtimeMs, ...file }: Found, cursor: Cursor | undefined) {
  if (cursor === undefined) return size > 0;
  if (cursor.isDeleted) return false;
  return (
    cursor.size !== size ||
    cursor.mtimeMs !== mtimeMs ||
    (cursor.end < size && !isAssembled(file) && Date.now() - mtimeMs > IDLE_MS)
  );
}

function dueTranscripts({ agent, file, format, from, exclude }: Options, cursors: Cursors): Transcript[] {
  const leftOut: Map<string, boolean> = new Map();
  const all = findFiles(agent, file, format);
  const due = all.filter((found) => {
    const cursor = cursors.get(found.path);
    if (!isDue(found, cursor)) return false;
    // What was there before the hooks were installed is sent by `import` only.
    if (cursor === undefined && found.mtimeMs < from) return false;
    const folder = folderOf(found);
    if (folder === undefined) return false;
    const isOut = leftOut.get(folder) ?? isLeftOut(folder, exclude);
    leftOut.set(folder, isOut);
    return !isOut;
  });
  return identify(due, all);
}

/** The folder of the work; undefined if the file cannot be read. */
function folderOf(found: Found) {
  try {
    return describe(found).cwd ?? dirname(found.path);
  } catch (error) {
    say(`${found.path} is left out: ${textOf(error)}`);
    return undefined;
  }
}

/** Shapes of credentials, which the gateway replaces by its own rules. */
const CREDENTIALS =
  /gh[pousr]_\w{36}|github_pat_\w{40}|xox[abprs]-[\w-]{10}|sk-[\w-]{20}|AKIA[\dA-Z]{16}|AIza[\w-]{35}|-----BEGIN [A-Z ]*PRIVATE KEY|wg[ko]_[\w-]{20}|Authorization[^\n]{0,4}: ?(?:Bearer|Basic) [\w.~+/-]{8}/g;

/** What is to be sent of transcripts. */
function measure(transcripts: readonly Transcript[], cursors: Cursors) {
  let [lines, credentials] = [0, 0];
  const buffer = Buffer.alloc(CHUNK);
  for (const transcript of transcripts) {
    const { path, size } = transcript;
    if (isAssembled(transcript)) {
      const text = assembledBytes(transcript).toString('latin1');
      lines += text.split('\n').length - 1;
      credentials += text.match(CREDENTIALS)?.length ?? 0;
      continue;
    }
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

/** Says what is to be sent. @returns how many bytes */
function tell(due: readonly Transcript[], cursors: Cursors, inDetail: boolean): number {
  const bytes = due.reduce((sum, { path, size }) => sum + size - Math.min(size, cursors.get(path)?.end ?? 0), 0);
  const sessions = new Set(due.map(({ agent, sourceId }) => `${agent} ${sourceId}`)).size;
  say(`${counted(sessions, 'session')}, ${sizeOf(bytes)}`);
  if (!inDetail) return bytes;
  // All of the files is read for it.
  const { lines, credentials } = measure(due, cursors);
  say(`${counted(lines, 'line')}; ${counted(credentials, 'possible credential')}, which the gateway replaces`);
  return bytes;
}

export async function runImport(args: string[]) {
  const options = readOptions(args);
  const cursors = new Cursors(options.spool);
  const due = dueTranscripts(options, cursors);
  const isDry = options['dry-run'] ?? false;
  const bytes = tell(due, cursors, isDry || !options.yes);
  if (isDry || due.length === 0) return;
  const problem = settingsProblem();
  if (problem !== undefined) throw new UsageError(problem);
  if (
    !options.yes &&
    !(await isAgreed('Send them?', 'add --yes to send without a question, or --dry-run to see what would be sent'))
  )
    return;
  await locked(
    options.spool,
    () => {
      // Others can have sent some of it since the question.
      const now = new Cursors(options.spool);
      return sendAll(dueTranscripts(options, now), now, options, bytes);
    },
    true,
  );
}

export async function runSync(args: string[]) {
  const options = readOptions(args);
  if (options.hook) return startInBackground(options, await endedSession());
  if (options['dry-run']) {
    const cursors = new Cursors(options.spool);
    return void tell(newTranscripts(options, cursors), cursors, true);
  }
  try {
    await syncAll(options);
    if (process.exitCode === 1) noteError('some transcripts are not sent; node record.mjs sync says why');
    else clearError();
  } catch (error) {
    noteError(textOf(error));
    throw error;
  }
}

/** What was there before a person has signed in is sent by `import` only. */
function newTranscripts(options: Options, cursors: Cursors): Transcript[] {
  const since = SAVED.since ?? (options.managed ? (readLogin(GATEWAY)?.since ?? 0) : 0);
  return dueTranscripts({ ...options, from: Math.max(options.from, since) }, cursors);
}

async function syncAll(options: Options) {
  const problem = settingsProblem();
  if (problem !== undefined) throw new UsageError(problem);
  await locked(options.spool, async () => {
    const cursors = new Cursors(options.spool);
    await sendAll(newTranscripts(options, cursors), cursors, options, undefined);
    await completeEnded(cursors, options);
  });
}

const ENDED = 'ended';
const HOOK_WAIT_MS = 10_000;

/** The session of Claude Code or Copilot CLI that has ended, as its hook says on standard input. */
async function endedSession(): Promise<string | undefined> {
  let text = '';
  const timer = setTimeout(() => process.stdin.destroy(), HOOK_WAIT_MS);
  try {
    for await (const chunk of process.stdin) if ((text += String(chunk)).length > MAX_HOOK) break;
    const { hook_event_name: event, session_id: id } = JSON.parse(text) as Record<string, unknown>;
    return event === 'SessionEnd' && /^[\w-]{1,255}$/.test(String(id)) ? String(id) : undefined;
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

/** Completes the sessions that have ended, once all of them is sent. What a run before has not reached is done first. */
async function completeEnded(cursors: Cursors, { spool, waitMs }: Options) {
  const [path, now] = [join(spool, ENDED), join(spool, `${ENDED}.now`)];
  while (fs.existsSync(now) || fs.existsSync(path)) {
    if (!fs.existsSync(now)) fs.renameSync(path, now);
    for (const id of new Set(fs.readFileSync(now, 'utf8').split('\n').filter(Boolean)))
      await complete(cursors.sessionOf(id), waitMs);
    fs.rmSync(now);
  }
}

/** A hook must not delay the agent, whatever happens. */
function startInBackground({ spool: base, managed, given }: Options, ended: string | undefined) {
  // Until somebody has signed in, nothing is kept.
  if (managed && settingsProblem() !== undefined) return;
  try {
    if (ended !== undefined) {
      fs.mkdirSync(base, { recursive: true, mode: 0o700 });
      fs.appendFileSync(join(base, ENDED), `${ended}\n`, { mode: 0o600 });
    }
    if (leaveToOther(base)) return;
    spawn(process.execPath, [process.argv[1] ?? '', 'sync', ...given], { detached: true, stdio: 'ignore' })
      .on('error', () => undefined)
      .unref();
  } catch {
    // It is sent after the next turn.
  }
}
