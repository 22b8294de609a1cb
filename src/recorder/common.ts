/** What the parts of the recorder have in common. */

import * as fs from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { FORMAT_NAMES, TABLE_ROLES } from '../domains/session-events/formats/names.ts';

/** Formats that say nothing about the agent. */
export const OF_ANY_AGENT = new Set<string>(['text', 'jsonl', 'auto']);
/** Programs whose prompt is known. */
export const AGENTS = new Set<string>([...FORMAT_NAMES.filter((format) => !OF_ANY_AGENT.has(format)), 'qwen']);
/** Names of any kind, to be looked for. */
const FORMATS: ReadonlySet<string> = new Set(FORMAT_NAMES);
const ROLES: ReadonlySet<string> = new Set(TABLE_ROLES);

interface Settings {
  GATEWAY?: string;
  KEY?: string;
  since?: number;
}

/** The format and the table of members, as they are given and as they are sent. */
interface Reading<Map = string> {
  format?: string | undefined;
  map?: Map | undefined;
}

export const BASE = join(homedir(), '.workspace-recorder');
export const SETTINGS = join(BASE, 'settings.json');
/** What `install` has saved for the hooks. */
export const SAVED: Settings = ['sync', 'import', 'status', 'pull'].includes(process.argv[2] ?? '')
  ? readSettings()
  : {};
export const KEY = process.env['KEY'] ?? SAVED.KEY ?? '';
/** What `login` has stored: a file for each gateway. */
export const LOGINS = join(configurationFolder(), 'workspace-gateway');
export const GATEWAY = baseOf(process.env['GATEWAY'] ?? SAVED.GATEWAY ?? (KEY === '' ? onlyLogin() : ''));

export function baseOf(address: string) {
  return address.replace(/\/+$/, '');
}

export function loginFile(gateway: string) {
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

function readSettings(): Settings {
  try {
    return JSON.parse(fs.readFileSync(SETTINGS, 'utf8')) as Settings;
  } catch {
    return {};
  }
}

export const say = (text: string) => void process.stderr.write(`record: ${text}\n`);
// Whoever reads standard error may go away; the agent goes on.
process.stderr.on('error', () => undefined);

export const textOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

export const NOT_SET = 'the variables GATEWAY and KEY must be set';
export const SIGN_IN = 'instead of a key, you can sign in with: node record.mjs login https://gateway.example';

/** A mistake in the arguments. */
export class UsageError extends Error {}

/** The table of members, as it is sent, and its format. */
export function withMap({ format, map }: Reading<string[]>): Reading {
  if (format !== undefined && !FORMATS.has(format))
    throw new UsageError(`--format: must be one of ${FORMAT_NAMES.join(', ')}`);
  if (map === undefined) return { format };
  if (format !== undefined && format !== 'jsonl') throw new UsageError('--map: is only for --format jsonl');
  const entries = map.flatMap((each) => each.split(','));
  for (const entry of entries)
    if (!ROLES.has(/^[^=:]+(?::[^=]+)?=([^=]+)$/.exec(entry)?.[1]?.trim() ?? ''))
      throw new UsageError(
        `--map: must be MEMBER=ROLE or MEMBER:VALUE=ROLE, where ROLE is one of ${TABLE_ROLES.join(', ')}; not ${entry}`,
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

/** @param otherwise what to do where nobody can be asked */
export async function isAgreed(question: string, otherwise: string) {
  if (!process.stdin.isTTY) throw new UsageError(otherwise);
  const asked = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await asked.question(`${question} [y/N] `);
  asked.close();
  return /^y(?:es)?$/i.test(answer.trim());
}
