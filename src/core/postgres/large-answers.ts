import { setImmediate as nextIteration } from 'node:timers/promises';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { DomainError } from '../errors.ts';

/** An answer is large if it needs more bytes than this from the database or in memory. */
export const LARGE_BYTES = 1024 * 1024;

/** Nothing is collected after fewer bytes of large answers, or below this memory use. */
const COLLECT_AFTER_BYTES = 4 * 1024 * 1024;
const COLLECT_ABOVE_BYTES = 96 * 1024 * 1024;

type Collect = (options: { type: 'major'; execution: 'async' }) => Promise<void>;
let collect: Collect | undefined;

export type EndLargeAnswer = (bytes: number) => void;

/** Maximum time that a large answer waits for earlier ones. */
const WAIT_MS = 5_000;

/**
 * Large answers are produced one at a time: each needs tens of megabytes and blocks the event loop while it is serialized. A waiting request
 * keeps neither a connection nor data.
 */
export class LargeAnswers {
  #isTaken = false;
  #uncollectedBytes = 0;
  readonly #waiting: (() => void)[] = [];

  /** Returns the function that ends it, which gets its size; undefined while another one is in progress. */
  tryTake(): EndLargeAnswer | undefined {
    if (this.#isTaken) return undefined;
    this.#isTaken = true;
    let isEnded = false;
    return (bytes) => {
      if (isEnded) return;
      isEnded = true;
      this.#uncollectedBytes += bytes;
      const handOver = () => {
        const next = this.#waiting.shift();
        if (next) next();
        else this.#isTaken = false;
      };
      this.#collect().then(handOver, handOver);
    };
  }

  /** @throws DomainError 503 with `Retry-After` if it has to wait for too long. */
  async take(): Promise<EndLargeAnswer> {
    if (this.#isTaken) await this.#untilFree();
    this.#isTaken = false;
    const end = this.tryTake();
    // Allow other requests to run between two large answers.
    await nextIteration();
    return end ?? (() => undefined);
  }

  /**
   * Runs a garbage collection after large answers if they left much garbage. V8 would not collect it before the next ones are produced, because
   * its heap may grow to gigabytes. The collection is fast, because little memory is live.
   */
  async #collect(): Promise<void> {
    const { used_heap_size: used, external_memory: external } = getHeapStatistics();
    if (this.#uncollectedBytes < COLLECT_AFTER_BYTES || used + external < COLLECT_ABOVE_BYTES) return;
    this.#uncollectedBytes = 0;
    if (!collect) {
      setFlagsFromString('--expose-gc');
      // A new context has the function.
      collect = runInNewContext('gc') as Collect;
    }
    await collect({ type: 'major', execution: 'async' });
  }

  #untilFree(): Promise<void> {
    return new Promise((resolve, reject) => {
      const next = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(next), 1);
        const message = 'too many large answers are being produced; try again, or request smaller ones';
        reject(new DomainError('unavailable', message, { headers: { 'Retry-After': '1' } }));
      }, WAIT_MS);
      this.#waiting.push(next);
    });
  }
}
