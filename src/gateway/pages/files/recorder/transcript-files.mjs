/** Where agents keep the files of their sessions. */

import * as fs from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { firstLines, headOf, isAssembled, membersOf, nameIn } from './transcript-lines.mjs';

/** A file, or for OpenCode the file of a session, whose messages are in others. @typedef {{ agent: string, format: string, path: string, size: number, mtimeMs: number }} Found */
/** `subagent` is the id of the subagent whose file it is, where the lines do not say so. @typedef {Found & { sourceId: string, isOfSubagent: boolean, subagent?: string | undefined }} Transcript */

/** @param {string} name @param {string} other */
const folderIn = (name, other) => process.env[name] || join(homedir(), other);

/** @type {readonly { agent: string, format: string, folders: () => string[], file: RegExp }[]} */
const KINDS = [
  {
    agent: 'claude',
    format: 'claude-transcript',
    folders: () =>
      [...new Set([folderIn('CLAUDE_CONFIG_DIR', '.claude'), join(homedir(), '.config', 'claude')])].map((folder) =>
        join(folder, 'projects'),
      ),
    file: /\.jsonl$/,
  },
  {
    agent: 'codex',
    format: 'codex-rollout',
    folders: () => ['sessions', 'archived_sessions'].map((name) => join(folderIn('CODEX_HOME', '.codex'), name)),
    file: /[/\\]rollout-[^/\\]*\.jsonl$/,
  },
  {
    agent: 'gemini',
    format: 'gemini-chat',
    folders: () => [join(homedir(), '.gemini', 'tmp')],
    file: /[/\\]chats[/\\][^/\\]*\.jsonl?$/,
  },
  {
    agent: 'opencode',
    format: 'opencode-storage',
    folders: () => [join(folderIn('XDG_DATA_HOME', '.local/share'), 'opencode', 'storage', 'session')],
    file: /[/\\]ses_[^/\\]*\.json$/,
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
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) yield* filesIn(path);
    else if (entry.isFile()) yield path;
  }
}

/** @param {string} path @param {string} agent @param {string} format @returns {Found | undefined} */
function foundAt(path, agent, format) {
  try {
    const { size, mtimeMs } = fs.statSync(path);
    const latest = format === 'opencode-storage' ? Math.max(mtimeMs, latestIn(path)) : mtimeMs;
    return { agent, format, path, size, mtimeMs: latest };
  } catch {
    return undefined;
  }
}

/** When the last message of a session of OpenCode was written; those before it do not change. @param {string} path */
function latestIn(path) {
  const messages = join(dirname(path), '..', '..', 'message', basename(path, '.json'));
  let latest = 0;
  for (const name of namesIn(messages).slice(-2)) {
    const parts = join(messages, '..', '..', 'part', basename(name, '.json'));
    const files = [join(messages, name), ...namesIn(parts).map((part) => join(parts, part))];
    for (const file of files) latest = Math.max(latest, fs.statSync(file).mtimeMs);
  }
  return latest;
}

/** The names in a folder, in their order; of one that is not there, none. @param {string} folder */
export function namesIn(folder) {
  try {
    return fs.readdirSync(folder).toSorted();
  } catch {
    return [];
  }
}

/**
 * The files of an agent, or of all, or a given one.
 * @param {string | undefined} agent @param {string | undefined} file @param {string | undefined} format of the file @returns {Found[]}
 */
export function findFiles(agent, file, format) {
  const kinds = KINDS.filter((kind) => agent === undefined || kind.agent === agent);
  const found =
    file === undefined
      ? kinds.flatMap((kind) =>
          kind.folders().flatMap((folder) => {
            const paths = [...filesIn(folder)].filter((path) => kind.file.test(path));
            return paths.map((path) => foundAt(path, kind.agent, kind.format));
          }),
        )
      : [givenFile(resolve(file), agent, format)];
  return found.filter((each) => each !== undefined);
}

