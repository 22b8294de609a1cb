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
//   --format FORMAT        claude, codex, gemini, opencode, openai-responses, copilot, cline, pi, claude-transcript, codex-rollout, gemini-chat or auto; by default
//                          recognized by the command or the lines; of an agent that is not known the texts are read as well as possible (auto)
//   --visibility WHO       private (the default) or public, which the whole organization can read
//   --session ID           records into this session instead of a new one
//   --spool FOLDER         where lines are kept until they are sent; by default ~/.workspace-recorder
//   --wait SECONDS         how long to go on trying to send after the agent has ended; by default 30
//   --resume FOLDER        sends what an earlier run could not send, and ends: with 1 while something is not sent
//   --resumed              the agent goes on with an earlier run, so that its first total is not counted; by default known by the command
//
// What it does
//   - The agent's output goes to standard output unchanged. Messages of the recorder, such as the address of the session, go to standard error.
//   - Each second the new lines are sent, in batches with an id, so that a batch that is sent again is stored once.
//   - Lines are first written to a file that only you can read. While the gateway is away they wait there; what could not be sent in the end
//     stays there, and the recorder says where.
//   - The agent never waits for the gateway. It gets the signals that the recorder gets, and the recorder ends with its exit code.
//   - Whatever happens to the recording, the agent runs: a missing KEY, a full disk or a refused request is reported.
//   - At the end the session becomes completed, or failed if the agent's exit code is not 0. Of a pipe the exit code is not known.
//     Of an agent that failed, the last 4 KiB of its standard error are recorded too.
//   - The title is made of the program and its prompt, never of other parts of the command line.
//   - The agent does not get the variable KEY.

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { constants, homedir, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';

/** A batch has at most so many lines and bytes, as the gateway takes them. A longer line is sent alone, with its longest texts cut. */
const MAX_LINES = 10_000;
const MAX_BYTES = 4 * 1024 * 1024;
/** Longer lines are sent in parts. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;
const SEND_EVERY_MS = 1000;
const REQUEST_TIMEOUT_MS = 30_000;
const MAX_PAUSE_MS = 15_000;
/** So often the format of lines is looked for before the session is created without it. */
const MAX_LOOKS = 2;
const MAX_MEMORY = 16 * 1024 * 1024;
const MAX_ERROR_BYTES = 4096;
/** How long standard error is read after the agent has ended. */
const ERROR_WAIT_MS = 1000;

const FORMATS = [
  'claude',
  'codex',
  'gemini',
  'opencode',
  'openai-responses',
  'copilot',
  'cline',
  'pi',
  'claude-transcript',
  'codex-rollout',
  'gemini-chat',
  'auto',
];
/** Programs whose prompt is known. */
const AGENTS = new Set([...FORMATS, 'qwen']);
AGENTS.delete('auto');
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

/** What is wrong with the variables; undefined if nothing is. */
function settingsProblem() {
  if (GATEWAY === '' || KEY === '') return NOT_SET;
  if (!/^https?:\/\/./.test(GATEWAY) || !URL.canParse(GATEWAY))
    return 'the gateway cannot be reached: the variable GATEWAY must be an address such as https://gateway.example';
  return /^[\x21-\x7e]+$/.test(KEY) ? undefined : 'the variable KEY must be an API key, without spaces and line breaks';
}

function readArguments() {
  const options = /** @type {const} */ ({
    title: { type: 'string' },
    format: { type: 'string' },
    visibility: { type: 'string', default: 'private' },
    session: { type: 'string' },
    spool: { type: 'string' },
    wait: { type: 'string', default: '30' },
    resume: { type: 'string' },
    resumed: { type: 'boolean' },
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
 *   pid?: number,
 *   agent?: string,
 *   format?: string,
 *   isResumed?: boolean,
 *   session?: string,
 *   starts: number,
 *   isStarted: boolean,
 *   sent: number,
 *   batch?: number,
 *   outcome?: 'completed' | 'failed',
 *   errorText?: string,
 * }} State
 */

/**
 * The lines of a run: `lines.ndjson` grows as the agent writes, and `state.json` says what was sent. What cannot be written to the file,
 * because there is no folder or the disk is full, is kept in memory.
 */
class Spool {
  /** @param {string | undefined} folder @param {State} state */
  constructor(folder, state) {
    this.folder = folder;
    this.state = state;
    /** Set when nothing more is written. */
    this.isComplete = false;
    this.isSaved = true;
    /** @type {number | undefined} */
    this.file = undefined;
    this.inFile = 0;
    /** What follows the file. It begins at `start`. */
    this.memory = Buffer.alloc(0);
    this.start = 0;
    if (folder === undefined) return;
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
    try {
      this.file = fs.openSync(join(folder, 'lines.ndjson'), 'a+', 0o600);
      this.inFile = this.start = fs.fstatSync(this.file).size;
      this.save(true);
    } catch (error) {
      this.remove();
      throw error;
    }
  }

  /** @param {Buffer} chunk */
  write(chunk) {
    if (this.file !== undefined && this.start === this.inFile && this.memory.length === 0)
      try {
        fs.appendFileSync(this.file, chunk);
        this.inFile = this.start += chunk.length;
        return;
      } catch (error) {
        say(
          `lines cannot be written to ${this.folder}: ${textOf(error)}. What follows is kept in memory until it is sent`,
        );
        // What was written of the chunk follows in memory, with the rest of it.
        fs.ftruncateSync(this.file, this.inFile);
      }
    if (this.memory.length + chunk.length > MAX_MEMORY)
      throw new Error(`more than ${MAX_MEMORY / 1024 / 1024} MiB are not sent and only in memory`);
    this.memory = Buffer.concat([this.memory, chunk]);
  }

  /** At most so many bytes. @param {number} position @param {number} length @returns {Buffer} */
  read(position, length) {
    if (position >= this.start) return this.memory.subarray(position - this.start, position - this.start + length);
    const buffer = Buffer.alloc(Math.min(length, this.inFile - position));
    const count =
      buffer.length === 0 ? 0 : fs.readSync(/** @type {number} */ (this.file), buffer, 0, buffer.length, position);
    const rest = this.read(this.start, length - count);
    return rest.length === 0 ? buffer.subarray(0, count) : Buffer.concat([buffer.subarray(0, count), rest]);
  }

  get size() {
    return this.start + this.memory.length;
  }

  /** Where what is not sent is kept. */
  get place() {
    if (this.folder === undefined) return 'memory';
    return this.memory.length === 0 ? this.folder : `${this.folder} and memory`;
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
    if (batch !== undefined) return fitting(this.read(sent, batch - sent));
    let bytes = this.read(sent, MAX_BYTES);
    let end = endOfLines(bytes);
    if (end === 0 && bytes.length === MAX_BYTES) {
      bytes = this.read(sent, MAX_LINE_BYTES);
      end = bytes.indexOf(10) + 1;
      if (end === 0 && bytes.length === MAX_LINE_BYTES) end = endOfPart(bytes);
    }
    if (end === 0 && this.isComplete) end = bytes.length;
    if (end === 0) return undefined;
    const lines = fitting(bytes.subarray(0, end));
    // A long line that cannot be made shorter.
    if (lines.length > MAX_BYTES) end = endOfPart(bytes);
    this.state.batch = sent + end;
    return lines.subarray(0, end);
  }

  acknowledge() {
    this.state.sent = this.state.batch ?? this.state.sent;
    delete this.state.batch;
    const done = this.state.sent - this.start;
    if (done > 0) {
      this.memory = this.memory.subarray(done);
      this.start = this.state.sent;
    }
    this.save();
  }

  /** Writes to the file what is only in memory. @returns how many bytes are still only there */
  keep() {
    if (this.memory.length === 0 || this.file === undefined) return this.memory.length;
    try {
      // What was sent from memory takes no room in the file.
      fs.ftruncateSync(this.file, this.start);
      fs.appendFileSync(this.file, this.memory);
      this.inFile = this.start += this.memory.length;
      this.memory = Buffer.alloc(0);
    } catch {
      fs.ftruncateSync(this.file, this.inFile);
    }
    return this.memory.length;
  }

  get isSent() {
    return this.isComplete && this.state.sent === this.size;
  }

  remove() {
    if (this.file !== undefined) fs.closeSync(this.file);
    if (this.folder !== undefined) fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Where the last whole line of a batch ends. @param {Uint8Array} bytes */
function endOfLines(bytes) {
  let [end, count] = [0, 0];
  for (let at = bytes.indexOf(10); at !== -1 && count < MAX_LINES; at = bytes.indexOf(10, end)) {
    end = at + 1;
    count += 1;
  }
  return end;
}

/** Where a part of a line that is too long ends, which is not within a character. @param {Uint8Array} bytes */
function endOfPart(bytes) {
  let end = MAX_BYTES;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return end;
}

/**
 * A line that is too long for a request, with its longest texts cut, so that the gateway can read it; if it is no JSON, as it is.
 * @param {Buffer} bytes @returns {Buffer}
 */
function fitting(bytes) {
  if (bytes.length <= MAX_BYTES) return bytes;
  try {
    /** @type {unknown} */
    const line = JSON.parse(bytes.toString());
    for (let longest = MAX_BYTES / 4; longest >= 1024; longest /= 2) {
      const shorter = Buffer.from(`${JSON.stringify(line, (_, value) => cut(value, longest))}\n`);
      if (shorter.length <= MAX_BYTES) return shorter;
    }
  } catch {
    // It is sent in parts.
  }
  return bytes;
}

/** @param {unknown} value @param {number} length */
function cut(value, length) {
  if (typeof value !== 'string' || value.length <= length) return value;
  return `${value.slice(0, length)}\n[… ${value.length - length} more characters were not recorded]`;
}

/** The gateway has refused a request, so that sending it again is of no use. */
class Refusal extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(`the gateway answered ${status}: ${message}`);
    this.status = status;
  }
}

/** A request that can be sent again after a while. */
class Problem extends Error {
  /** @param {string} message @param {number} [pauseMs] */
  constructor(message, pauseMs) {
    super(message);
    this.pauseMs = pauseMs;
  }
}

/** How long the next request should wait, so that other recorders with the key can send as well. */
let paceMs = SEND_EVERY_MS;

/** Spreads what is left of the rate limit over the rest of the minute, when less than half of it is left. @param {Headers} headers */
function keepPace(headers) {
  const [limit = 0, left = 0, seconds = 0] = ['limit', 'remaining', 'reset'].map((name) =>
    Number(headers.get(`ratelimit-${name}`)),
  );
  const spread = Math.min(MAX_PAUSE_MS, 1000 * (seconds + 1), (4000 * seconds) / (left + 1));
  paceMs = 2 * left >= limit ? SEND_EVERY_MS : Math.max(SEND_EVERY_MS, spread);
}

/** Why there was no answer. @param {unknown} error */
function reasonOf(error) {
  if (error instanceof Error && error.name === 'TimeoutError')
    return `the gateway has not answered within ${REQUEST_TIMEOUT_MS / 1000} seconds`;
  const { cause } = /** @type {{ cause?: { code?: string, message?: string } }} */ (error);
  return `the gateway cannot be reached: ${cause?.code ?? cause?.message ?? textOf(error)}`;
}

/**
 * @param {string} path @param {string | Uint8Array<ArrayBuffer>} body @param {Record<string, string>} headers
 * @returns {Promise<{ id: string, htmlUrl: string } | undefined>} the answer, whose members are those of a session only where it is one
 * @throws Refusal, or Problem when sending again can help
 */
async function post(path, body, headers) {
  const { status, headers: answered, text } = await answerOf(path, body, headers);
  keepPace(answered);
  if (status >= 200 && status < 300) {
    /** @type {{ id: string, htmlUrl: string }} */
    const answer = JSON.parse(text);
    return answer;
  }
  const message = /"error":"((?:[^"\\]|\\.)*)"/.exec(text)?.[1] ?? text.slice(0, 200);
  if (status === 408 || status === 429 || status >= 500)
    throw new Problem(
      `the gateway answered ${status}: ${message}`,
      Number(answered.get('retry-after')) * 1000 || undefined,
    );
  throw new Refusal(status, message);
}

