#!/usr/bin/env node
// Records the output of an agent as a session of a gateway, while the agent runs.
//
//   export GATEWAY=https://gateway.example KEY=wgk_…     the key needs only the scope sessions.record
//   curl -sO $GATEWAY/record.mjs                         one file, for Node.js 20 and later
//
//   node record.mjs -- codex exec --json "Fix the flaky test"
//   claude -p "Fix the flaky test" --output-format stream-json --verbose | node record.mjs --title "Flaky test"
//
// Options
//   --title TEXT           title of the session; by default the agent and its prompt
//   --format FORMAT        claude, codex, gemini, opencode or openai-responses; by default recognized by the command or the lines
//   --visibility WHO       private (the default) or public, which the whole organization can read
//   --session ID           records into this session instead of a new one
//   --spool FOLDER         where lines are kept until they are sent; by default ~/.workspace-recorder
//   --wait SECONDS         how long to go on trying to send after the agent has ended; by default 30
//   --resume FOLDER        sends what an earlier run could not send, and ends
//
// What it does
//   - The agent's output goes to standard output unchanged. Messages of the recorder, such as the address of the session, go to standard error.
//   - Each second the new lines are sent, in batches with an id, so that a batch that is sent again is stored once.
//   - Lines are first written to a file that only you can read. While the gateway is away they wait there; what could not be sent in the end
//     stays there, and the recorder says where.
//   - The agent never waits for the gateway. It gets the signals that the recorder gets, and the recorder ends with its exit code.
//   - Whatever happens to the recording, the agent runs: without GATEWAY or KEY, or a folder that can be written, it is reported.
//   - At the end the session becomes completed, or failed if the agent's exit code is not 0. Of a pipe the exit code is not known.
//   - The agent does not get the variable KEY.

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { constants, homedir, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';

/** A batch has at most so many lines and bytes; the gateway takes 10,000 lines and 4 MiB. */
const MAX_LINES = 1000;
const MAX_BYTES = 3 * 1024 * 1024;
const SEND_EVERY_MS = 1000;
const REQUEST_TIMEOUT_MS = 30_000;
const MAX_PAUSE_MS = 15_000;
const MAX_MEMORY = 16 * 1024 * 1024;

const FORMATS = ['claude', 'codex', 'gemini', 'opencode', 'openai-responses'];
const GATEWAY = (process.env['GATEWAY'] ?? '').replace(/\/+$/, '');
const KEY = process.env['KEY'] ?? '';

/** @param {string} text */
const say = (text) => void process.stderr.write(`record: ${text}\n`);
// Whoever reads standard error may go away; the agent goes on.
process.stderr.on('error', () => undefined);

/** @param {unknown} error */
const textOf = (error) => (error instanceof Error ? error.message : String(error));

const NOT_SET = 'the variables GATEWAY and KEY must be set';

/** A mistake in the arguments. */
class UsageError extends Error {}

function readArguments() {
  const options = /** @type {const} */ ({
    title: { type: 'string' },
    format: { type: 'string' },
    visibility: { type: 'string', default: 'private' },
    session: { type: 'string' },
    spool: { type: 'string' },
    wait: { type: 'string', default: '30' },
    resume: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  });
  const { values, positionals: command } = parseArgs({ options, allowPositionals: true });
  if (values.format !== undefined && !FORMATS.includes(values.format))
    throw new UsageError(`--format: must be one of ${FORMATS.join(', ')}`);
  if (!['private', 'public'].includes(values.visibility))
    throw new UsageError('--visibility: must be private or public');
  if (!/^\d{1,5}$/.test(values.wait)) throw new UsageError('--wait: must be a number of seconds');
  return { ...values, waitMs: Number(values.wait) * 1000, command };
}

/**
 * What is known of a run; `state.json` in its folder.
 * @typedef {{
 *   run: string,
 *   title: string,
 *   visibility: string,
 *   format?: string,
 *   session?: string,
 *   isStarted: boolean,
 *   sent: number,
 *   batch?: number,
 *   outcome?: 'completed' | 'failed',
 * }} State
 */

/** The lines of a run: `lines.ndjson` grows as the agent writes, and `state.json` says what was sent. Without a folder both are in memory. */
class Spool {
  /** @param {string | undefined} folder @param {State} state */
  constructor(folder, state) {
    this.folder = folder;
    this.state = state;
    /** Set when nothing more is written. */
    this.isComplete = false;
    this.isSaved = true;
    this.memory = Buffer.alloc(0);
    /** Where the memory begins in all that was written. */
    this.start = 0;
    if (folder === undefined) return;
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.file = fs.openSync(join(folder, 'lines.ndjson'), 'a+', 0o600);
    this.save(true);
  }

  /** @param {Buffer} chunk */
  write(chunk) {
    if (this.file !== undefined) return fs.appendFileSync(this.file, chunk);
    if (this.memory.length + chunk.length > MAX_MEMORY) throw new Error('too much is not sent and only in memory');
    this.memory = Buffer.concat([this.memory, chunk]);
  }

  /** @param {Buffer} buffer @param {number} position @returns the number of bytes */
  read(buffer, position) {
    if (this.file !== undefined) return fs.readSync(this.file, buffer, 0, buffer.length, position);
    return this.memory.copy(buffer, 0, position - this.start);
  }

  get size() {
    return this.file === undefined ? this.start + this.memory.length : fs.fstatSync(this.file).size;
  }

  /** The run goes on without what is saved, which only a later run needs. */
  save(isFirst = false) {
    if (this.folder === undefined) return;
    const path = join(this.folder, 'state.json');
    try {
      fs.writeFileSync(`${path}.new`, JSON.stringify(this.state), { mode: 0o600 });
      fs.renameSync(`${path}.new`, path);
    } catch (error) {
      if (isFirst) throw error;
      if (this.isSaved) say(`the state of the recording cannot be written: ${textOf(error)}`);
      this.isSaved = false;
    }
  }

  /** The lines that are next; undefined while there is no whole line. A batch that was begun keeps its end. */
  next() {
    const { sent, batch } = this.state;
    const buffer = Buffer.alloc(Math.min(MAX_BYTES, (batch ?? this.size) - sent));
    const length = buffer.length === 0 ? 0 : this.read(buffer, sent);
    const bytes = buffer.subarray(0, length);
    const end = batch === undefined ? endOfLines(bytes, this.isComplete) : length;
    if (end === 0) return undefined;
    this.state.batch = sent + end;
    return bytes.subarray(0, end);
  }

  acknowledge() {
    this.state.sent = this.state.batch ?? this.state.sent;
    delete this.state.batch;
    this.memory = this.memory.subarray(this.state.sent - this.start);
    this.start = this.state.sent;
    this.save();
  }

  get isSent() {
    return this.isComplete && this.state.sent === this.size;
  }

  remove() {
    if (this.file !== undefined) fs.closeSync(this.file);
    if (this.folder !== undefined) fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

/**
 * Where the last whole line of a batch ends. A line that is too long for a batch is cut, but not within a character.
 * @param {Uint8Array} bytes @param {boolean} isComplete
 */
function endOfLines(bytes, isComplete) {
  let [end, count] = [0, 0];
  for (let at = bytes.indexOf(10); at !== -1 && count < MAX_LINES; at = bytes.indexOf(10, end)) {
    end = at + 1;
    count += 1;
  }
  if (count === MAX_LINES || (end > 0 && !isComplete)) return end;
  if (bytes.length === MAX_BYTES) {
    if (end > 0) return end;
    let cut = bytes.length;
    while (((bytes[cut - 1] ?? 0) & 0xc0) === 0x80) cut -= 1;
    return cut - 1;
  }
  return isComplete ? bytes.length : end;
}

/** The gateway has refused a request, so that sending it again is of no use. */
class Refusal extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(`the gateway answered ${status}: ${message}`);
    this.status = status;
  }
}

/**
 * @param {string} path @param {string | Uint8Array<ArrayBuffer>} body @param {Record<string, string>} headers
 * @returns {Promise<{ id: string, htmlUrl: string } | undefined>} the answer, whose members are those of a session only where it is one
 * @throws Refusal, or another error when sending again can help
 */
async function post(path, body, headers) {
  const response = await fetch(`${GATEWAY}${path}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${KEY}`, ...headers },
    body,
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  });
  const text = await response.text();
  if (response.ok) {
    /** @type {{ id: string, htmlUrl: string }} */
    const answer = JSON.parse(text);
    return answer;
  }
  const message = /"error":"((?:[^"\\]|\\.)*)"/.exec(text)?.[1] ?? text.slice(0, 200);
  const { status } = response;
  if (status === 408 || status === 429 || status >= 500) {
    const after = Number(response.headers.get('retry-after')) * 1000;
    throw Object.assign(new Error(`the gateway answered ${status}`), { pauseMs: after || undefined });
  }
  throw new Refusal(status, message);
}

