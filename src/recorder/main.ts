#!/usr/bin/env node
// Records the output of an agent as a session of a gateway, while the agent runs.
//
//   curl -sO https://gateway.example/record.mjs          one file, for Node.js 20 and later
//   node record.mjs login https://gateway.example        signs in: shows a code, which you enter in a browser; `logout` undoes it
//   export GATEWAY=https://gateway.example KEY=wgk_…     instead, for programs: a key with the scope sessions.record
//
//   node record.mjs -- codex exec --json "Fix the flaky test"
//   claude -p "Fix the flaky test" --output-format stream-json --verbose | node record.mjs --title "Flaky test"
//
//   node record.mjs import                               sends what Claude Code, Codex, Gemini CLI, OpenCode, Qwen Code, Copilot CLI, pi and Cline CLI have left on this machine, after a question
//   node record.mjs install                              lets Claude Code, Codex, Gemini CLI, Copilot CLI and OpenCode call `sync`, which sends what is new, after each turn; `uninstall` undoes it. --yes does both without a question
//   node record.mjs install --print managed --at PATH    prints what an administrator puts on all machines, where the recorder is at PATH; each person then runs `login`
//   node record.mjs pull SESSION                         writes the files of a session of Claude Code or Codex to this machine, and says how to go on with it here; without SESSION it lists the last ones of this project
//   node record.mjs status                               says whether the hooks record, and ends with 1 if not
//
// Options of import and sync
//   FILE                   one transcript; --agent NAME only those of claude, codex, gemini, opencode, qwen, copilot, pi or cline
//   --since 90d            only transcripts that were changed in this time: days (d), hours (h), or a date
//   --exclude FOLDER       leaves out the work in a folder; can be repeated. A file .workspace-ignore in the folder does the same
//   --public               the whole organization can read the sessions
//   --dry-run              only says what would be sent; import --yes sends without a question
//   --format, --map        of one transcript, and --spool, as below; --wait SECONDS is 600 by default
//
// Options of pull
//   --into FOLDER          the folder to work in; by default this one. Folders in the files become those of this machine
//   --force                writes over a file that differs; --spool as below
//
// Options
//   --title TEXT           title of the session; by default the agent and its prompt
//   --format FORMAT        claude, codex, gemini, opencode, openai-responses, copilot, cline, pi, claude-transcript, codex-rollout, gemini-chat, opencode-storage, qwen-chat, text, jsonl or auto; by default
//                          recognized by the command or the lines; of an agent that is not known the texts are read as well as possible (auto).
//                          text: every line is what the agent says. jsonl: JSON lines of an agent that is not known
//   --map MEMBER=ROLE      what a member of lines of the format jsonl means, such as body.text=text or from:human=user; can be repeated
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
//   - The agent never waits for the gateway. It gets the signals that the recorder gets, and the recorder ends with its exit code:
//     with 127 if there is no such program. Wrong arguments of the recorder end it with 2.
//   - Whatever happens to the recording, the agent runs: a missing login or KEY, a full disk or a refused request is reported.
//   - At the end the session becomes completed, or failed if the agent's exit code is not 0. Of a pipe the exit code is not known.
//     Of an agent that failed, the last 4 KiB of its standard error are recorded too.
//   - The title is made of the program and its prompt, never of other parts of the command line.
//   - The agent does not get the variable KEY.
//   - A login is kept in a file that only you can read, below XDG_CONFIG_HOME, ~/.config or %APPDATA%. It can record and read sessions, nothing else.

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { constants, homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { FORMAT_NAMES } from '../domains/session-events/formats/names.ts';
import { AGENTS, NOT_SET, say, settingsProblem, SIGN_IN, textOf, UsageError, withMap } from './common.ts';
import { ERROR_WAIT_MS, MAX_ERROR_BYTES } from './limits.ts';
import { runLogin, runLogout } from './login.ts';
import { runInstall, runUninstall } from './hooks.ts';
import { runImport, runSync } from './import.ts';
import { isRunning, runsIn, Spool, type State } from './spool.ts';
import { endsInError, goesOn, programOf, titleOf } from './agents.ts';
import { branchOf, projectOf } from './description.ts';
import { runPull } from './pull.ts';
import { runStatus, sayLastError } from './status.ts';
import { sendEachSecond, Sender, sendRest } from './sender.ts';

function readArguments() {
  const options = {
    title: { type: 'string' },
    format: { type: 'string' },
    map: { type: 'string', multiple: true },
    visibility: { type: 'string', default: 'private' },
    session: { type: 'string' },
    spool: { type: 'string' },
    wait: { type: 'string', default: '30' },
    resume: { type: 'string' },
    resumed: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  } as const;
  const { values, positionals: command } = parseArgs({ options, allowPositionals: true });
  if (!['private', 'public'].includes(values.visibility))
    throw new UsageError('--visibility: must be private or public');
  if (!/^\d{1,5}$/.test(values.wait)) throw new UsageError('--wait: must be a number of seconds');
  const { format, map } = withMap(values);
  return { ...values, format, map, waitMs: Number(values.wait) * 1000, command };
}

/** Passes the chunks of the agent on and keeps them. */
async function passOn(source: NodeJS.ReadableStream, target: NodeJS.WriteStream, keep: (chunk: Buffer) => void) {
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

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'] as const;

/** How an agent ended. */
export interface End {
  code: number;
  signal?: NodeJS.Signals | null;
  errorText?: string;
  /** Whether the recorder was asked to end, and has passed it on. */
  isTerminated?: boolean;
}

async function runAgent([file = '', ...args]: readonly string[], keep: (chunk: Buffer) => void): Promise<End> {
  const { KEY: _key, ...env } = process.env;
  const agent = spawn(file, args, { stdio: ['inherit', 'pipe', 'pipe'], env });
  let isTerminated = false;
  for (const signal of SIGNALS)
    process.on(signal, () => {
      isTerminated ||= signal === 'SIGTERM';
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
  const [code, signal] = (await exited) as [number | null, NodeJS.Signals | null];
  await passed;
  // What the agent has left running may keep it open.
  await Promise.race([passedErrors, new Promise((resolve) => setTimeout(resolve, ERROR_WAIT_MS).unref())]);
  const errorText = new TextDecoder()
    .decode(tail)
    .trim()
    .replace(/^\uFFFD+/, '');
  return { code: code ?? 128 + (signal ? constants.signals[signal] : 0), signal, errorText, isTerminated };
}

/** Prints the comment at the top of this file. */
function sayHelp(): void {
  const [comment = ''] = fs.readFileSync(new URL(import.meta.url), 'utf8').split('\n\n');
  process.stdout.write(`${comment.replace(/^#.*\n/, '').replaceAll(/^\/\/ ?/gm, '')}\n`);
}

const COMMANDS: Readonly<Record<string, (args: string[]) => Promise<void>>> = {
  login: runLogin,
  logout: runLogout,
  import: runImport,
  sync: runSync,
  install: runInstall,
  uninstall: runUninstall,
  status: runStatus,
  pull: runPull,
};

async function main() {
  const [, , first = '', ...rest] = process.argv;
  if (first !== 'status' && !rest.includes('--hook')) sayLastError();
  if (Object.hasOwn(COMMANDS, first))
    return rest.includes('--help') || rest.includes('-h') ? sayHelp() : COMMANDS[first]?.(rest);
  const { command, resume, waitMs, wait: _wait, help, ...options } = readArguments();
  if (help) return sayHelp();
  if (resume !== undefined) return resumeRun(resume, waitMs);
  const spool = openSpool(options, command);
  const keep = keeperOf(spool);
  const sender = new Sender(spool);
  const stop = sendEachSecond(sender);
  const { code, signal, errorText, isTerminated } = await (
    command.length === 0 ? readPipe(keep) : runAgent(command, keep)
  ).catch((error) => {
    // The agent could not be started.
    if (spool.state.session === undefined) spool.remove();
    throw error;
  });
  await stop();
  spool.isComplete = true;
  // Some agents end with 0 also then.
  spool.state.outcome = code === 0 && !isTerminated && !endsInError(spool) ? 'completed' : 'failed';
  if (code !== 0 && errorText) spool.state.errorText = errorText;
  spool.save();
  await sendRest(sender, waitMs).catch((error) => say(`the recording is not complete: ${textOf(error)}`));
  if (signal === null || signal === undefined) return void (process.exitCode = code);
  for (const name of SIGNALS) process.removeAllListeners(name);
  process.kill(process.pid, signal);
}

async function readPipe(keep: (chunk: Buffer) => void): Promise<End> {
  // A terminal sends signals to the agent too, which ends the pipe. The second one ends the recorder.
  for (const name of SIGNALS) process.once(name, () => undefined);
  await passOn(process.stdin, process.stdout, keep);
  return { code: 0 };
}

type RunOptions = Omit<ReturnType<typeof readArguments>, 'command' | 'resume' | 'waitMs' | 'wait' | 'help'>;

function openSpool(
  { title, format, map, visibility, session, spool: given, resumed }: RunOptions,
  command: readonly string[],
) {
  const run = randomUUID();
  const { name } = programOf(command);
  const state: State = {
    run,
    title: (title ?? (titleOf(command) || `Recorded ${new Date().toISOString()}`)).slice(0, 500),
    visibility,
    project: projectOf(process.cwd()),
    branchName: branchOf(process.cwd()),
    pid: process.pid,
    agent: name || undefined,
    format: format === 'auto' ? undefined : (format ?? FORMAT_NAMES.find((each) => each === name && AGENTS.has(each))),
    map,
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

/** Names recordings whose recorder was ended before everything was sent. */
function nameLeftovers(base: string) {
  const left = runsIn(base).filter(({ state }) => !isRunning(state.pid));
  for (const { folder, state } of left.slice(0, 3))
    say(
      `an earlier recording (${state.title}) is not sent completely; send it with: node record.mjs --resume ${folder}`,
    );
  if (left.length > 3) say(`${left.length - 3} more recordings in ${base} are not sent completely`);
}

/** Keeps chunks in the spool. A full disk must not end the agent. */
function keeperOf(spool: Spool) {
  let hasFailed = false;
  return (chunk: Buffer) => {
    if (hasFailed) return;
    try {
      spool.write(chunk);
    } catch (error) {
      hasFailed = true;
      say(`the recording ends here: ${textOf(error)}`);
    }
  };
}

async function resumeRun(folder: string, waitMs: number) {
  const path = join(folder, 'state.json');
  if (!fs.existsSync(path)) throw new UsageError(settingsProblem() ?? `--resume: there is no recording in ${folder}`);
  const state: State = JSON.parse(fs.readFileSync(path, 'utf8'));
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
    if (textOf(error) === NOT_SET) say(SIGN_IN);
    const { code } = error as { code?: unknown };
    const isUsage = error instanceof UsageError || (error instanceof TypeError && code !== undefined);
    process.exit(isUsage ? 2 : code === 'ENOENT' ? 127 : 1);
  },
);
