// Gateways and the command line as an operator runs them: processes of `bin/gateway`.
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { readConfig } from '../../../src/core/config.ts';
import { assemble } from '../../../src/gateway/assemble.ts';
import { prepareDatabase } from '../../../src/gateway/prepare-database.ts';
import { createLog } from '../../../src/gateway/telemetry/logging.ts';
import { issueKey as issueWithin } from '../../../src/operator/issue-key.ts';
import { killProcessesOf } from './embedded-postgres.ts';
import { GATEWAY, NODE_ENVIRONMENT, checkout } from './programs.ts';
import { copyDatabase, databaseUrl, onServer, onServers } from '../global-setup.ts';
import type { GraphQLApi } from '../fixtures/sessions.ts';

const children = new Set<ChildProcess>();
const undo: (() => Promise<unknown>)[] = [];

/** Call after each test: ends every process, then deletes its files. */
export async function endProcesses(): Promise<void> {
  await Promise.all([...children].map((child) => kill(child, 'SIGKILL')));
  for (const step of undo.splice(0).toReversed()) await step();
}

/** Registers a step of {@link endProcesses}, which takes the last one first. */
export function whenProcessesEnded(step: () => Promise<unknown>): void {
  undo.push(step);
}

export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'gateway-process-'));
  undo.push(async () => {
    await killProcessesOf(directory);
    await rm(directory, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
  });
  return directory;
}

export type DatabaseVariables = Readonly<Record<'DATABASE_URL' | 'ENCRYPTION_KEYS', string>>;

/** The variables of a gateway on a fresh database of the suite's server. */
export function freshDatabase(): Promise<DatabaseVariables> {
  return createDatabase((serverUrl, name) =>
    copyDatabase(serverUrl, inject('templateDatabase'), name, inject('workerUrls')),
  );
}

/** The variables of a gateway on a database without migrations. */
export function emptyDatabase(): Promise<DatabaseVariables> {
  return createDatabase((serverUrl, name) => onServer(serverUrl, `create database ${name} strategy file_copy`));
}

async function createDatabase(create: (serverUrl: string, name: string) => Promise<void>): Promise<DatabaseVariables> {
  const serverUrl = inject('serverUrl');
  const name = `process_${randomBytes(6).toString('hex')}`;
  await create(serverUrl, name);
  undo.push(() => onServers([serverUrl, ...inject('workerUrls')], `drop database if exists ${name} with (force)`));
  return { DATABASE_URL: databaseUrl(serverUrl, name), ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}` };
}

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end, with only the variables that every program needs and the given ones. */
export async function run(command: readonly string[], env: Record<string, string>): Promise<Finished> {
  const { child, output, exited } = start(command, env);
  child.stdin?.end();
  const code = await exited;
  return { code, stdout: output.stdout, stderr: output.stderr };
}

export const cli = (args: readonly string[], env: Record<string, string>) => run([GATEWAY, 'cli', ...args], env);

/** The size of {@link SMALL_HEAP} in MiB. */
export const SMALL_HEAP_MIB = 256;

/** A small heap, which a leak soon exceeds. With the default of gigabytes, V8 does not collect garbage for minutes. */
export const SMALL_HEAP = { NODE_OPTIONS: `--max-old-space-size=${SMALL_HEAP_MIB}` };

/** Issues a key like `keys create`, but without starting a process. */
export async function issueKey(
  env: Record<string, string>,
  { email = 'ann@example.com', organization = 'acme' } = {},
): Promise<string> {
  const assembly = await assemble(readConfig(env), createLog('silent'), { joinRunning: true });
  try {
    await prepareDatabase(assembly.dependencies);
    return (await issueWithin(assembly.dependencies, { email, organization })).key;
  } finally {
    await assembly.close();
  }
}

export interface GatewayProcess {
  readonly url: string;
  /** The printed API key; empty if none was printed. */
  readonly key: string;
  readonly pid: number;
  readonly output: { readonly stdout: string; readonly stderr: string };
  /** The exit status; null after a signal. */
  readonly exited: Promise<number | null>;
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** Starts the gateway of the code in `root`, by default on a free port; resolves when it is ready. */
export async function startGateway(env: Record<string, string>, root = checkout): Promise<GatewayProcess> {
  // Code of an earlier version may have no such program, and the cache of the checkout must not receive what is compiled of it.
  return whenReady(
    root === checkout
      ? start([GATEWAY, 'start'], { PORT: '0', ...env })
      : start([process.execPath, join(root, 'src/main.ts')], { PORT: '0', NODE_DISABLE_COMPILE_CACHE: '1', ...env }),
  );
}

/** The gateway of a started program; resolves when it is ready. */
export async function whenReady({ child, output, exited }: ReturnType<typeof start>): Promise<GatewayProcess> {
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout?.on('data', () => {
      // The message about readiness ends with a curl command.
      if (!/\n {4}curl .*\n\n/.test(output.stdout)) return;
      resolve(/GraphiQL +(http\S+)\/graphql/.exec(output.stdout)?.[1] ?? '');
    });
    void exited.then((code) => reject(new Error(`ended with ${code}: ${output.stdout}${output.stderr}`)));
  });
  return {
    url,
    key: /wgk_\w+/.exec(output.stdout)?.[0] ?? '',
    pid: child.pid ?? 0,
    output,
    exited,
    end: async (signal) => {
      child.kill(signal);
      return exited;
    },
  };
}

/** A gateway without rate limits on a fresh database of the suite's server, and a key. */
export async function gatewayWithKey(
  env: Record<string, string> = {},
): Promise<{ gateway: GatewayProcess; key: string; createKey(email: string, organization?: string): Promise<string> }> {
  const database = await freshDatabase();
  const gateway = await startGateway({ ...database, RATE_LIMIT_PER_MINUTE: '0', ...env });
  const createKey = (email: string, organization = 'demo') => issueKey(database, { email, organization });
  return { gateway, key: await createKey('ann@example.com'), createKey };
}

/** Starts a program; the end of the test ends it. */
export function start(
  [file = '', ...args]: readonly string[],
  env: Record<string, string>,
  where: Pick<SpawnOptions, 'cwd' | 'uid' | 'gid'> = {},
) {
  const { HOME = '' } = process.env;
  const child = spawn(file, args, {
    cwd: checkout,
    env: { HOME, ...NODE_ENVIRONMENT, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
    ...where,
  });
  children.add(child);
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => (output.stdout += chunk));
  child.stderr.on('data', (chunk) => (output.stderr += chunk));
  const exited = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
  return { child, output, exited };
}

async function kill(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  children.delete(child);
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, 'exit');
}

/** The GraphQL API of a gateway in another process. */
export function graphqlApi(url: string): GraphQLApi {
  return {
    graphql: async (key, query, variables) =>
      (await call(url, key, 'POST', '/graphql', { query, variables })).body as never,
  };
}

/** A REST call that answers with its status and parsed body. */
export async function call(
  url: string,
  key: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}
