/** Agents and their formats. */

import { basename } from 'node:path';
import { AGENTS, MAX_LOOKS } from './common.mjs';
/** @import { Spool } from './spool.mjs' */

/** The types of lines by which a format is recognized. @type {readonly (readonly [string, RegExp])[]} */
export const SIGNS = [
  ['claude-transcript', /"parentUuid":|"type":\s*"(?:queue-operation|file-history-snapshot|ai-title|custom-title)"/],
  ['codex-rollout', /"type":\s*"(?:session_meta|response_item|event_msg)"/],
  ['gemini-chat', /"type":\s*"gemini"|"projectHash":/],
  ['opencode-storage', /"messageID":|"projectID":/],
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
export function formatOf(spool, looks) {
  const text = spool.read(0, 64 * 1024).toString();
  const lines = text.split('\n').slice(0, spool.isComplete ? undefined : -1);
  for (const line of lines) {
    const found = line.startsWith('{') ? SIGNS.find(([, sign]) => sign.test(line)) : undefined;
    if (found) return found[0];
  }
  return spool.isComplete || lines.length > 20 || (lines.length > 0 && looks > MAX_LOOKS) ? 'auto' : undefined;
}

/** Options of the agents that have no value or the prompt, so that what follows can be the prompt. */
export const BEFORE_PROMPT =
  /^(?:-[piy]|--(?:|print|prompt|prompt-interactive|json|verbose|full-auto|yolo|skip-git-repo-check|dangerously-.+))$/;

/** Programs that start the one that follows them. */
export const STARTERS = /^(?:env|npx|bunx|pnpx|uvx|node|bun|deno|python3?|sudo|time|nice|nohup)$/;

/**
 * Where the agent is in the command, and its name. A word after an option can be its value, so that it is not taken for the program.
 * @param {readonly string[]} command @returns {{ at: number, name: string }}
 */
export function programOf(command) {
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
export function titleOf(command) {
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
export function goesOn(command) {
  const { at, name } = programOf(command);
  const words = command.slice(at + 1);
  if (name === 'codex') return words[0] === 'exec' && words.includes('resume');
  return AGENTS.has(name) && words.some((word) => /^(?:-[cr]|--continue|--resume)(?:=|$)/.test(word));
}