/** @param {string} path @param {string | Uint8Array<ArrayBuffer>} body @param {Record<string, string>} headers @throws Problem */
async function answerOf(path, body, headers) {
  try {
    const response = await fetch(`${GATEWAY}${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${KEY}`, ...headers },
      body,
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  } catch (error) {
    throw new Problem(reasonOf(error));
  }
}

/** @param {string} path @param {object} body @param {string} key */
const postJson = (path, body, key) =>
  post(path, JSON.stringify(body), { 'Content-Type': 'application/json', 'Idempotency-Key': key });

/** @param {unknown} error @returns {error is Refusal} */
const isConflict = (error) => error instanceof Refusal && error.status === 409;

/** Sends the lines of a spool: creates the session first, and sets its state at the end. */
class Sender {
  /** @param {Spool} spool */
  constructor(spool) {
    this.spool = spool;
    /** What is wrong now. @type {string | undefined} */
    this.problem = undefined;
    /** Why nothing more is sent. @type {string | undefined} */
    this.refusal = undefined;
    this.pauseMs = 0;
    /** How often the format was looked for. */
    this.looks = 0;
    const problem = settingsProblem();
    if (problem !== undefined) this.refuse(problem);
  }

  /** @param {string} reason */
  refuse(reason) {
    this.refusal = reason;
    say(`${reason}. Lines are only kept in ${this.spool.place}`);
  }

