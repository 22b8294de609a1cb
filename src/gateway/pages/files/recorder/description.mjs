/** What the lines of a session say about it: its title, folder and time. */

import * as fs from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { headOf, headText, jsonLinesIn, membersOf, nameIn, tailOf } from './transcript-lines.mjs';
/** @import { Line } from './transcript-lines.mjs' */
/** @import { Found } from './transcript-files.mjs' */

/** The first text that is found in lines. @param {readonly Line[]} lines @param {(line: Line) => unknown} find */
function firstIn(lines, find) {
  for (const line of lines) {
    const text = nameIn(find(line));
    if (text !== undefined) return text;
  }
  return undefined;
}

const MAX_TITLE = 200;
const MAX_TITLE_LINE = 16 * 1024;

/** What a new session is created with, and the folder of the work. @param {Found} found */
export function describe(found) {
  const lines = headOf(found);
  const newest = [...lines, ...tailOf(found)].toReversed();
  const titles = ['customTitle', 'aiTitle', 'summary'].map((name) => firstIn(newest, (line) => line[name]));
  const given = [...titles, titleOfSession(lines)].find((text) => text !== undefined);
  const title = given ?? firstIn(lines, wordsOf);
  const cwd =
    folderOfProject(found) ??
    firstIn(lines, (line) => line['cwd'] ?? membersOf(line['payload'])['cwd'] ?? line['directory']) ??
    folderInText(found);
  const gitOf = (/** @type {Line} */ line) => membersOf(membersOf(line['payload'])['git']);
  const branch = firstIn(lines, (line) => line['gitBranch'] ?? gitOf(line)['branch']);
  const startedAt = lines.map(momentOf).find((time) => time >= Date.UTC(2000));
  const remote = firstIn(lines, (line) => gitOf(line)['repository_url']);
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

/** The title that the agent or a person gives in lines; that of a person counts. @param {readonly Buffer[]} lines */
export function titleIn(lines) {
  const named = lines.filter(
    (line) => line.length < MAX_TITLE_LINE && /(?:Title|"projectID")":/.test(line.toString('latin1')),
  );
  const newest = named.flatMap((line) => jsonLinesIn(line.toString())).toReversed();
  const custom = firstIn(newest, (line) => line['customTitle']);
  const title = custom ?? firstIn(newest, (line) => line['aiTitle'] ?? titleOfSession([line]));
  return title === undefined ? undefined : { title: nameFrom(title, MAX_TITLE), isCustom: custom !== undefined };
}

/** OpenCode begins with a title that says nothing. @param {readonly Line[]} lines */
function titleOfSession([session]) {
  const title = session?.['directory'] === undefined ? undefined : nameIn(session['title']);
  return title === undefined || /^(?:New|Child) session - /.test(title) ? undefined : title;
}

/** Gemini CLI names the folder in a file beside the chats. @param {Found} found */
function folderOfProject({ agent, path }) {
  if (agent !== 'gemini') return undefined;
  try {
    return nameIn(fs.readFileSync(join(dirname(path), '..', '.project_root'), 'utf8').trim());
  } catch {
    return undefined;
  }
}

/** The folder in a line that is too long to be read. @param {Found} found @returns {string | undefined} */
function folderInText({ path }) {
  const found = /"cwd":\s*("(?:[^"\\]|\\.){1,4096}")/.exec(headText(path))?.[1];
  return found === undefined ? undefined : nameIn(JSON.parse(found));
}

/** @param {Line} line @returns {number} */
const momentOf = ({ timestamp, startTime, time }) => {
  const { created } = membersOf(time);
  return typeof created === 'number' ? created : Date.parse(String(timestamp ?? startTime));
};

/** The first line of a text, without the path of the home folder, and with characters that every name can have. @param {string} text @param {number} length */
function nameFrom(text, length) {
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

/** @param {string} path */
function realPath(path) {
  try {
    return fs.realpathSync(path);
  } catch {
    return path;
  }
}

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
  const url = remote ?? (cwd === undefined ? undefined : remoteOf(cwd)) ?? '';
  // Before the path there can be credentials, and after it too.
  const path = url.replace(/[?#].*$/, '').replace(/^\w[\w+.-]*:\/\/[^/]*|^[^/]*@[^/:]*:?/, '');
  const name = nameFrom(basename(path.replace(/(?:\.git)?\/*$/, '').replaceAll(':', '/')), 500);
  if (name !== undefined) return name;
  if (cwd === undefined || [homedir(), realPath(homedir())].includes(resolve(cwd))) return undefined;
  return nameFrom(basename(cwd), 500);
}

/** A folder and those above it. @param {string} folder */
function above(folder) {
  const parts = resolve(folder).split(sep);
  return parts.map((_, index) => parts.slice(0, parts.length - index).join(sep) || sep);
}

/** @param {string} cwd */
function remoteOf(cwd) {
  for (const folder of above(cwd)) {
    const config = gitConfig(join(folder, '.git'));
    if (config !== undefined) return /\[remote "origin"\][^[]*?url\s*=\s*(\S+)/.exec(config)?.[1];
  }
  return undefined;
}

/** The configuration of a repository; a worktree names its folder in a file. @param {string} path @returns {string | undefined} */
function gitConfig(path) {
  try {
    const folder = fs.statSync(path).isDirectory()
      ? path
      : join(
          resolve(
            dirname(path),
            fs
              .readFileSync(path, 'utf8')
              .replace(/^gitdir:/, '')
              .trim(),
          ),
          '..',
          '..',
        );
    return fs.readFileSync(join(folder, 'config'), 'utf8');
  } catch {
    return undefined;
  }
}

/** Whether the work in a folder is left out. @param {string} folder @param {readonly string[]} excluded */
export function isLeftOut(folder, excluded) {
  const names = [...above(folder), ...above(realPath(folder))];
  const left = excluded.map((each) => resolve(each.replace(/^~(?=\/|$)/, homedir())));
  return (
    left.some((each) => names.includes(each) || names.includes(realPath(each))) ||
    names.some((name) => fs.existsSync(join(name, '.workspace-ignore')))
  );
}
