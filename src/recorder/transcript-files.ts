/** Where agents keep the files of their sessions. */

import * as fs from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { formatOfLine } from '../domains/session-events/formats/recognition.ts';
import { sessionsInDatabase } from './opencode-database.ts';
import { firstLines, headOf, isAssembled, membersOf, nameIn, OF_CLINE } from './transcript-lines.ts';

/** A file, or for OpenCode the file of a session, whose messages are in others. */
export interface Found {
  agent: string;
  format: string;
  path: string;
  size: number;
  mtimeMs: number;
}
/** `subagent` is the id of the subagent whose file it is, where the lines do not say so. */
export interface Transcript extends Found {
  /** What the gateway calls the file. */
  name: string;
  sourceId: string;
  isOfSubagent: boolean;
  subagent?: string | undefined;
}

export const folderIn = (name: string, other: string) => process.env[name] || join(homedir(), other);

const KINDS: readonly { agent: string; format: string; folders: () => string[]; file: RegExp }[] = [
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
  {
    agent: 'qwen',
    format: 'qwen-chat',
    folders: () => [join(homedir(), '.qwen', 'projects')],
    file: /[/\\]chats[/\\][^/\\]*\.jsonl$/,
  },
  {
    agent: 'copilot',
    format: 'copilot',
    folders: () => [join(folderIn('COPILOT_HOME', '.copilot'), 'session-state')],
    file: /[/\\]events\.jsonl$/,
  },
  {
    agent: 'pi',
    format: 'pi',
    folders: () => [join(homedir(), '.pi', 'agent', 'sessions')],
    file: /\.jsonl$/,
  },
  {
    agent: 'cline',
    format: 'cline',
    folders: () => [join(homedir(), '.cline', 'data', 'sessions')],
    file: OF_CLINE,
  },
];
export const TRANSCRIPT_AGENTS = KINDS.map(({ agent }) => agent);

/** All files below a folder. */
export function* filesIn(folder: string): Generator<string> {
  let entries: fs.Dirent[] = [];
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

function foundAt(path: string, agent: string, format: string): Found | undefined {
  try {
    const { size, mtimeMs } = fs.statSync(path);
    const latest = format === 'opencode-storage' ? Math.max(mtimeMs, latestIn(path)) : mtimeMs;
    return { agent, format, path, size, mtimeMs: latest };
  } catch {
    return undefined;
  }
}

/** When the last message of a session of OpenCode was written; those before it do not change. */
function latestIn(path: string) {
  const messages = join(dirname(path), '..', '..', 'message', basename(path, '.json'));
  let latest = 0;
  for (const name of namesIn(messages).slice(-2)) {
    const parts = join(messages, '..', '..', 'part', basename(name, '.json'));
    const files = [join(messages, name), ...namesIn(parts).map((part) => join(parts, part))];
    for (const file of files) latest = Math.max(latest, fs.statSync(file).mtimeMs);
  }
  return latest;
}

/** The names in a folder, in their order; of one that is not there, none. */
export function namesIn(folder: string) {
  try {
    return fs.readdirSync(folder).toSorted();
  } catch {
    return [];
  }
}

/** The files of an agent, or of all, or a given one. @param format of the file */
export function findFiles(agent: string | undefined, file: string | undefined, format: string | undefined): Found[] {
  const kinds = KINDS.filter((kind) => agent === undefined || kind.agent === agent);
  const found =
    file === undefined
      ? kinds.flatMap(({ agent: name, format: own, ...kind }) => [
          ...kind.folders().flatMap((folder) => {
            const paths = [...filesIn(folder)].filter((path) => kind.file.test(path));
            return paths.map((path) => foundAt(path, name, own));
          }),
          ...(name === 'opencode' ? sessionsInDatabase() : []).map((each) => ({ agent: name, format: own, ...each })),
        ])
      : [givenFile(resolve(file), agent, format)];
  return found.filter((each) => each !== undefined);
}

function givenFile(path: string, agent: string | undefined, given: string | undefined) {
  const ofFormat = KINDS.find((kind) => kind.format === given)?.agent;
  const [name, format] = given === undefined ? kindOf(path, agent) : [agent ?? ofFormat ?? 'agent', given];
  return foundAt(path, name, format);
}

const ONE_OF_JSON: ReadonlySet<string> = new Set(['opencode', 'cline']);

/** The agent of a file: the given one, or that of its first lines. */
function kindOf(path: string, agent: string | undefined): [string, string] {
  const known = KINDS.find((kind) => kind.agent === agent || (ONE_OF_JSON.has(kind.agent) && kind.file.test(path)));
  if (known) return [known.agent, known.format];
  const lines = firstLines(path);
  const found = lines.map(formatOfLine).find((format) => format !== undefined);
  const isOfGemini = isAssembled({ format: 'gemini-chat', path }) && headOf({ format: 'gemini-chat', path }).length > 1;
  const format =
    found ?? (isOfGemini ? 'gemini-chat' : lines.some((line) => 'parentUuid' in line) ? 'claude-transcript' : 'auto');
  const ofFormat = KINDS.find((kind) => kind.format === format)?.agent;
  return [agent ?? ofFormat ?? (format === 'auto' ? 'agent' : format), format];
}

export const UUID = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;
export const nameOf = (path: string) => basename(path).replace(/(?:\.messages)?\.\w+$/, '');

/** Says to which sessions files belong; those of subagents are after the others. */
export function identify(due: readonly Found[], all: readonly Found[]): Transcript[] {
  let byId: Map<string, Found> | undefined;
  const fileOf = (id: string) => {
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
      return {
        ...found,
        name: placeBelow(found.path),
        sourceId,
        isOfSubagent,
        subagent: parent === undefined ? undefined : id.slice(0, 200),
      };
    })
    .toSorted((one, other) => Number(one.isOfSubagent) - Number(other.isOfSubagent));
}