/** @param {string} path @param {string | undefined} agent @param {string | undefined} given */
function givenFile(path, agent, given) {
  const ofFormat = KINDS.find((kind) => kind.format === given)?.agent;
  const [name, format] = given === undefined ? kindOf(path, agent) : [agent ?? ofFormat ?? 'agent', given];
  return foundAt(path, name, format);
}

/** The agent of a file: the given one, or that of its first lines. @param {string} path @param {string | undefined} agent @returns {[string, string]} */
function kindOf(path, agent) {
  const known = KINDS.find((kind) => kind.agent === agent || (kind.agent === 'opencode' && kind.file.test(path)));
  if (known) return [known.agent, known.format];
  const lines = firstLines(path);
  if (lines.some(({ type }) => type === 'session_meta' || type === 'response_item')) return ['codex', 'codex-rollout'];
  if (lines.some(({ type, projectHash }) => type === 'gemini' || projectHash !== undefined))
    return ['gemini', 'gemini-chat'];
  if (isAssembled({ format: 'gemini-chat', path }) && headOf({ format: 'gemini-chat', path }).length > 1)
    return ['gemini', 'gemini-chat'];
  if (lines.some((line) => 'parentUuid' in line || 'leafUuid' in line)) return ['claude', 'claude-transcript'];
  return [agent ?? 'agent', 'auto'];
}

const UUID = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;
const nameOf = (/** @type {string} */ path) => basename(path).replace(/\.\w+$/, '');

/** Says to which sessions files belong; those of subagents are after the others. @param {readonly Found[]} due @param {readonly Found[]} all @returns {Transcript[]} */
export function identify(due, all) {
  /** @type {Map<string, Found> | undefined} */
  let byId;
  const fileOf = (/** @type {string} */ id) => {
    byId ??= new Map(all.map((each) => [UUID.exec(nameOf(each.path))?.[0] ?? nameOf(each.path), each]));
    return byId.get(id);
  };
  return due
    .map((found) => {
      const { id, parent, isOfSubagent = parent !== undefined } = placeOf(found);
      let root = parent;
      for (let depth = 0; root !== undefined && depth < 20; depth += 1) {
        const file = fileOf(root);
        const next = file && parentOf(file);
        if (next === undefined) break;
        root = next;
      }
      const sourceId = (root ?? id).slice(0, 255);
      return { ...found, sourceId, isOfSubagent, subagent: parent === undefined ? undefined : id.slice(0, 200) };
    })
    .toSorted((one, other) => Number(one.isOfSubagent) - Number(other.isOfSubagent));
}

/** @param {Found} found */
function parentOf(found) {
  try {
    return placeOf(found).parent;
  } catch {
    return undefined;
  }
}

/** The id of a file, and of the session that has started it. @param {Found} found @returns {{ id: string, parent?: string | undefined, isOfSubagent?: boolean }} */
function placeOf({ agent, format, path }) {
  const name = nameOf(path);
  if (agent === 'codex') {
    const payload = membersOf(firstLines(path, 1)[0]?.['payload']);
    const spawned = membersOf(membersOf(membersOf(payload['source'])['subagent'])['thread_spawn']);
    const parent = nameIn(payload['parent_thread_id']) ?? nameIn(spawned['parent_thread_id']);
    return { id: UUID.exec(name)?.[0] ?? name, parent };
  }
  if (agent === 'opencode' && isAssembled({ format, path }))
    return { id: name, parent: nameIn(headOf({ format, path })[0]?.['parentID']) };
  if (agent === 'claude' && !basename(path).startsWith('agent-')) return { id: name };
  const isOfSubagent = agent === 'claude';
  if (basename(dirname(path)) === 'subagents') return { id: basename(dirname(dirname(path))), isOfSubagent };
  const lines = headOf({ format, path });
  return { id: nameIn(lines.find((line) => nameIn(line['sessionId']))?.['sessionId']) ?? name, isOfSubagent };
}
