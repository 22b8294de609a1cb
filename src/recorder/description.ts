/** What the lines of a session say about it: its title, folder and time. */

import * as fs from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { headOf, headText, jsonLinesIn, type Line, membersOf, nameIn, tailOf } from './transcript-lines.ts';
import type { Found } from './transcript-files.ts';

/** The first text that is found in lines. */
function firstIn(lines: readonly Line[], find: (line: Line) => unknown) {
  for (const line of lines) {
    const text = nameIn(find(line));
    if (text !== undefined) return text;
  }
  return undefined;
}

const MAX_TITLE = 200;
/** Older versions of Claude Code sum up a conversation that failed by its error. */
const OF_ERROR = /^(?:API Error|Invalid API key|Credit balance is too low|OAuth token )|Please run \/login/;
const MAX_TITLE_LINE = 16 * 1024;

/** What a new session is created with, and the folder of the work. */
export function describe(found: Found) {
  const lines = headOf(found);
  const newest = [...lines, ...tailOf(found)].toReversed();
  const titles = ['customTitle', 'aiTitle'].map((name) => firstIn(newest, (line) => line[name]));
  titles.push(firstIn(newest, ({ summary }) => (OF_ERROR.test(String(summary)) ? undefined : summary)));
  const given = [...titles, titleOfSession(lines)].find((text) => text !== undefined);
  const title = given ?? firstIn(lines, wordsOf);
  const cwd =
    folderOfProject(found) ??
    firstIn(lines, (line) => line['cwd'] ?? membersOf(line['payload'])['cwd'] ?? line['directory']) ??
    folderInText(found);
  const gitOf = (line: Line) => membersOf(line['git'] ?? membersOf(line['payload'])['git']);
  const contextOf = (line: Line) => membersOf(membersOf(line['data'])['context']);
  const branch = firstIn(lines, (line) => line['gitBranch'] ?? gitOf(line)['branch'] ?? contextOf(line)['branch']);
  const startedAt = lines.map(momentOf).find((time) => time >= Date.UTC(2000));
  const remote = firstIn(lines, (line) => gitOf(line)['repository_url'] ?? gitOf(line)['url']);
  return {
    cwd,
    isCustom: titles[0] !== undefined,
    body: {
      title: title && nameFrom(title, MAX_TITLE),
      startedAt: startedAt && new Date(startedAt).toISOString(),
      branchName: branch && nameFrom(branch, 500),
      project: projectOf(cwd, remote),
    },
  };
}

/** The title that the agent or a person gives in lines; that of a person counts. */
export function titleIn(lines: Buffer) {
  const named = lines
    .toString()
    .split('\n')
    .filter((line) => line.length < MAX_TITLE_LINE && /(?:Title|"projectID"|"started_at")":/.test(line));
  const newest = named.flatMap(jsonLinesIn).toReversed();
  const custom = firstIn(newest, (line) => line['customTitle']);
  const title = custom ?? firstIn(newest, (line) => line['aiTitle'] ?? titleOfSession([line]));
  return title === undefined ? undefined : { title: nameFrom(title, MAX_TITLE), isCustom: custom !== undefined };
}

/** OpenCode begins with a title that says nothing. */
function titleOfSession([session]: readonly Line[]) {
  const isSession = session?.['directory'] !== undefined || session?.['session_id'] !== undefined;
  const title = isSession ? nameIn(session['title']) : undefined;
  return title === undefined || /^(?:New|Child) session - /.test(title) ? undefined : title;
}

/** Gemini CLI names the folder in a file beside the chats. */
function folderOfProject({ agent, path }: Found) {
  if (agent !== 'gemini') return undefined;
  try {
    return nameIn(fs.readFileSync(join(dirname(path), '..', '.project_root'), 'utf8').trim());
  } catch {
    return undefined;
  }
}

/** The folder in a line that is too long to be read. */
function folderInText({ path }: Found): string | undefined {
  const found = /"cwd":\s*("(?:[^"\\]|\\.){1,4096}")/.exec(headText(path))?.[1];
  return found === undefined ? undefined : nameIn(JSON.parse(found));
}

const momentOf = ({ timestamp, startTime, started_at: startedAt, time }: Line): number => {
  const { created } = membersOf(time);
  return typeof created === 'number' ? created : Date.parse(String(timestamp ?? startTime ?? startedAt));
};