/** The place of a file below the folder that its agent has for the session, which is the same in every copy of the project and in an archive. */
function placeBelow(path: string) {
  const folder = dirname(path);
  return basename(folder) === 'subagents' ? `${basename(dirname(folder))}/subagents/${basename(path)}` : basename(path);
}

function parentOf(found: Found) {
  try {
    return placeOf(found).parent;
  } catch {
    return undefined;
  }
}

/** The id of a file, and of the session that has started it. */
function placeOf({ agent, format, path }: Found): { id: string; parent?: string | undefined; isOfSubagent?: boolean } {
  const name = nameOf(path);
  if (agent === 'codex') {
    const payload = membersOf(firstLines(path, 1)[0]?.['payload']);
    const spawned = membersOf(membersOf(membersOf(payload['source'])['subagent'])['thread_spawn']);
    const parent = nameIn(payload['parent_thread_id']) ?? nameIn(spawned['parent_thread_id']);
    return { id: UUID.exec(name)?.[0] ?? name, parent };
  }
  // All have the same name, in the folder of the session.
  if (agent === 'copilot' && name === 'events') return { id: basename(dirname(path)) };
  if (agent === 'cline' && isAssembled({ format, path })) {
    const session = basename(dirname(path));
    return { id: name, parent: name === session ? undefined : session };
  }
  if (agent === 'pi') return { id: nameIn(firstLines(path, 1)[0]?.['id']) ?? name };
  if (agent === 'opencode' && isAssembled({ format, path }))
    return { id: name, parent: nameIn(headOf({ format, path })[0]?.['parentID']) };
  if (agent === 'claude' && !basename(path).startsWith('agent-')) return { id: name };
  const isOfSubagent = agent === 'claude';
  if (basename(dirname(path)) === 'subagents') return { id: basename(dirname(dirname(path))), isOfSubagent };
  const lines = headOf({ format, path });
  return { id: nameIn(lines.find((line) => nameIn(line['sessionId']))?.['sessionId']) ?? name, isOfSubagent };
}
