/** What the parts of the recorder have in common. */

import * as fs from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { createInterface } from 'node:readline/promises';

/** A batch has at most so many lines and bytes, as the gateway takes them. A longer line is sent alone, with its longest texts cut. */
export const MAX_LINES = 10_000;
export const MAX_BYTES = 4 * 1024 * 1024;
/** Longer lines are sent in parts. */
export const MAX_LINE_BYTES = 8 * 1024 * 1024;
export const SEND_EVERY_MS = 1000;
export const REQUEST_TIMEOUT_MS = 30_000;
export const MAX_PAUSE_MS = 15_000;
/** So often the format of lines is looked for before the session is created without it. */
export const MAX_LOOKS = 2;
export const MAX_MEMORY = 16 * 1024 * 1024;
export const MAX_ERROR_BYTES = 4096;
/** How long standard error is read after the agent has ended. */
export const ERROR_WAIT_MS = 1000;

export const FORMATS = [
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
  'opencode-storage',
  'text',
  'jsonl',
  'auto',
];
/** Formats that say nothing about the agent. */
export const OF_ANY_AGENT = new Set(['text', 'jsonl', 'auto']);
/** Programs whose prompt is known. */
export const AGENTS = new Set([...FORMATS.filter((format) => !OF_ANY_AGENT.has(format)), 'qwen']);
/** What a member of a JSON line can mean. */
const ROLES = [
  'user',
  'assistant',
  'system',
  'tool',
  'thinking',
  'error',
  'text',
  'role',
  'time',
  'toolName',
  'toolCallId',
  'toolInput',
  'toolOutput',
  'toolError',
  'model',
  'inputTokens',
  'outputTokens',
  'cachedInputTokens',
  'cacheWriteTokens',
  'costUsd',
  'durationMs',
];
export const BASE = join(homedir(), '.workspace-recorder');
export const SETTINGS = join(BASE, 'settings.json');
/** @type {{ GATEWAY?: string, KEY?: string, since?: number }} what `install` has saved for the hooks */
export const SAVED = process.argv[2] === 'sync' || process.argv[2] === 'import' ? readSettings() : {};
export const KEY = process.env['KEY'] ?? SAVED.KEY ?? '';
/** What `login` has stored: a file for each gateway. */
export const LOGINS = join(configurationFolder(), 'workspace-gateway');
export const GATEWAY = baseOf(process.env['GATEWAY'] ?? SAVED.GATEWAY ?? (KEY === '' ? onlyLogin() : ''));

/** @param {string} address */
export function baseOf(address) {
  return address.replace(/\/+$/, '');
}

/** @param {string} gateway */
export function loginFile(gateway) {
  return join(LOGINS, `${encodeURIComponent(gateway)}.json`);
}

/** The folder for the settings of programs (XDG Base Directory Specification). */
function configurationFolder() {
  const { XDG_CONFIG_HOME: given = '', APPDATA: roaming = '' } = process.env;
  if (isAbsolute(given)) return given;
  return process.platform === 'win32' && roaming !== '' ? roaming : join(homedir(), '.config');
}

/** The gateway of the login, where there is exactly one. */
function onlyLogin() {
  try {
    const files = fs.readdirSync(LOGINS).filter((name) => name.endsWith('.json'));
    return files.length === 1 ? decodeURIComponent((files[0] ?? '').replace(/\.json$/, '')) : '';
  } catch {
    return '';
  }
}

function readSettings() {
  try {
    /** @type {{ GATEWAY?: string, KEY?: string, since?: number }} */
    const settings = JSON.parse(fs.readFileSync(SETTINGS, 'utf8'));
    return settings;
  } catch {
    return {};
  }
}

/** @param {string} text */
export const say = (text) => void process.stderr.write(`record: ${text}\n`);
// Whoever reads standard error may go away; the agent goes on.
process.stderr.on('error', () => undefined);

/** @param {unknown} error */
export const textOf = (error) => (error instanceof Error ? error.message : String(error));

export const NOT_SET = 'the variables GATEWAY and KEY must be set';
export const SIGN_IN = 'instead of a key, you can sign in with: node record.mjs login https://gateway.example';

/** A mistake in the arguments. */
export class UsageError extends Error {}

/**
 * The table of members, as it is sent, and its format.
 * @param {{ format?: string | undefined, map?: string[] | undefined }} options @returns {{ format?: string | undefined, map?: string | undefined }}
 */
export function withMap({ format, map }) {
  if (format !== undefined && !FORMATS.includes(format))
    throw new UsageError(`--format: must be one of ${FORMATS.join(', ')}`);
  if (map === undefined) return { format };
  if (format !== undefined && format !== 'jsonl') throw new UsageError('--map: is only for --format jsonl');
  const entries = map.flatMap((each) => each.split(','));
  for (const entry of entries)
    if (!ROLES.includes(/^[^=:]+(?::[^=]+)?=([^=]+)$/.exec(entry)?.[1]?.trim() ?? ''))
      throw new UsageError(
        `--map: must be MEMBER=ROLE or MEMBER:VALUE=ROLE, where ROLE is one of ${ROLES.join(', ')}; not ${entry}`,
      );
  return { format: 'jsonl', map: entries.join(',').replaceAll(/[^ !#-:<-[\]-~]+/g, encodeURIComponent) };
}

/** What is wrong with the variables; undefined if nothing is. */
export function settingsProblem() {
  if (GATEWAY === '') return NOT_SET;
  if (!/^https?:\/\/./.test(GATEWAY) || !URL.canParse(GATEWAY))
    return 'the gateway cannot be reached: the variable GATEWAY must be an address such as https://gateway.example';
  if (KEY === '') return fs.existsSync(loginFile(GATEWAY)) ? undefined : NOT_SET;
  return /^[\x21-\x7e]+$/.test(KEY) ? undefined : 'the variable KEY must be an API key, without spaces and line breaks';
}

/** @param {string} question @param {string} otherwise what to do where nobody can be asked */
export async function isAgreed(question, otherwise) {
  if (!process.stdin.isTTY) throw new UsageError(otherwise);
  const asked = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await asked.question(`${question} [y/N] `);
  asked.close();
  return /^y(?:es)?$/i.test(answer.trim());
}
