/** The hooks by which agents call the recorder at the end of a turn. */

import * as fs from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { requireAccepted } from './gateway.ts';
import { BASE, GATEWAY, KEY, say, SETTINGS, isAgreed, settingsProblem, UsageError } from './common.ts';

const EVENTS = ['Stop', 'SessionEnd'];
const MARK = '# workspace recorder';

const claudeFile = () => join(process.env['CLAUDE_CONFIG_DIR'] || join(homedir(), '.claude'), 'settings.json');
const codexFile = () => join(process.env['CODEX_HOME'] || join(homedir(), '.codex'), 'config.toml');
const script = () => resolve(process.argv[1] ?? 'record.mjs');
/**
 * The shell ends at once. What it has started yields to the agent, and starts a process of another group; without the file, nothing happens.
 * @param input what Claude Code says on standard input, such as the end of a session
 */
const command = (input = '<&3') =>
  `(${input === '<&3' ? 'exec 3<&0; ' : ''}nice -n 19 "${process.execPath}" "${script()}" sync --hook >/dev/null 2>&1 ${input} &)`;
const notifyLine = () => `notify = ${JSON.stringify(['sh', '-c', command('</dev/null')])} ${MARK}`;

const textIn = (path: string) => (fs.existsSync(path) ? fs.readFileSync(path, 'utf8') : undefined);

const isOurs = (entry: unknown) => JSON.stringify(entry).includes('sync --hook');

/** The settings of Claude Code with or without the hooks. */
function claudeSettings(text: string | undefined, isInstalled: boolean) {
  const { hooks: before = {}, ...settings }: Record<string, unknown> & { hooks?: Record<string, unknown[]> } =
    JSON.parse(text?.trim() || '{}');
  const hooks = { ...before };
  for (const event of EVENTS) {
    const others = (hooks[event] ?? []).filter((entry) => !isOurs(entry));
    if (isInstalled) others.push({ hooks: [{ type: 'command', command: command() }] });
    hooks[event] = others;
    if (others.length === 0) delete hooks[event];
  }
  return `${JSON.stringify({ ...settings, ...(Object.keys(hooks).length > 0 && { hooks }) }, null, 2)}\n`;
}

/** The configuration of Codex, which has one program to notify, before its tables. */
function codexConfig(text = '', isInstalled = true) {
  const lines = text.split('\n').filter((line) => !line.endsWith(MARK));
  return (isInstalled ? [notifyLine(), ...lines] : lines).join('\n');
}

function changes(isInstalled: boolean): { path: string; before: string | undefined; after: string }[] {
  const files = [];
  const [claude, codex] = [claudeFile(), codexFile()];
  if (fs.existsSync(dirname(claude))) {
    const before = textIn(claude);
    if (isInstalled || before !== undefined)
      try {
        files.push({ path: claude, before, after: claudeSettings(before, isInstalled) });
      } catch {
        say(`${claude} is not JSON and is left as it is`);
      }
  }
  if (fs.existsSync(dirname(codex))) {
    const before = textIn(codex);
    const isTaken = codexConfig(before, false)
      .split('\n')
      .some((line) => /^\s*notify\s*=/.test(line));
    if (isInstalled && isTaken) say(`${codex} has another program in notify and is left as it is`);
    else if (isInstalled || before !== undefined)
      files.push({ path: codex, before, after: codexConfig(before, isInstalled) });
  }
  return files.filter(({ before, after }) => before !== after);
}

function replaceFile(path: string, text: string) {
  const target = fs.existsSync(path) ? fs.realpathSync(path) : path;
  const mode = fs.existsSync(target) ? fs.statSync(target).mode & 0o777 : 0o600;
  fs.writeFileSync(`${target}.new`, text, { mode });
  fs.renameSync(`${target}.new`, target);
}

/** The files that have a hook of the recorder. */
export const installedFiles = () => [claudeFile(), codexFile()].filter((path) => textIn(path)?.includes('sync --hook'));

function isSure(args: string[]) {
  return parseArgs({ args, options: { yes: { type: 'boolean' } } }).values.yes === true;
}

export async function runInstall(args: string[]) {
  const sure = isSure(args);
  const problem = settingsProblem();
  if (problem !== undefined) throw new UsageError(problem);
  await requireAccepted();
  const files = changes(true);
  for (const { path } of files) say(`${path} gets a hook that runs: ${command()}`);
  say(`${SETTINGS} gets GATEWAY${KEY === '' ? '' : ' and KEY'}, readable by you only`);
  if (!sure && !(await isAgreed('Write these files?', 'add --yes to change these files without a question'))) return;
  fs.mkdirSync(BASE, { recursive: true, mode: 0o700 });
  fs.writeFileSync(SETTINGS, JSON.stringify({ GATEWAY, ...(KEY !== '' && { KEY }), since: Date.now() }), {
    mode: 0o600,
  });
  fs.chmodSync(SETTINGS, 0o600);
  for (const { path, after } of files) replaceFile(path, after);
  say('installed; sessions are sent after each turn. Those of before: node record.mjs import');
}

export async function runUninstall(args: string[]) {
  const sure = isSure(args);
  const files = changes(false);
  for (const { path } of files) say(`the hook is taken out of ${path}`);
  if (
    files.length > 0 &&
    !sure &&
    !(await isAgreed('Write these files?', 'add --yes to change these files without a question'))
  )
    return;
  for (const { path, after } of files) replaceFile(path, after);
  fs.rmSync(SETTINGS, { force: true });
  say('uninstalled');
}
