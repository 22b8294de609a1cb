/** Writes the files of a session to this machine, where the agent goes on with it. */

import { randomUUID } from 'node:crypto';
import * as fs from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { BASE, say, settingsProblem, textOf, UsageError } from './common.ts';
import { type Cursor, Cursors } from './cursors.ts';
import { projectOf } from './description.ts';
import { Refusal } from './failures.ts';
import { download, getJson } from './gateway.ts';
import { locked } from './lock.ts';
import { filesIn, folderIn, nameOf, UUID } from './transcript-files.ts';
import { firstLines, jsonLinesIn, membersOf, nameIn } from './transcript-lines.ts';
import { tellForms } from './transcript-sender.ts';
import { linesIn, sourceOf } from './transcript-source.ts';

const WAIT_MS = 30_000;
const LISTED = 20;
const LISTED_PAGES = 10;

interface Session {
  readonly id: string;
  readonly title: string;
  readonly agent: string | null;
  readonly lastSeenAt: string;
  readonly project: { readonly name: string } | null;
}

/** A file that is written: first beside its place. */
interface Written {
  readonly name: string;
  readonly path: string;
  readonly temporary: string;
  isChanged: boolean;
  cursor: Cursor;
}

export async function runPull(args: string[]) {
  const options = {
    into: { type: 'string' },
    force: { type: 'boolean' },
    spool: { type: 'string', default: BASE },
  } as const;
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  const problem = settingsProblem();
  if (problem !== undefined) throw new UsageError(problem);
  const given = resolve(values.into ?? '.');
  if (positionals.length === 0) return listSessions(given);
  // Also the address of its page.
  const id = UUID.exec((positionals[0] ?? '').replace(/[/?#]+$/, ''))?.[0];
  if (id === undefined || positionals.length > 1) throw new UsageError('SESSION: must be the id of a session');
  fs.mkdirSync(given, { recursive: true });
  const folder = fs.realpathSync(given);
  const { title } = await getJson<Session>(`/v1/sessions/${id}`);
  await locked(
    values.spool,
    () => pull({ id, title, folder, base: values.spool, isForced: values.force === true }),
    true,
  );
}

async function listSessions(folder: string) {
  const name = projectOf(folder);
  const found: Session[] = [];
  for (
    let page = 0, cursor: string | null = '';
    page < LISTED_PAGES && cursor !== null && found.length < LISTED;
    page += 1
  ) {
    const path: string = `/v1/sessions?limit=100&orderBy=lastSeenAt${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`;
    const answer: { items: Session[]; nextCursor: string | null } = await getJson(path);
    for (const each of answer.items)
      if (/^(?:claude|codex)$/.test(each.agent ?? '') && each.project?.name === name) found.push(each);
    cursor = answer.nextCursor;
  }
  for (const { id, lastSeenAt, agent, title } of found.slice(0, LISTED))
    process.stdout.write(`${id}  ${lastSeenAt.slice(0, 16)}  ${agent}  ${title}\n`);
  say(
    found.length === 0
      ? `there is no session of the project ${name ?? '(none)'}`
      : 'pull one with: node record.mjs pull ID',
  );
}

interface Pulled {
  readonly id: string;
  readonly title: string;
  readonly folder: string;
  readonly base: string;
  readonly isForced: boolean;
}

async function pull({ id, title, folder, base, isForced }: Pulled) {
  const received = join(base, `pull-${randomUUID()}`);
  const written: Written[] = [];
  try {
    const file = fs.createWriteStream(received, { mode: 0o600 });
    for await (const chunk of await download(`/v1/sessions/${id}/export?format=transcript`))
      if (!file.write(chunk)) await new Promise<void>((resolved) => file.once('drain', () => resolved()));
    await new Promise<void>((resolved, rejected) => file.once('error', rejected).end(() => resolved()));
    const map = mapping(received, folder);
    writeFiles(received, { folder, map, written });
    for (const each of written) requireSame(each, isForced);
    for (const { path, temporary } of written) fs.renameSync(temporary, path);
  } finally {
    for (const { temporary } of written) fs.rmSync(temporary, { force: true });
    fs.rmSync(received, { force: true });
  }
  const cursors = new Cursors(base);
  for (const { name, path, isChanged, cursor } of written) {
    const { size, mtimeMs } = fs.statSync(path);
    cursors.set(path, { ...cursor, size, mtimeMs, title, continuedFrom: id });
    say(path);
    if (isChanged) await told(path, { session: id, name, until: cursor.end });
  }
  process.stdout.write(`cd ${quoted(folder)} && ${commandOf(written)}\n`);
}

/** Sessions of others are not changed: what is added goes to one of one's own. */
async function told(path: string, place: { session: string; name: string; until: number }) {
  const source = sourceOf({ format: '', path });
  try {
    await tellForms(source, place, { waitMs: WAIT_MS });
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 403)
      say(`the gateway does not know these lines yet: ${textOf(error)}`);
  } finally {
    source.close();
  }
}

/** Never over a file that differs. */
function requireSame({ path, temporary }: Written, isForced: boolean) {
  if (isForced || !fs.existsSync(path)) return;
  const isSame = fs.statSync(path).size === fs.statSync(temporary).size;
  if (!isSame || !fs.readFileSync(path).equals(fs.readFileSync(temporary)))
    throw new Error(`${path} exists and differs; nothing is written. Write over it with: --force`);
}

/** The lines of a file, which can be longer than memory. */
function* linesOf(path: string): Generator<string> {
  const file = fs.openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(1024 * 1024);
    let rest: Buffer[] = [];
    for (let count = 0; (count = fs.readSync(file, buffer)) > 0;) {
      let start = 0;
      for (let end = 0; (end = buffer.subarray(0, count).indexOf(10, start)) !== -1; start = end + 1) {
        yield Buffer.concat([...rest, buffer.subarray(start, end)]).toString();
        rest = [];
      }
      rest.push(Buffer.from(buffer.subarray(start, count)));
    }
  } finally {
    fs.closeSync(file);
  }
}

interface FileLine {
  readonly file: string;
  readonly line: string;
}

function* receivedLines(path: string): Generator<FileLine> {
  for (const text of linesOf(path)) yield JSON.parse(text) as FileLine;
}

const HOME = /^(?:\/(?:home|Users)\/[^/]+|\/root|[A-Za-z]:\\Users\\[^\\]+)(?=[/\\]|$)/;
const HOME_OF_AGENT = /"((?:\/[^"/\\]+)+)\/\.(?:claude|codex)\//;

