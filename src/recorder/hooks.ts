/** The hooks by which agents call the recorder at the end of a turn. */

import * as fs from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { requireAccepted } from './gateway.ts';
import { BASE, GATEWAY, KEY, say, SETTINGS, isAgreed, settingsProblem, UsageError } from './common.ts';
import { folderIn } from './transcript-files.ts';

/** The events of Claude Code and Copilot CLI, and of Gemini CLI, whose settings are alike. */
const EVENTS = ['Stop', 'SessionEnd'];
const GEMINI_EVENTS = ['AfterAgent', 'SessionEnd'];
const MARK = '# workspace recorder';

const claudeFile = () => join(folderIn('CLAUDE_CONFIG_DIR', '.claude'), 'settings.json');
const geminiFile = () => join(homedir(), '.gemini', 'settings.json');
const codexFile = () => join(folderIn('CODEX_HOME', '.codex'), 'config.toml');
/** Files of the recorder alone: the hooks of Copilot CLI, and the plugin of OpenCode. */
const copilotFile = () => join(folderIn('COPILOT_HOME', '.copilot'), 'hooks', 'workspace-recorder.json');
const opencodeFile = () => join(folderIn('XDG_CONFIG_HOME', '.config'), 'opencode', 'plugins', 'workspace-recorder.js');
const script = () => resolve(process.argv[1] ?? 'record.mjs');
/**
 * The shell ends at once. What it has started yields to the agent, and starts a process of another group; without the file, nothing happens.
 * @param input what Claude Code says on standard input, such as the end of a session
 */
const command = (input = '<&3', program = `"${process.execPath}" "${script()}" sync --hook`) =>
  `(${input === '<&3' ? 'exec 3<&0; ' : ''}nice -n 19 ${program} >/dev/null 2>&1 ${input} &)`;
const notifyLine = (program?: string) =>
  `notify = ${JSON.stringify(['sh', '-c', command('</dev/null', program)])} ${MARK}`;

const copilotHooks = () => {
  const hooks = [{ type: 'command', bash: command(), timeoutSec: 10 }];
  return `${JSON.stringify({ version: 1, hooks: Object.fromEntries(EVENTS.map((event) => [event, hooks])) })}\n`;
};
const opencodePlugin = () =>
  [
    `import { spawn } from 'node:child_process';`,
    `const run = () => spawn('sh', ['-c', ${JSON.stringify(command('</dev/null'))}], { stdio: 'ignore' }).on('error', () => {}).unref();`,
    `export const WorkspaceRecorder = async () => ({ event: async ({ event }) => void (event.type === 'session.idle' && run()) });`,
    '',
  ].join('\n');

const textIn = (path: string) => (fs.existsSync(path) ? fs.readFileSync(path, 'utf8') : undefined);

const isOurs = (entry: unknown) => JSON.stringify(entry).includes('sync --hook');

/** The settings of Claude Code or Gemini CLI with or without the hooks. */
function settingsWith(text: string | undefined, isInstalled: boolean, events = EVENTS, program?: string) {
  const { hooks: before = {}, ...settings }: Record<string, unknown> & { hooks?: Record<string, unknown[]> } =
    JSON.parse(text?.trim() || '{}');
  const hooks = { ...before };
  for (const event of events) {
    const others = (hooks[event] ?? []).filter((entry) => !isOurs(entry));
    if (isInstalled) others.push({ hooks: [{ type: 'command', command: command('<&3', program) }] });
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

function changes(isInstalled: boolean) {
  const files: { path: string; before: string | undefined; after: string | undefined }[] = [];
  const codex = codexFile();
  for (const [path, events] of [
    [claudeFile(), EVENTS],
    [geminiFile(), GEMINI_EVENTS],
  ] as const) {
    const before = textIn(path);
    if (before === undefined && !(isInstalled && fs.existsSync(dirname(path)))) continue;
    try {
      files.push({ path, before, after: settingsWith(before, isInstalled, events) });
    } catch {
      say(`${path} is not JSON and is left as it is`);
    }
  }
  for (const [path, text] of [
    [copilotFile(), copilotHooks()],
    [opencodeFile(), opencodePlugin()],
  ] as const)
    if (fs.existsSync(dirname(dirname(path))))
      files.push({ path, before: textIn(path), after: isInstalled ? text : undefined });
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

function replaceFile(path: string, text: string | undefined) {
  if (text === undefined) return fs.rmSync(path);
  fs.mkdirSync(dirname(path), { recursive: true });
  const target = fs.existsSync(path) ? fs.realpathSync(path) : path;
  const mode = fs.existsSync(target) ? fs.statSync(target).mode & 0o777 : 0o600;
  fs.writeFileSync(`${target}.new`, text, { mode });
  fs.renameSync(`${target}.new`, target);
}

/** The files that have a hook of the recorder. */
export const installedFiles = () =>
  [claudeFile(), geminiFile(), codexFile(), copilotFile(), opencodeFile(), ...MANAGED].filter((path) =>
    textIn(path)?.includes('sync --hook'),
  );

/** Where an administrator of a machine sets what counts for all people. */
const MANAGED = [
  '/etc/claude-code/managed-settings.json',
  '/Library/Application Support/ClaudeCode/managed-settings.json',
  '/etc/codex/managed_config.toml',
];

function readOptions(args: string[]) {
  const options = { yes: { type: 'boolean' }, print: { type: 'string' }, at: { type: 'string' } } as const;
  const { yes: sure = false, print, at } = parseArgs({ args, options }).values;
  if (print !== undefined && (print !== 'managed' || at === undefined))
    throw new UsageError('--print: must be managed, with --at and the path of the recorder on all machines');
  return { sure, at };
}

/** What an administrator puts on the machines of others, who sign in by themselves. */
function printManaged(at: string) {
  if (!/^https?:\/\/[^'\s]+$/.test(GATEWAY)) throw new UsageError('the variable GATEWAY must be set');
  const program = `env GATEWAY='${GATEWAY}' node "${at}" sync --hook --managed`;
  process.stdout.write(
    `managed-settings.json of Claude Code:\n${settingsWith(undefined, true, EVENTS, program)}
managed_config.toml of Codex:\n${notifyLine(program)}\n`,
  );
}

export async function runInstall(args: string[]) {
  const { sure, at } = readOptions(args);
  if (at !== undefined) return printManaged(at);
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
  const { sure } = readOptions(args);
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