/** @param {string} path @param {object} body @param {string} key */
const postJson = (path, body, key) =>
  post(path, JSON.stringify(body), { 'Content-Type': 'application/json', 'Idempotency-Key': key });

/** Sends the lines of a spool: creates the session first, and sets its state at the end. */
class Sender {
  /** @param {Spool} spool */
  constructor(spool) {
    this.spool = spool;
    this.isAway = false;
    /** Why nothing more is sent. @type {string | undefined} */
    this.refusal = undefined;
    this.pauseMs = 0;
    if (GATEWAY === '' || KEY === '') this.refuse(NOT_SET);
  }

  /** @param {string} reason */
  refuse(reason) {
    this.refusal = reason;
    say(`${reason}. Lines are only kept in ${this.spool.folder ?? 'memory'}`);
  }

  /** Sends all that is there. @returns whether there is nothing left to do now */
  async flush() {
    const { spool } = this;
    const { state } = spool;
    if (this.refusal !== undefined) return false;
    try {
      if (state.format === undefined) state.format = formatOf(spool);
      if (state.format === undefined) return false;
      if (state.session === undefined) await this.create();
      if (!state.isStarted) await this.start();
      for (let lines = spool.next(); lines; lines = spool.next()) {
        spool.save();
        const batchId = `${state.run}:${state.sent}`;
        const type = `application/x-ndjson; format=${state.format}; batchId="${batchId}"`;
        await post(`/v1/sessions/${state.session}/events`, lines, { 'Content-Type': type });
        spool.acknowledge();
        this.back();
      }
      return true;
    } catch (error) {
      this.failed(error);
      return false;
    }
  }