/** The first line of a text, without the path of the home folder, and with characters that every name can have. */
function nameFrom(text: string, length: number) {
  let name = text.trim().split('\n', 1)[0] ?? '';
  for (const home of new Set([homedir(), realPath(homedir())].filter((path) => path.length > 1)))
    name = name.split(home).reduce((before, after) => `${before}${/^[\w-]/.test(after) ? home : '~'}${after}`);
  return (
    name
      .replaceAll(/\p{Cc}+/gu, ' ')
      .slice(0, length)
      .toWellFormed()
      .trim() || undefined
  );
}

export function realPath(path: string) {
  try {
    return fs.realpathSync(path);
  } catch {
    return path;
  }
}

/** Texts of the program in the place of the person. */
const OF_PROGRAM = /^\s*(?:<[a-z]+[_-][a-z_-]*>|<permissions |<INSTRUCTIONS>|# AGENTS\.md|Caveat:)/i;

/** What a person says in a line; undefined for texts of the program. */
function wordsOf(given: Line) {
  // Copilot has them in `data`.
  const line = given['type'] === 'user.message' ? { type: 'user', ...membersOf(given['data']) } : given;
  const payload = membersOf(line['payload']);
  const message = payload['type'] === 'message' ? payload : membersOf(line['message'] ?? line);
  const isOfPerson = message['role'] === 'user' || (line['type'] === 'user' && message === line);
  if (!isOfPerson || line['isMeta'] || line['isSidechain'] || line['isCompactSummary']) return undefined;
  const { content, internal_chat_message_metadata_passthrough: metadata } = message;
  const kind = nameIn(Object.values(membersOf(membersOf(metadata)['content_item_kinds']))[0]);
  if (kind !== undefined && !kind.startsWith('user.')) return undefined;
  const said = content ?? message['parts'];
  const parts = Array.isArray(said) ? said : [said];
  for (const part of parts) {
    const text = nameIn(part) ?? nameIn(membersOf(part)['text']);
    if (text !== undefined && !OF_PROGRAM.test(text)) return text;
  }
  return undefined;
}

/** The name of the git remote, or of the folder. */
export function projectOf(cwd: string | undefined, remote?: string) {
  const url = remote ?? (cwd === undefined ? undefined : remoteOf(cwd)) ?? '';
  // Before the path there can be credentials, and after it too.
  const path = url.replace(/[?#].*$/, '').replace(/^\w[\w+.-]*:\/\/[^/]*|^[^/]*@[^/:]*:?/, '');
  const name = nameFrom(basename(path.replace(/(?:\.git)?\/*$/, '').replaceAll(':', '/')), 500);
  if (name !== undefined) return name;
  if (cwd === undefined || [homedir(), realPath(homedir())].includes(resolve(cwd))) return undefined;
  return nameFrom(basename(cwd), 500);
}

/** A folder and those above it. */
function foldersAbove(folder: string) {
  const parts = resolve(folder).split(sep);
  return parts.map((_, index) => parts.slice(0, parts.length - index).join(sep) || sep);
}

const remoteOf = (cwd: string) =>
  /\[remote "origin"\][^[]*?url\s*=\s*(\S+)/.exec(inRepository(cwd, 'config') ?? '')?.[1];

/** The branch that is checked out. */
export function branchOf(cwd: string) {
  const branch = /^ref: refs\/heads\/(.+)/.exec(inRepository(cwd, 'HEAD') ?? '')?.[1];
  return branch && nameFrom(branch, 500);
}

/** A file of the repository of a folder; a worktree names its own folder in a file. */
function inRepository(cwd: string, file: 'config' | 'HEAD'): string | undefined {
  for (const above of foldersAbove(cwd))
    try {
      const path = join(above, '.git');
      if (fs.statSync(path).isDirectory()) return fs.readFileSync(join(path, file), 'utf8');
      const folder = fs
        .readFileSync(path, 'utf8')
        .replace(/^gitdir:/, '')
        .trim();
      return fs.readFileSync(join(resolve(above, folder), file === 'config' ? '../..' : '', file), 'utf8');
    } catch {
      // It is in a folder above, or nowhere.
    }
  return undefined;
}

/** Whether the work in a folder is left out. */
export function isLeftOut(folder: string, excluded: readonly string[]) {
  const names = [...foldersAbove(folder), ...foldersAbove(realPath(folder))];
  const left = excluded.map((each) => resolve(each.replace(/^~(?=\/|$)/, homedir())));
  return (
    left.some((each) => names.includes(each) || names.includes(realPath(each))) ||
    names.some((name) => fs.existsSync(join(name, '.workspace-ignore')))
  );
}