/** Puts the folders of this machine in the place of those of the other one: of the work, and the home folder. */
function mapping(received: string, folder: string) {
  let cwd: string | undefined;
  let home: string | undefined;
  for (const { line } of receivedLines(received)) {
    if (cwd === undefined && line.includes('"cwd"')) {
      const [found] = jsonLinesIn(line);
      cwd = nameIn(found?.['cwd'] ?? membersOf(found?.['payload'])['cwd']);
      home = cwd === undefined ? undefined : HOME.exec(cwd)?.[0];
    }
    home ??= HOME_OF_AGENT.exec(line)?.[1];
    if (cwd !== undefined && home !== undefined) break;
  }
  const pairs = [
    [cwd, folder],
    [home, homedir()],
  ].flatMap(([before, after = '']): [string, string][] =>
    before === undefined || before.length < 2 || before === after ? [] : [[escaped(before), escaped(after)]],
  );
  const places = new Map(pairs.toReversed());
  if (pairs.length === 0) return (line: string) => line;
  const names = pairs.map(([before]) => before.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`)).join('|');
  // A whole path or its beginning. Before it, a line break can be written as `\n`.
  const everywhere = new RegExp(String.raw`(?:(?<![\w.~/-])|(?<=\\[nrt]))(?:${names})(?![\w-]|\.\w)`, 'g');
  const inMember = new RegExp(String.raw`(?<="cwd":\s*")(?:${names})(?![\w-]|\.\w)`, 'g');
  return (line: string) =>
    // The provider has signed what the model thought.
    line.replaceAll(line.includes('"signature":') ? inMember : everywhere, (before) => places.get(before) ?? before);
}

const escaped = (path: string) => JSON.stringify(path).slice(1, -1);

function writeFiles(
  received: string,
  { folder, map, written }: { folder: string; map: (line: string) => string; written: Written[] },
) {
  let out: number | undefined;
  let last = '';
  const end = () => {
    const file = written.at(-1);
    if (out === undefined || !file) return;
    fs.closeSync(out);
    file.cursor.mark = linesIn(Buffer.from(`${last}\n`)).mark;
  };
  for (const { file: name, line } of receivedLines(received)) {
    if (name !== written.at(-1)?.name) {
      end();
      const path = placeOf(name, folder);
      const temporary = `${path}.pull-${process.pid}`;
      fs.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      out = fs.openSync(temporary, 'w', 0o600);
      written.push({ name, path, temporary, isChanged: false, cursor: { end: 0, start: 0, lines: 0 } });
    }
    last = map(line);
    const bytes = Buffer.from(`${last}\n`);
    const file = written.at(-1);
    if (out === undefined || !file) continue;
    fs.writeSync(out, bytes);
    const { end: start, lines = 0 } = file.cursor;
    file.cursor = { start, end: start + bytes.length, lines: lines + 1 };
    file.isChanged ||= last !== line;
  }
  end();
}

const codexFolder = (name: string) => join(folderIn('CODEX_HOME', '.codex'), name);

/** The rollout of the same id, which Codex has once. */
function rolloutOf(name: string) {
  const id = UUID.exec(nameOf(name))?.[0] ?? name;
  const paths = ['sessions', 'archived_sessions'].flatMap((folder) => [...filesIn(codexFolder(folder))]);
  const found = paths.find((path) => path.endsWith(`${id}.jsonl`) || path.endsWith(`${id}.jsonl.zst`));
  if (found?.endsWith('.zst')) throw new Error(`${found} has this session already; nothing is written`);
  return found;
}

/** Where the agent of this machine looks for the file. @throws Error for a name that no agent gives */
function placeOf(name: string, folder: string): string {
  const [, year, month, day] = /^rollout-(\d{4})-(\d\d)-(\d\d)T[\w-]*\.jsonl$/.exec(name) ?? [];
  if (year !== undefined) return rolloutOf(name) ?? `${codexFolder('sessions')}/${year}/${month}/${day}/${name}`;
  if (!/^(?:[\w-][\w.-]*\/){0,4}[\w-][\w.-]*\.jsonl$/.test(name))
    throw new Error(`the session has a file with an unusual name: ${name}`);
  return `${join(folderIn('CLAUDE_CONFIG_DIR', '.claude'), 'projects')}/${projectFolder(folder)}/${name}`;
}

const MAX_SLUG = 200;

/** The name of the folder that Claude Code has for a folder of work (measured with 2.1.332). */
function projectFolder(folder: string): string {
  const name = folder.replaceAll(/[^A-Za-z0-9]/g, '-');
  if (name.length <= MAX_SLUG) return name;
  // It ends with a hash of Claude Code's own.
  const projects = join(folderIn('CLAUDE_CONFIG_DIR', '.claude'), 'projects');
  const names = fs.existsSync(projects) ? fs.readdirSync(projects) : [];
  const isOfFolder = (each: string) =>
    [...filesIn(join(projects, each))].some((path) => firstLines(path).some((line) => line['cwd'] === folder));
  const found = names.find((each) => each.startsWith(name.slice(0, MAX_SLUG)) && isOfFolder(each));
  if (found !== undefined) return found;
  throw new Error(
    `the path of ${folder} is too long: start Claude Code there once, so that its folder is known, or choose another one`,
  );
}

function commandOf(written: readonly Written[]): string {
  const isOfCodex = ({ name }: Written) => name.startsWith('rollout-');
  if (!written.some(isOfCodex))
    return `claude --resume ${nameOf(written.find(({ name }) => !name.includes('/'))?.name ?? '')}`;
  const main = written.find(({ path }) => {
    const payload = membersOf(firstLines(path, 1)[0]?.['payload']);
    return payload['parent_thread_id'] === undefined && membersOf(payload['source'])['subagent'] === undefined;
  });
  return `codex resume ${UUID.exec(nameOf((main ?? written[0])?.name ?? ''))?.[0] ?? ''}`;
}

const quoted = (path: string) => (/^[\w./~-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`);
