/** The files that agents keep of their sessions. */

import * as fs from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve, sep } from 'node:path';

/** @typedef {{ agent: string, format: string, path: string, sourceId: string, isOfSubagent: boolean, size: number, mtimeMs: number }} Transcript */

const HEAD_BYTES = 128 * 1024;
const TAIL_BYTES = 64 * 1024;

/** @param {string} name @param {string} other */
const folderOf = (name, other) => process.env[name] || join(homedir(), other);

/** @type {readonly { agent: string, format: string, folders: () => string[], file: RegExp }[]} */
const KINDS = [
  {
    agent: 'claude',
    format: 'claude-transcript',
    folders: () =>
      [...new Set([folderOf('CLAUDE_CONFIG_DIR', '.claude'), join(homedir(), '.config', 'claude')])].map((folder) =>
        join(folder, 'projects'),
      ),
    file: /\.jsonl$/,
  },
  {
    agent: 'codex',
    format: 'codex-rollout',
    folders: () => ['sessions', 'archived_sessions'].map((name) => join(folderOf('CODEX_HOME', '.codex'), name)),
    file: /[/\\]rollout-[^/\\]*\.jsonl$/,
  },
  {
    agent: 'gemini',
    format: 'gemini-chat',
    folders: () => [join(homedir(), '.gemini', 'tmp')],
    file: /[/\\]chats[/\\][^/\\]*\.jsonl$/,
  },
];
export const TRANSCRIPT_AGENTS = KINDS.map(({ agent }) => agent);

/** All files below a folder. @param {string} folder @returns {Generator<string>} */
function* filesIn(folder) {
  /** @type {fs.Dirent[]} */
  let entries = [];
  try {
    entries = fs.readdirSync(folder, { withFileTypes: true });
  } catch {
    return;
  }
  for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesIn(path);
    else if (entry.isFile()) yield path;
  }
}

/** @param {string} path @param {string} agent @param {string} format @returns {Transcript | undefined} */
function transcriptOf(path, agent, format) {
  try {
    const { size, mtimeMs } = fs.statSync(path);
    const isOfSubagent = agent === 'claude' && basename(path).startsWith('agent-');
    return { agent, format, path, sourceId: sourceOf(path, agent, isOfSubagent), isOfSubagent, size, mtimeMs };
  } catch {
    return undefined;
  }
}

/** The id of the session. @param {string} path @param {string} agent @param {boolean} isOfSubagent */
function sourceOf(path, agent, isOfSubagent) {
  const name = basename(path).replace(/\.\w+$/, '');
  const id = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i.exec(name)?.[0];
  if (agent === 'codex') return (id ?? name).slice(0, 255);
  if (agent === 'claude' && !isOfSubagent) return name.slice(0, 255);
  if (basename(dirname(path)) === 'subagents') return basename(dirname(dirname(path))).slice(0, 255);
  const { sessionId } = firstLines(path).find((line) => typeof line['sessionId'] === 'string') ?? {};
  return (nameIn(sessionId) ?? name).slice(0, 255);
}

/**
 * The transcripts of an agent, or of all; those of subagents after their sessions.
 * @param {string | undefined} agent @param {string | undefined} file @param {string | undefined} format of the file
 */
export function findTranscripts(agent, file, format) {
  const kinds = KINDS.filter((kind) => agent === undefined || kind.agent === agent);
  const found =
    file === undefined
      ? kinds.flatMap((kind) =>
          kind
            .folders()
            .flatMap((folder) =>
              [...filesIn(folder)]
                .filter((path) => kind.file.test(path))
                .map((path) => transcriptOf(path, kind.agent, kind.format)),
            ),
        )
      : [givenTranscript(resolve(file), agent, format)];
  return found
    .filter((each) => each !== undefined)
    .toSorted((one, other) => Number(one.isOfSubagent) - Number(other.isOfSubagent));
}

/** @param {string} path @param {string | undefined} agent @param {string | undefined} given */
function givenTranscript(path, agent, given) {
  const ofFormat = KINDS.find((kind) => kind.format === given)?.agent;
  const [name, format] = given === undefined ? kindOf(path, agent) : [agent ?? ofFormat ?? 'agent', given];
  return transcriptOf(path, name, format);
}

/** The agent of a file: the given one, or that of its first lines. @param {string} file @param {string | undefined} agent @returns {[string, string]} */
function kindOf(file, agent) {
  const lines = firstLines(resolve(file));
  const known = KINDS.find((kind) => kind.agent === agent);
  if (known) return [known.agent, known.format];
  if (lines.some(({ type }) => type === 'session_meta' || type === 'response_item')) return ['codex', 'codex-rollout'];
  if (lines.some(({ type, projectHash }) => type === 'gemini' || projectHash !== undefined))
    return ['gemini', 'gemini-chat'];
  if (lines.some((line) => 'parentUuid' in line || 'leafUuid' in line)) return ['claude', 'claude-transcript'];
  return [agent ?? 'agent', 'auto'];
}

/** @param {string} path @param {number} position @param {number} length */
function textAt(path, position, length) {
  const file = fs.openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(length);
    return buffer.toString('utf8', 0, fs.readSync(file, buffer, 0, length, position));
  } finally {
    fs.closeSync(file);
  }
}

/** @typedef {Readonly<Record<string, unknown>>} Line */