  async create() {
    const { state } = this.spool;
    const { title, visibility, format: agent, run } = state;
    const created = await postJson('/v1/sessions', { title, visibility, agent }, `${run}:create`);
    state.session = created?.id;
    this.spool.save();
  }

  /** Moves the session to inProgress. A session that was finished is queued again. */
  async start() {
    const { state } = this.spool;
    const { session, run } = state;
    const move = (/** @type {string} */ to, step = to) =>
      postJson(`/v1/sessions/${session}/transition`, { state: to }, `${run}:${step}`);
    const moved = await move('inProgress').catch(async (/** @type {unknown} */ error) => {
      if (!(error instanceof Refusal) || error.status !== 409) throw error;
      return move('queued').then(
        () => move('inProgress', 'again'),
        // It is in progress already.
        () => undefined,
      );
    });
    state.isStarted = true;
    this.spool.save();
    this.back();
    say(moved?.htmlUrl ?? `${GATEWAY}/sessions/${session}`);
  }

  /** @returns whether the state of the session was set */
  async finish() {
    const { session, run, outcome: state } = this.spool.state;
    try {
      await postJson(`/v1/sessions/${session}/transition`, { state }, `${run}:end`);
      return true;
    } catch (error) {
      if (error instanceof Refusal && error.status === 409) {
        say(`the state of the session is not changed: ${error.message}`);
        return true;
      }
      this.failed(error);
      return false;
    }
  }

  /** @param {unknown} error */
  failed(error) {
    if (error instanceof Refusal) return this.refuse(error.message);
    const { pauseMs } = /** @type {{ pauseMs?: number }} */ (error);
    this.pauseMs = Math.min(MAX_PAUSE_MS, pauseMs ?? Math.max(SEND_EVERY_MS, this.pauseMs * 2));
    if (!this.isAway) say(`the gateway cannot be reached. Lines are kept in ${this.spool.folder ?? 'memory'}`);
    this.isAway = true;
  }

  back() {
    if (this.isAway) say('the gateway is back');
    this.isAway = false;
    this.pauseMs = 0;
  }
}

