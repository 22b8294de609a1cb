import { setTimeout as delay } from 'node:timers/promises';
import type { SupervisedProcess } from './process.ts';

/** Between two starts: none before the first, then this long and ever longer. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/** Fast, immediate (recovers at the next start), and for a process that is stopped or hangs. */
export const shutdowns = [
  { signal: 'SIGINT', patienceMs: 10_000 },
  { signal: 'SIGQUIT', patienceMs: 10_000 },
  { signal: 'SIGKILL', patienceMs: 5_000 },
] as const;

/** It cannot be started again, now or later. */
export class LostServerError extends Error {
  override readonly name = 'LostServerError';
}

/** A server that runs until it is stopped, in one process after another. */
export interface KeptServer {
  /** Of the process that runs or is being started, or that ran last. */
  readonly pid: number;
  /** Resolves when it has ended and is not started again. */
  readonly ended: Promise<void>;
  /** Harder after 10 s. Resolves when it has ended; may be called again. */
  stop(): Promise<void>;
}

export interface Keeping {
  /**
   * Resolves when the server is ready; spawns nothing more once the signal is aborted.
   *
   * @throws LostServerError when it is not to be tried again; another error when it has not started
   */
  readonly start: (onSpawn: (server: SupervisedProcess) => void, signal: AbortSignal) => Promise<void>;
  /** What is known of an end nobody asked for. */
  readonly lastWords: () => string;
  readonly report: (sentence: string) => void;
}

/**
 * Starts a server, and starts it again for as long as it takes when it ends without having been stopped: PostgreSQL ends when it cannot write
 * its log, and does not start before it can.
 *
 * @throws what the first start throws
 */
export async function keepServer(keeping: Keeping): Promise<KeptServer> {
  const keeper = new Keeper(keeping);
  const ended = keeper.keep(await keeper.start());
  let stopped: Promise<void> | undefined;
  return {
    get pid() {
      return keeper.pid;
    },
    ended,
    stop: () => (stopped ??= keeper.stop(ended)),
  };
}

class Keeper {
  readonly #keeping: Keeping;
  readonly #stopping = new AbortController();
  #server: SupervisedProcess | undefined;
  #pauseMs = 0;

  constructor(keeping: Keeping) {
    this.#keeping = keeping;
  }

  get pid(): number {
    return this.#server?.pid ?? 0;
  }

  async start(): Promise<SupervisedProcess> {
    const { signal } = this.#stopping;
    await this.#keeping.start((spawned) => {
      this.#server = spawned;
      if (signal.aborted) spawned.kill('SIGINT');
    }, signal);
    if (!this.#server) throw new Error('A server that is ready was spawned.');
    return this.#server;
  }

  /** Starts it again whenever it ends, until it is stopped or lost. */
  async keep(first: SupervisedProcess): Promise<void> {
    const { report, lastWords } = this.#keeping;
    for (let running: SupervisedProcess | undefined = first; running; running = await this.#startAgain()) {
      const began = performance.now();
      const status = await running.exited;
      if (this.#stopping.signal.aborted) return;
      // One that ends as soon as it runs is started no faster than one that does not start.
      if (performance.now() - began > LONGEST_PAUSE_MS) this.#pauseMs = 0;
      const how = status === null ? 'by a signal' : `with status ${status}`;
      report([`PostgreSQL ${running.pid} has ended unexpectedly, ${how}`, lastWords()].filter(Boolean).join(': '));
    }
  }

  async stop(ended: Promise<void>): Promise<void> {
    this.#stopping.abort();
    const hasEnded = ended.then(() => true);
    for (const { signal, patienceMs } of shutdowns) {
      this.#server?.kill(signal);
      if (await Promise.race([hasEnded, delay(patienceMs, false, { ref: false })])) return;
    }
    await ended;
  }

  /** Undefined when it is stopped meanwhile, or lost. */
  async #startAgain(): Promise<SupervisedProcess | undefined> {
    const { signal } = this.#stopping;
    const { report } = this.#keeping;
    while (!signal.aborted) {
      await delay(this.#pauseMs, undefined, { signal }).catch(() => undefined);
      this.#pauseMs = Math.min(this.#pauseMs * 2 || FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
      try {
        const started = await this.start();
        report(`PostgreSQL runs again, as process ${started.pid}`);
        return started;
      } catch (error) {
        if (!signal.aborted) report(error instanceof Error ? error.message : String(error));
        if (error instanceof LostServerError) return undefined;
      }
    }
    return undefined;
  }
}
