import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { NODE_ENVIRONMENT, checkout } from '../support/processes/programs.ts';
import type { Allocations } from './allocations.ts';
import type { Command, Heap } from './hook.ts';

/** A gateway whose heap and statements are counted. */
export interface CountedGateway extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  /** Counts what `work` allocates. */
  heapOf(work: () => Promise<void>): Promise<Heap>;
  /** The statements that `work` sends. Then the statistics of PostgreSQL have the rows that they read. */
  statementsOf(work: () => Promise<void>): Promise<readonly string[]>;
  /** The bytes that each function allocates during `work`. */
  functionsOf(work: () => Promise<void>): Promise<Allocations>;
  /** The same of what minor collections do not free. */
  survivorsOf(work: () => Promise<void>): Promise<Allocations>;
}

const HOOK = join(import.meta.dirname, 'hook.ts');
/** Those of `bin/gateway`, but with a young generation of one size, because V8 would choose another one in each run. */
const FLAGS = [
  '--min-semi-space-size=32',
  '--max-semi-space-size=32',
  '--no-allocation-site-pretenuring',
  '--require=./src/check-node-version.cjs',
  `--import=${HOOK}`,
];

export async function startCounted(env: Readonly<Record<string, string>>): Promise<CountedGateway> {
  const { HOME = '' } = process.env;
  const child = spawn(process.execPath, [...FLAGS, 'src/main.ts'], {
    cwd: checkout,
    env: { HOME, ...NODE_ENVIRONMENT, ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let output = '';
  const exited = once(child, 'exit').then(() => {
    throw new Error(`the gateway has ended:\n${output.slice(-5_000)}`);
  });
  exited.catch(() => undefined);
  const started = new Promise<string>((resolve) => {
    const read = (chunk: Buffer) => {
      output = (output + String(chunk)).slice(-20_000);
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0];
      if (url !== undefined) resolve(url);
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
  });
  const url = await Promise.race([started, exited]);
  const ask = async <Result>(command: Command): Promise<Result> => {
    child.send(command);
    const [{ result }] = (await Promise.race([once(child, 'message'), exited])) as [{ result: Result }];
    return result;
  };
  const during = async <Result>(begin: Command, end: Command, work: () => Promise<void>): Promise<Result> => {
    await ask(begin);
    await work();
    return ask(end);
  };
  return {
    url,
    pid: child.pid ?? 0,
    heapOf: (work) => during('startHeap', 'endHeap', work),
    statementsOf: (work) => during('startStatements', 'endStatements', work),
    functionsOf: (work) => during('startFunctions', 'endFunctions', work),
    survivorsOf: (work) => during('startSurvivors', 'endFunctions', work),
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      await exited.catch(() => undefined);
    },
  };
}