  /** Sends all that is there. @returns whether there is nothing left to do now */
  async flush() {
    const { spool } = this;
    const { state } = spool;
    if (this.refusal !== undefined) return false;
    try {
      state.format ??= formatOf(spool, (this.looks += 1));
      if (state.format === undefined) return false;
      if (state.session === undefined) await this.create();
      if (!state.isStarted) await this.start();
      for (let lines = spool.next(); lines; lines = spool.next()) {
        spool.save();
        await this.append(lines, this.typeOf(state.format));
        spool.acknowledge();
        this.back();
      }
      return true;
    } catch (error) {
      this.failed(error);
      return false;
    }
  }

  /** @param {string} format */
  typeOf(format) {
    const { run, sent, isResumed } = this.spool.state;
    return `application/x-ndjson; format=${format}; batchId="${run}:${sent}"${isResumed ? '; resumed=true' : ''}`;
  }

  /** Appends to the session. One that another recorder has finished is queued again. @param {string | Buffer} body @param {string} type */
  async append(body, type) {
    const send = () =>
      post(`/v1/sessions/${this.spool.state.session}/events`, /** @type {string} */ (body), { 'Content-Type': type });
    await send().catch(async (error) => {
      if (!isConflict(error)) throw error;
      await this.start();
      return send();
    });
  }