/** The types of lines by which a format is recognized. @type {readonly (readonly [string, RegExp])[]} */
const SIGNS = [
  ['codex', /"type":\s*"(?:thread|turn|item)\./],
  ['openai-responses', /"type":\s*"response\./],
  ['gemini', /"type":\s*"init"/],
  ['opencode', /"type":\s*"step_start"|"sessionID":/],
  ['claude', /"type":\s*"(?:system|assistant|stream_event|result)"/],
];

/** The format of the first lines; undefined while it is unknown. @param {Spool} spool */
function formatOf(spool) {
  const head = Buffer.alloc(64 * 1024);
  const text = head.toString('utf8', 0, spool.read(head, 0));
  const lines = text.split('\n').slice(0, spool.isComplete ? undefined : -1);
  for (const line of lines) {
    const found = SIGNS.find(([, sign]) => sign.test(line));
    if (found) return found[0];
  }
  // Every format keeps any line.
  return spool.isComplete || lines.length > 20 ? 'claude' : undefined;
}

/** @param {readonly string[]} command */
const formatOfCommand = (command) => command.map((word) => basename(word)).find((word) => FORMATS.includes(word));

/** Options of the agents that have no value or the prompt, so that what follows can be the prompt. */
const BEFORE_PROMPT =
  /^(?:-[piy]|--(?:|print|prompt|prompt-interactive|json|verbose|full-auto|yolo|skip-git-repo-check|dangerously-.+))$/;

/**
 * The agent and its prompt. The command line itself can have credentials: in options, their values, and variables. Of an unknown program
 * nobody knows which argument is the prompt.
 * @param {readonly string[]} command
 */
function titleOf(command) {
  const names = command.map((word) => (word.includes('=') ? '' : basename(word)));
  const at = names.findIndex((name) => FORMATS.includes(name));
  if (at === -1) return names.find((name) => name !== '' && name !== 'env' && !name.startsWith('-')) ?? '';
  const prompt = command.find((word, index) => {
    const before = command[index - 1] ?? '';
    if (index <= at || word.startsWith('-')) return false;
    if (/^(?:-p|--print|--prompt)$/.test(before)) return true;
    return /\s/.test(word) && (BEFORE_PROMPT.test(before) || !before.startsWith('-'));
  });
  return [names[at], prompt].filter(Boolean).join(': ');
}

/** Sends until everything is sent or the time is over. @param {Sender} sender @param {number} waitMs */
async function sendRest(sender, waitMs) {
  const { spool } = sender;
  for (const end = Date.now() + waitMs; sender.refusal === undefined;) {
    if ((await sender.flush()) && spool.isSent && (await sender.finish())) return spool.remove();
    if (sender.refusal !== undefined || Date.now() + sender.pauseMs > end) break;
    await new Promise((resolve) => setTimeout(resolve, sender.pauseMs));
  }
  const rest = `${spool.size - spool.state.sent} bytes are not sent`;
  if (spool.folder === undefined) return say(`${rest}, and are lost, because they were only in memory`);
  say(`${rest}. They are in ${spool.folder}; send them with: node record.mjs --resume ${spool.folder}`);
}

/**
 * Passes the chunks of the agent on and keeps them.
 * @param {NodeJS.ReadableStream} source @param {(chunk: Buffer) => void} keep
 */
async function passOn(source, keep) {
  const { stdout } = process;
  let isOpen = true;
  // Whoever reads standard output may go away; the agent goes on.
  stdout.on('error', () => (isOpen = false));
  for await (const chunk of source) {
    const bytes = Buffer.from(chunk);
    keep(bytes);
    // It ends with the error of a reader that has gone away.
    if (isOpen && !stdout.write(bytes)) await once(stdout, 'drain').catch(() => undefined);
  }
}

const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2']);

/** @param {readonly string[]} command @param {(chunk: Buffer) => void} keep */
async function runAgent([file = '', ...args], keep) {
  const { KEY: _key, ...env } = process.env;
  const agent = spawn(file, args, { stdio: ['inherit', 'pipe', 'inherit'], env });
  for (const signal of SIGNALS)
    process.on(signal, () => {
      // A terminal sends SIGINT to the agent itself.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) agent.kill(signal);
    });
  const ended = once(agent, 'close');
  const passed = passOn(agent.stdout, keep);
  const [code, signal] = /** @type {[number | null, NodeJS.Signals | null]} */ (await ended);
  await passed;
  return { code: code ?? 128 + (signal ? constants.signals[signal] : 0), signal };
}

/** The comment at the top of this file. */
function helpText() {
  const [comment = ''] = fs.readFileSync(new URL(import.meta.url), 'utf8').split('\n\n');
  return `${comment.replace(/^#.*\n/, '').replaceAll(/^\/\/ ?/gm, '')}\n`;
}

async function main() {
  const { command, resume, waitMs, help, ...options } = readArguments();
  if (help) return void process.stdout.write(helpText());
  if (resume !== undefined) return resumeRun(resume, waitMs);
  const spool = openSpool(options, command);
  const keep = keeperOf(spool);
  const sender = new Sender(spool);
  const stop = sendEachSecond(sender);
  const { code, signal } = await (command.length === 0 ? readPipe(keep) : runAgent(command, keep)).catch((error) => {
    // The agent could not be started.
    if (spool.state.session === undefined) spool.remove();
    throw error;
  });
  await stop();
  spool.isComplete = true;
  spool.state.outcome = code === 0 ? 'completed' : 'failed';
  spool.save();
  await sendRest(sender, waitMs).catch((error) => say(`the recording is not complete: ${textOf(error)}`));
  if (signal === null || signal === undefined) return void (process.exitCode = code);
  for (const name of SIGNALS) process.removeAllListeners(name);
  process.kill(process.pid, signal);
}

/** @param {(chunk: Buffer) => void} keep */
async function readPipe(keep) {
  // A terminal sends signals to the agent too, which ends the pipe. The second one ends the recorder.
  for (const name of SIGNALS) process.once(name, () => undefined);
  await passOn(process.stdin, keep);
  return { code: 0, signal: undefined };
}

/**
 * @param {{ title?: string, format?: string, visibility: string, session?: string, spool?: string }} options
 * @param {readonly string[]} command
 */
function openSpool({ title, format, visibility, session, spool: given }, command) {
  const run = randomUUID();
  /** @type {State} */
  const state = {
    run,
    title: (title ?? (titleOf(command) || `Recorded ${new Date().toISOString()}`)).slice(0, 500),
    visibility,
    format: format ?? formatOfCommand(command),
    session,
    isStarted: false,
    sent: 0,
  };
  const folders = [() => given ?? join(homedir(), '.workspace-recorder'), () => join(tmpdir(), 'workspace-recorder')];
  for (const folder of folders)
    try {
      return new Spool(join(folder(), run), state);
    } catch (error) {
      say(`lines cannot be kept there: ${textOf(error)}`);
    }
  say('lines are kept in memory until they are sent');
  return new Spool(undefined, state);
}

/** Keeps chunks in the spool. A full disk must not end the agent. @param {Spool} spool */
function keeperOf(spool) {
  let hasFailed = false;
  return (/** @type {Buffer} */ chunk) => {
    if (hasFailed) return;
    try {
      spool.write(chunk);
    } catch (error) {
      hasFailed = true;
      say(`the recording ends here: ${textOf(error)}`);
    }
  };
}

/** @param {Sender} sender @returns a function that stops it */
function sendEachSecond(sender) {
  let isStopped = false;
  /** @type {() => void} */
  let wake = () => undefined;
  const sending = (async () => {
    while (!isStopped) {
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, Math.max(SEND_EVERY_MS, sender.pauseMs));
        wake = () => (clearTimeout(timer), resolve(undefined));
      });
      if (!isStopped) await sender.flush();
    }
  })();
  return () => {
    isStopped = true;
    wake();
    return sending;
  };
}

/** @param {string} folder @param {number} waitMs */
async function resumeRun(folder, waitMs) {
  if (GATEWAY === '' || KEY === '') throw new UsageError(NOT_SET);
  const path = join(folder, 'state.json');
  if (!fs.existsSync(path)) throw new UsageError(`--resume: there is no recording in ${folder}`);
  /** @type {State} */
  const state = JSON.parse(fs.readFileSync(path, 'utf8'));
  const spool = new Spool(folder, { ...state, outcome: state.outcome ?? 'failed' });
  spool.isComplete = true;
  await sendRest(new Sender(spool), waitMs);
}

main().then(
  () => {
    // Standard output may still be written.
    if (process.exitCode !== undefined) process.stdout.write('', () => process.exit());
  },
  (error) => {
    say(textOf(error));
    const { code } = /** @type {{ code?: unknown }} */ (error);
    const isUsage = error instanceof UsageError || (error instanceof TypeError && code !== undefined);
    process.exit(isUsage ? 2 : code === 'ENOENT' ? 127 : 1);
  },
);
