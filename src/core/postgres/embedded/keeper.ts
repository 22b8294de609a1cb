import { setTimeout as delay } from 'node:timers/promises';
import type { SupervisedProcess } from './process.ts';

/** Pause between two starts: none before the first, then this one, growing. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
/** How long the last lines of a process that has ended are awaited: its children can keep the output open. */
const LAST_LINES_MS = 1_000;

/** Fast shutdown; immediate shutdown, which recovers at the next start; and a kill for a stopped or hanging process. */
export const shutdowns = [
  { signal: 'SIGINT', patienceMs: 10_000 },
  { signal: 'SIGQUIT', patienceMs: 10_000 },
  { signal: 'SIGKILL', patienceMs: 5_000 },
] as const;

/** The server can never be started again. */
export class LostServerError extends Error {
  override readonly name = 'LostServerError';
}

/** A server that is restarted until it is stopped. */
export interface KeptServer {
  /** The pid of the running, starting or last process. */
  readonly pid: number;
  /** Resolves when it has ended and will not be restarted. */
  readonly ended: Promise<void>;
  /** Stops harder after 10 s. Resolves when it has ended; may be called again. */
  stop(): Promise<void>;
}

export interface Keeping {
  /**
   * Resolves when the server is ready; spawns nothing more once the signal is aborted.
   * @throws LostServerError if it must not be retried; another error if the start failed
   */
  readonly start: (onSpawn: (server: SupervisedProcess) => void, signal: AbortSignal) => Promise<void>;
  /** The reason for an unexpected end, as far as known. */
  readonly lastWords: () => string;
  readonly report: (sentence: string) => void;
}

/**
 * Starts a server and restarts it, as often as necessary, when it ends unexpectedly. For example, PostgreSQL ends when it cannot write its
 * log, and cannot start before it can.
 * @throws the error of the first start
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
    if (!this.#server) throw new Error('A ready server has been spawned.');
    return this.#server;
  }

  /** Restarts it whenever it ends, until it is stopped or lost. */
  async keep(first: SupervisedProcess): Promise<void> {
    const { report, lastWords } = this.#keeping;
    for (let running: SupervisedProcess | undefined = first; running; running = await this.#startAgain()) {
      const began = performance.now();
      const status = await running.exited;
      if (this.#stopping.signal.aborted) return;
      // Its last lines, which give the reason, may arrive after its end.
      await Promise.race([running.closed, delay(LAST_LINES_MS, undefined, { ref: false })]);
      // A server that ends right after its start is restarted as slowly as one that does not start.
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

  /** Undefined if it is stopped meanwhile, or lost. */
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