  async create() {
    const { state } = this.spool;
    const { title, visibility, format, run } = state;
    if (format !== 'auto') state.agent = AGENTS.has(state.agent ?? '') ? state.agent : format;
    const { agent } = state;
    const created = await postJson('/v1/sessions', { title, visibility, agent }, `${run}:create`);
    state.session = created?.id;
    this.spool.save();
  }

  /** @param {string} to @param {string} step */
  move(to, step) {
    const { session, run } = this.spool.state;
    return postJson(`/v1/sessions/${session}/transition`, { state: to }, `${run}:${step}`);
  }

  /** Moves the session to inProgress. A session that was finished is queued again, unless a person has cancelled it meanwhile. */
  async start() {
    const { state } = this.spool;
    const moved = await this.move('inProgress', `start-${state.starts}`).catch((error) => this.restart(error, 1));
    state.starts += 1;
    const isFirst = !state.isStarted;
    state.isStarted = true;
    this.spool.save();
    this.back();
    if (isFirst) say(moved?.htmlUrl ?? `${GATEWAY}/sessions/${state.session}`);
  }

  /** Other recorders may move the session at the same time. @param {unknown} error @param {number} tries @returns {ReturnType<typeof post>} */
  async restart(error, tries) {
    const { starts, isStarted } = this.spool.state;
    if (!isConflict(error) || tries > 5) throw error;
    if (/is inProgress/.test(error.message)) return undefined;
    if (isStarted && /is cancelled/.test(error.message)) throw new Refusal(409, 'the session was cancelled');
    const step = `start-${starts}-${tries}`;
    await this.move('queued', `${step}:queued`).catch((refused) => {
      if (!isConflict(refused)) throw refused;
    });
    return this.move('inProgress', step).catch((again) => this.restart(again, tries + 1));
  }

