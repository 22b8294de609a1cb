/** Agents and their formats. */

import { basename, dirname } from 'node:path';
import { formatOfLine } from '../domains/session-events/formats/recognition.ts';
import { AGENTS } from './common.ts';
import { MAX_LOOKS } from './limits.ts';
import { realPath } from './description.ts';
import type { Spool } from './spool.ts';
import { findFiles } from './transcript-files.ts';
import { headOf, jsonLinesIn, type Line, membersOf, nameIn, tailOf } from './transcript-lines.ts';

const MAX_HEAD_BYTES = 1024 * 1024;
const MAX_HEAD_LINES = 20;
const MAX_TAIL_BYTES = 256 * 1024;

/** What the first lines say; `otherwise`, when they do not say it, and undefined while they may still come. */
function inHead<Found>(spool: Spool, looks: number, find: (line: Line) => Found | undefined, otherwise: Found) {
  const text = spool.read(0, MAX_HEAD_BYTES).toString();
  const lines = text.split('\n').slice(0, spool.isComplete ? undefined : -1);
  for (const line of jsonLinesIn(lines.join('\n'))) {
    const found = find(line);
    if (found !== undefined) return found;
  }
  const isOver = spool.isComplete || lines.length > MAX_HEAD_LINES || (lines.length > 0 && looks > MAX_LOOKS);
  return isOver ? otherwise : undefined;
}

/** The format of the first lines. Of one that is not found, the gateway goes on looking for it. */
export const formatOf = (spool: Spool, looks: number): string | undefined =>
  inHead<string>(spool, looks, formatOfLine, 'auto');

/** The agent whose stream it is: that of Qwen Code has the format of Claude Code. */
export function agentOf(spool: Spool, format: string) {
  const isOfQwen = (line: Line) => (Object.hasOwn(line, 'qwen_code_version') ? 'qwen' : undefined);
  const name = format.replace(/-(?:transcript|rollout|chat|storage)$/, '');
  return (format === 'claude' && inHead(spool, Infinity, isOfQwen, name)) || name;
}

/** The id that an agent gives its session, by which its transcript is the same session; that of the run, if there is none. */
export function sourceOf(spool: Spool, looks: number) {
  const { run, format = 'auto' } = spool.state;
  const find = FROM_FILES[format];
  if (find) return find(spool) ?? (spool.isComplete || looks > MAX_FILE_LOOKS ? run : undefined);
  return STREAMS.has(format) ? inHead(spool, looks, sessionIn, run) : run;
}
const STREAMS: ReadonlySet<string> = new Set(['claude', 'codex', 'gemini', 'opencode', 'pi']);
const MAX_ID = 255;
const MAX_FILE_LOOKS = 10;

/** Copilot names its session at the end of its output; before, the file of the session that has a line of it. */
function sessionOfCopilot(spool: Spool) {
  const lines = jsonLinesIn(spool.read(spool.state.sent, MAX_HEAD_BYTES).toString());
  const known = lines.map(sessionIn).find((id) => id !== undefined);
  if (known !== undefined) return known;
  const ids = new Set(lines.filter(({ type, ephemeral }) => type === 'user.message' && !ephemeral).map(({ id }) => id));
  const files = ids.size > 0 ? findFiles('copilot', undefined, undefined) : [];
  const latest = files.toSorted((one, other) => other.mtimeMs - one.mtimeMs).slice(0, MAX_FILES);
  const file = latest.find((each) => [...headOf(each), ...tailOf(each)].some(({ id }) => ids.has(id)));
  return file && basename(dirname(file.path)).slice(0, MAX_ID);
}
const MAX_FILES = 20;

/** Cline names no session: it is the one that began in this folder just before the first line. */
function sessionOfCline(spool: Spool) {
  const [first] = jsonLinesIn(spool.read(spool.state.sent, MAX_HEAD_BYTES).toString());
  const time = Date.parse(String(first?.['ts']));
  const ids = findFiles('cline', undefined, undefined).flatMap((file) => {
    if (!(file.mtimeMs > time - MAX_START_MS)) return [];
    const [{ session_id: id, started_at: started, cwd } = {}] = headOf(file);
    const before = time - Date.parse(String(started));
    const isHere = realPath(String(cwd)) === realPath(process.cwd());
    return isHere && before >= 0 && before < MAX_START_MS ? [nameIn(id)] : [];
  });
  const [id, other] = new Set(ids);
  return other === undefined ? id?.slice(0, MAX_ID) : undefined;
}
const MAX_START_MS = 10_000;

const FROM_FILES: Readonly<Record<string, (spool: Spool) => string | undefined>> = {
  copilot: sessionOfCopilot,
  cline: sessionOfCline,
};

const sessionIn = ({ type, session_id: session, thread_id: thread, sessionID, sessionId, id, data }: Line) =>
  [session, thread, sessionID, sessionId, type === 'session' ? id : undefined, membersOf(data)['sessionId']]
    .map(nameIn)
    .find((each) => each !== undefined)
    ?.slice(0, MAX_ID);

/** Whether the last message of pi is an error, after which it ends with 0. */
export function endsInError(spool: Spool) {
  if ((spool.state.format ?? formatOf(spool, 0)) !== 'pi') return false;
  // What was sent from memory is gone.
  const start = spool.folder === undefined ? spool.state.sent : Math.max(0, spool.size - MAX_TAIL_BYTES);
  try {
    const lines = jsonLinesIn(spool.read(start, MAX_TAIL_BYTES).toString());
    const last = lines.findLast(({ type }) => type === 'message_end');
    return membersOf(last?.['message'])['stopReason'] === 'error';
  } catch {
    return false;
  }
}

/** Options of the agents that have no value or the prompt, so that what follows can be the prompt. */
const BEFORE_PROMPT =
  /^(?:-[piy]|--(?:|print|prompt|prompt-interactive|json|verbose|full-auto|yolo|skip-git-repo-check|dangerously-.+))$/;

/** Programs that start the one that follows them. */
const STARTERS = /^(?:env|npx|bunx|pnpx|uvx|node|bun|deno|python3?|sudo|time|nice|nohup)$/;

/** Where the agent is in the command, and its name. A word after an option can be its value, so that it is not taken for the program. */
export function programOf(command: readonly string[]): { at: number; name: string } {
  const names = command.map((word) => (/[=:\s]/.test(word) ? '' : basename(word).replace(/(?<=.)@.*$|\.[cm]?js$/, '')));
  const isWord = (index: number) => /^(?!-)|^(?:-y|--yes|--)$/.test(command[index - 1] ?? '');
  const known = names.findIndex((name, index) => AGENTS.has(name) && isWord(index));
  if (known !== -1) return { at: known, name: names[known] ?? '' };
  const at = names.findIndex((name, index) => /^[^-]/.test(name) && isWord(index) && !STARTERS.test(name));
  const first = names.find((name) => STARTERS.test(name)) ?? '';
  return { at, name: (names[at] ?? first).slice(0, 100) };
}

/** The agent and its prompt. The command line itself can have credentials: in options, their values, and variables. Of an unknown program nobody knows which argument is the prompt. */
export function titleOf(command: readonly string[]) {
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

/** Whether the command lets an agent go on with an earlier run, whose totals it then repeats. */
export function goesOn(command: readonly string[]) {
  const { at, name } = programOf(command);
  const words = command.slice(at + 1);
  if (name === 'codex') return words[0] === 'exec' && words.some((word) => word === 'resume' || word === 'fork');
  return AGENTS.has(name) && words.some((word) => /^(?:-[cr]|--continue|--resume)(?:=|$)/.test(word));
}