/** @param {unknown} value @returns {Line} */
const membersOf = (value) => (value !== null && typeof value === 'object' ? /** @type {Line} */ (value) : {});

/** @param {unknown} value */
const nameIn = (value) => (typeof value === 'string' && value.trim() !== '' ? value : undefined);

/** @param {string} text @returns {Line[]} its JSON lines */
function jsonLinesIn(text) {
  return text.split('\n').flatMap((line) => {
    try {
      return [membersOf(JSON.parse(line))];
    } catch {
      return [];
    }
  });
}

/** @param {string} path */
const firstLines = (path) => jsonLinesIn(textAt(path, 0, HEAD_BYTES));

/** The first text that is found in lines. @param {readonly Line[]} lines @param {(line: Line) => unknown} find */
function firstIn(lines, find) {
  for (const line of lines) {
    const text = nameIn(find(line));
    if (text !== undefined) return text;
  }
  return undefined;
}

/** What a new session is created with, and the folder of the work. @param {Transcript} transcript */
export function describeTranscript({ path, size }) {
  const lines = firstLines(path);
  const last = size > HEAD_BYTES ? jsonLinesIn(textAt(path, Math.max(0, size - TAIL_BYTES), TAIL_BYTES)) : [];
  const newest = [...lines, ...last].toReversed();
  const titles = ['customTitle', 'aiTitle', 'summary'].map((name) => firstIn(newest, (line) => line[name]));
  const title = titles.find((text) => text !== undefined) ?? firstIn(lines, wordsOf);
  const cwd = firstIn(lines, (line) => line['cwd'] ?? membersOf(line['payload'])['cwd']);
  const gitOf = (/** @type {Line} */ line) => membersOf(membersOf(line['payload'])['git']);
  const branch = firstIn(lines, (line) => line['gitBranch'] ?? gitOf(line)['branch']);
  const startedAt = firstIn(lines, (line) => line['timestamp'] ?? line['startTime']);
  const isTime = startedAt !== undefined && Date.parse(startedAt) >= Date.UTC(2000);
  return {
    cwd,
    body: {
      title: title && withoutHome(title.trim().split('\n', 1)[0] ?? '').slice(0, 200),
      startedAt: isTime ? new Date(startedAt).toISOString() : undefined,
      branchName: branch && withoutHome(branch).slice(0, 500),
      project: projectOf(
        cwd,
        firstIn(lines, (line) => gitOf(line)['repository_url']),
      ),
    },
  };
}

/** @param {string} text */
const withoutHome = (text) => (homedir().length > 1 ? text.replaceAll(homedir(), '~') : text);

/** Texts of the program in the place of the person. */
const OF_PROGRAM = /^\s*(?:<[a-z]+[_-][a-z_-]*>|<permissions |<INSTRUCTIONS>|# AGENTS\.md|Caveat:)/i;

/** What a person says in a line; undefined for texts of the program. @param {Line} line */
function wordsOf(line) {
  const payload = membersOf(line['payload']);
  const message = payload['type'] === 'message' ? payload : membersOf(line['message'] ?? line);
  const isOfPerson = message['role'] === 'user' || (line['type'] === 'user' && message === line);
  if (!isOfPerson || line['isMeta'] || line['isSidechain'] || line['isCompactSummary']) return undefined;
  const { content, internal_chat_message_metadata_passthrough: metadata } = message;
  const kind = nameIn(Object.values(membersOf(membersOf(metadata)['content_item_kinds']))[0]);
  if (kind !== undefined && !kind.startsWith('user.')) return undefined;
  const parts = Array.isArray(content) ? content : [content];
  for (const part of parts) {
    const text = nameIn(part) ?? nameIn(membersOf(part)['text']);
    if (text !== undefined && !OF_PROGRAM.test(text)) return text;
  }
  return undefined;
}

/** The name of the git remote, or of the folder. @param {string | undefined} cwd @param {string | undefined} remote */
function projectOf(cwd, remote) {
  const url = remote ?? (cwd === undefined ? undefined : remoteOf(cwd));
  const name = (url ?? '')
    .replace(/(?:\.git)?\/*$/, '')
    .split(/[/:]/)
    .at(-1);
  if (name) return name.slice(0, 500);
  if (cwd === undefined || resolve(cwd) === homedir()) return undefined;
  return basename(cwd).slice(0, 500) || undefined;
}

/** A folder and those above it. @param {string} folder */
function above(folder) {
  const parts = resolve(folder).split(sep);
  return parts.map((_, index) => parts.slice(0, parts.length - index).join(sep) || sep);
}

/** @param {string} cwd */
function remoteOf(cwd) {
  for (const folder of above(cwd))
    try {
      const config = fs.readFileSync(join(folder, '.git', 'config'), 'utf8');
      return /\[remote "origin"\][^[]*?url\s*=\s*(\S+)/.exec(config)?.[1];
    } catch {
      // There is no repository here.
    }
  return undefined;
}

/** Whether the work in a folder is left out. @param {string} folder @param {readonly string[]} excluded */
export function isLeftOut(folder, excluded) {
  const names = above(folder);
  return (
    excluded.some((each) => names.includes(resolve(each.replace(/^~(?=\/|$)/, homedir())))) ||
    names.some((name) => fs.existsSync(join(name, '.workspace-ignore')))
  );
}