  /** Records why the agent failed, and sets the state of the session. @returns whether nothing is left to do */
  async finish() {
    const { spool } = this;
    const { state } = spool;
    try {
      if (state.errorText !== undefined) {
        await this.append(errorEvent(state), 'application/json');
        delete state.errorText;
        spool.save();
      }
      if (othersIn(spool)) say('another recorder still records into the session, and sets its state');
      else if (state.outcome !== undefined) await this.end(state.outcome);
      return true;
    } catch (error) {
      this.failed(error);
      return false;
    }
  }

  /** @param {'completed' | 'failed'} outcome */
  async end(outcome) {
    const { starts } = this.spool.state;
    await this.move(outcome, `end-${starts}`).catch(async (/** @type {unknown} */ error) => {
      if (!isConflict(error) || new RegExp(`is ${outcome}`).test(error.message)) return undefined;
      if (/is cancelled/.test(error.message)) return say(`the state of the session is not changed: ${error.message}`);
      // Another recorder has finished it otherwise.
      await this.start();
      return this.move(outcome, `end-${starts + 1}`);
    });
  }

  /** @param {unknown} error */
  failed(error) {
    if (error instanceof Refusal) return this.refuse(error.message);
    const { pauseMs } = /** @type {{ pauseMs?: number }} */ (error);
    this.pauseMs = Math.min(MAX_PAUSE_MS, pauseMs ?? Math.max(SEND_EVERY_MS, this.pauseMs * 2));
    const problem = textOf(error);
    if (problem !== this.problem) say(`${problem}. Lines are kept in ${this.spool.place} until they are sent`);
    this.problem = problem;
  }

  back() {
    if (this.problem !== undefined) say('the gateway takes lines again');
    this.problem = undefined;
    this.pauseMs = 0;
  }
}

/** The end of the standard error of an agent that failed. @param {State} state */
function errorEvent({ run, agent, errorText: accumulatedText }) {
  const eventData = { type: 'error', source: 'system', delivery: 'persist', accumulatedText };
  const event = { eventType: 'error', provider: agent ?? 'recorder', eventData };
  return JSON.stringify({ batchId: `${run}:error`, events: [event] });
}

/** Whether a process runs. @param {number | undefined} pid */
function isRunning(pid) {
  if (pid === undefined) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return /** @type {{ code?: string }} */ (error).code === 'EPERM';
  }
}

/** The other recordings in a folder, with their folders. @param {string} base @returns {{ folder: string, state: State }[]} */
function runsIn(base) {
  try {
    return fs.readdirSync(base).flatMap((name) => {
      const folder = join(base, name);
      const path = join(folder, 'state.json');
      return fs.existsSync(path) ? [{ folder, state: JSON.parse(fs.readFileSync(path, 'utf8')) }] : [];
    });
  } catch {
    return [];
  }
}

/** Whether another recorder of this machine still records into the session. @param {Spool} spool */
function othersIn({ folder, state }) {
  if (folder === undefined) return false;
  return runsIn(dirname(folder)).some(
    (other) =>
      other.folder !== folder &&
      other.state.session === state.session &&
      !other.state.outcome &&
      isRunning(other.state.pid),
  );
}

/** The types of lines by which a format is recognized. @type {readonly (readonly [string, RegExp])[]} */
const SIGNS = [
  ['claude-transcript', /"parentUuid":|"type":\s*"(?:queue-operation|file-history-snapshot|ai-title|custom-title)"/],
  ['codex-rollout', /"type":\s*"(?:session_meta|response_item|event_msg)"/],
  ['gemini-chat', /"type":\s*"gemini"|"projectHash":/],
  ['codex', /"type":\s*"(?:thread|turn|item)\./],
  ['openai-responses', /"type":\s*"response\./],
  ['gemini', /"type":\s*"init"/],
  ['opencode', /"type":\s*"step_start"|"sessionID":/],
  ['pi', /"type":\s*"(?:agent_start|message_update|tool_execution_\w+)"/],
  ['copilot', /"type":\s*"(?:session|assistant|user|tool)\.\w/],
  ['cline', /"type":\s*"(?:hook_event|agent_event|run_result)"/],
  ['claude', /"type":\s*"(?:system|assistant|stream_event|result)"/],
];

/** The format of the first lines; undefined while it is unknown. The gateway goes on looking for it. @param {Spool} spool @param {number} looks */
function formatOf(spool, looks) {
  const text = spool.read(0, 64 * 1024).toString();
  const lines = text.split('\n').slice(0, spool.isComplete ? undefined : -1);
  for (const line of lines) {
    const found = line.startsWith('{') ? SIGNS.find(([, sign]) => sign.test(line)) : undefined;
    if (found) return found[0];
  }
  return spool.isComplete || lines.length > 20 || (lines.length > 0 && looks > MAX_LOOKS) ? 'auto' : undefined;
}

/** Options of the agents that have no value or the prompt, so that what follows can be the prompt. */
const BEFORE_PROMPT =
  /^(?:-[piy]|--(?:|print|prompt|prompt-interactive|json|verbose|full-auto|yolo|skip-git-repo-check|dangerously-.+))$/;

/** Programs that start the one that follows them. */
const STARTERS = /^(?:env|npx|bunx|pnpx|uvx|node|bun|deno|python3?|sudo|time|nice|nohup)$/;

/**
 * Where the agent is in the command, and its name. A word after an option can be its value, so that it is not taken for the program.
 * @param {readonly string[]} command @returns {{ at: number, name: string }}
 */
function programOf(command) {
  const names = command.map((word) => (/[=:\s]/.test(word) ? '' : basename(word).replace(/(?<=.)@.*$|\.[cm]?js$/, '')));
  const isWord = (/** @type {number} */ index) => /^(?!-)|^(?:-y|--yes|--)$/.test(command[index - 1] ?? '');
  const known = names.findIndex((name, index) => AGENTS.has(name) && isWord(index));
  if (known !== -1) return { at: known, name: names[known] ?? '' };
  const at = names.findIndex((name, index) => /^[^-]/.test(name) && isWord(index) && !STARTERS.test(name));
  const first = names.find((name) => STARTERS.test(name)) ?? '';
  return { at, name: (names[at] ?? first).slice(0, 100) };
}

/**
 * The agent and its prompt. The command line itself can have credentials: in options, their values, and variables. Of an unknown program
 * nobody knows which argument is the prompt.
 * @param {readonly string[]} command
 */
function titleOf(command) {
  const { at, name } = programOf(command);
  if (!AGENTS.has(name)) return name;
  const prompt = command.find((word, index) => {
    const before = command[index - 1] ?? '';
    if (index <= at || word.startsWith('-')) return false;
    if (/^(?:-p|--print|--prompt)$/.test(before)) return true;
    return /\s/.test(word) && (BEFORE_PROMPT.test(before) || !before.startsWith('-'));
  });
  return [name, prompt].filter(Boolean).join(': ');
}

/** Whether the command lets an agent go on with an earlier run, whose totals it then repeats. @param {readonly string[]} command */
function goesOn(command) {
  const { at, name } = programOf(command);
  const words = command.slice(at + 1);
  if (name === 'codex') return words[0] === 'exec' && words.includes('resume');
  return AGENTS.has(name) && words.some((word) => /^(?:-[cr]|--continue|--resume)(?:=|$)/.test(word));
}

/** Sends until everything is sent or the time is over. @param {Sender} sender @param {number} waitMs @returns whether everything is sent */
async function sendRest(sender, waitMs) {
  const { spool } = sender;
  for (const end = Date.now() + waitMs; sender.refusal === undefined;) {
    if ((await sender.flush()) && spool.isSent && (await sender.finish())) {
      spool.remove();
      return true;
    }
    if (sender.refusal !== undefined || Date.now() + sender.pauseMs > end) break;
    await new Promise((resolve) => setTimeout(resolve, sender.pauseMs));
  }
  const lost = spool.keep();
  const kept = spool.size - spool.state.sent - lost;
  spool.save();
  if (lost > 0) say(`${lost} bytes are not sent, and are lost, because they were only in memory`);
  if (spool.folder === undefined) return false;
  const what = kept > 0 ? `${kept} bytes are not sent. They are` : 'the end of the recording is not sent. It is';
  say(`${what} in ${spool.folder}; send them with: node record.mjs --resume ${spool.folder}`);
  return false;
}

/**
 * Passes the chunks of the agent on and keeps them.
 * @param {NodeJS.ReadableStream} source @param {NodeJS.WriteStream} target @param {(chunk: Buffer) => void} keep
 */
async function passOn(source, target, keep) {
  let isOpen = true;
  // Whoever reads the output may go away; the agent goes on.
  target.on('error', () => (isOpen = false));
  for await (const chunk of source) {
    const bytes = Buffer.from(chunk);
    keep(bytes);
    // It ends with the error of a reader that has gone away.
    if (isOpen && !target.write(bytes)) await once(target, 'drain').catch(() => undefined);
  }
}

const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2']);

/** How an agent ended. @typedef {{ code: number, signal?: NodeJS.Signals | null, errorText?: string }} End */

/** @param {readonly string[]} command @param {(chunk: Buffer) => void} keep @returns {Promise<End>} */
async function runAgent([file = '', ...args], keep) {
  const { KEY: _key, ...env } = process.env;
  const agent = spawn(file, args, { stdio: ['inherit', 'pipe', 'pipe'], env });
  for (const signal of SIGNALS)
    process.on(signal, () => {
      // A terminal sends SIGINT to the agent itself.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) agent.kill(signal);
    });
  const exited = once(agent, 'exit');
  let tail = Buffer.alloc(0);
  const passed = passOn(agent.stdout, process.stdout, keep);
  const passedErrors = passOn(
    agent.stderr,
    process.stderr,
    (chunk) => (tail = Buffer.concat([tail, chunk]).subarray(-MAX_ERROR_BYTES)),
  );
  const [code, signal] = /** @type {[number | null, NodeJS.Signals | null]} */ (await exited);
  await passed;
  // What the agent has left running may keep it open.
  await Promise.race([passedErrors, new Promise((resolve) => setTimeout(resolve, ERROR_WAIT_MS).unref())]);
  const errorText = new TextDecoder()
    .decode(tail)
    .trim()
    .replace(/^\uFFFD+/, '');
  return { code: code ?? 128 + (signal ? constants.signals[signal] : 0), signal, errorText };
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
  const { code, signal, errorText } = await (command.length === 0 ? readPipe(keep) : runAgent(command, keep)).catch(
    (error) => {
      // The agent could not be started.
      if (spool.state.session === undefined) spool.remove();
      throw error;
    },
  );
  await stop();
  spool.isComplete = true;
  spool.state.outcome = code === 0 ? 'completed' : 'failed';
  if (code !== 0 && errorText) spool.state.errorText = errorText;
  spool.save();
  await sendRest(sender, waitMs).catch((error) => say(`the recording is not complete: ${textOf(error)}`));
  if (signal === null || signal === undefined) return void (process.exitCode = code);
  for (const name of SIGNALS) process.removeAllListeners(name);
  process.kill(process.pid, signal);
}

/** @param {(chunk: Buffer) => void} keep @returns {Promise<End>} */
async function readPipe(keep) {
  // A terminal sends signals to the agent too, which ends the pipe. The second one ends the recorder.
  for (const name of SIGNALS) process.once(name, () => undefined);
  await passOn(process.stdin, process.stdout, keep);
  return { code: 0 };
}

/**
 * @param {{ title?: string, format?: string, visibility: string, session?: string, spool?: string, resumed?: boolean }} options
 * @param {readonly string[]} command
 */
function openSpool({ title, format, visibility, session, spool: given, resumed }, command) {
  const run = randomUUID();
  const { name } = programOf(command);
  /** @type {State} */
  const state = {
    run,
    title: (title ?? (titleOf(command) || `Recorded ${new Date().toISOString()}`)).slice(0, 500),
    visibility,
    pid: process.pid,
    agent: name || undefined,
    format: format === 'auto' ? undefined : (format ?? FORMATS.find((each) => each === name)),
    isResumed: resumed ?? goesOn(command),
    session,
    starts: 0,
    isStarted: false,
    sent: 0,
  };
  const folders = [() => given ?? join(homedir(), '.workspace-recorder'), () => join(tmpdir(), 'workspace-recorder')];
  for (const folder of folders)
    try {
      const base = folder();
      const spool = new Spool(join(base, run), state);
      nameLeftovers(base);
      return spool;
    } catch (error) {
      say(`lines cannot be kept there: ${textOf(error)}`);
    }
  say('lines are kept in memory until they are sent');
  return new Spool(undefined, state);
}

/** Names recordings whose recorder was ended before everything was sent. @param {string} base */
function nameLeftovers(base) {
  const left = runsIn(base).filter(({ state }) => !isRunning(state.pid));
  for (const { folder, state } of left.slice(0, 3))
    say(
      `an earlier recording (${state.title}) is not sent completely; send it with: node record.mjs --resume ${folder}`,
    );
  if (left.length > 3) say(`${left.length - 3} more recordings in ${base} are not sent completely`);
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
        const timer = setTimeout(resolve, Math.max(paceMs, sender.pauseMs));
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
  const path = join(folder, 'state.json');
  if (!fs.existsSync(path)) throw new UsageError(settingsProblem() ?? `--resume: there is no recording in ${folder}`);
  /** @type {State} */
  const state = JSON.parse(fs.readFileSync(path, 'utf8'));
  if (isRunning(state.pid) && state.outcome === undefined)
    throw new UsageError(`--resume: the recorder of ${folder} still runs`);
  const spool = new Spool(folder, {
    ...state,
    starts: (state.starts ?? 0) + 1,
    isStarted: false,
    outcome: state.outcome ?? 'failed',
  });
  // What was only in memory is gone.
  spool.state.sent = Math.min(state.sent, spool.size);
  spool.isComplete = true;
  if (!(await sendRest(new Sender(spool), waitMs))) process.exitCode = 1;
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
