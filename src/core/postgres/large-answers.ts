import { setImmediate as nextTurn } from 'node:timers/promises';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { DomainError } from '../errors.ts';

/** An answer that takes more than this of the database, or of memory, is large. */
export const LARGE_BYTES = 2 * 1024 * 1024;

/** How long a large answer waits for those before it. */
const WAIT_MS = 5_000;

/**
 * Large answers are made one after the other: each takes memory by the ten megabytes, and holds the event loop while its text is made. Who waits
 * holds neither a connection nor what it has read.
 */
export class LargeAnswers {
  #isTaken = false;
  readonly #waiting: (() => void)[] = [];

  /** What ends it; undefined while another one is made. */
  tryTake(): (() => void) | undefined {
    if (this.#isTaken) return undefined;
    this.#isTaken = true;
    let isEnded = false;
    return () => {
      if (isEnded) return;
      isEnded = true;
      const handOver = () => {
        const next = this.#waiting.shift();
        if (next) next();
        else this.#isTaken = false;
      };
      collected().then(handOver, handOver);
    };
  }

  /** @throws DomainError 503 with `Retry-After` when its turn does not come in time. */
  async take(): Promise<() => void> {
    if (this.#isTaken) await this.#turn();
    this.#isTaken = false;
    const end = this.tryTake();
    // Others are answered between two large ones.
    await nextTurn();
    return end ?? (() => undefined);
  }

  #turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const next = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(next), 1);
        const message = 'too many large answers are asked for at the moment; try again, or ask for smaller ones';
        reject(new DomainError('unavailable', message, { headers: { 'Retry-After': '1' } }));
      }, WAIT_MS);
      this.#waiting.push(next);
    });
  }
}

/** With less in use nothing is collected. */
const COLLECT_ABOVE_BYTES = 96 * 1024 * 1024;

type Collect = (options: { type: 'major'; execution: 'async' }) => Promise<void>;
let collect: Collect | undefined;

/**
 * Collects what the last large answer has left, where it is much. V8 would let it lie, since it may take gigabytes, while the next ones are made. The
 * collection takes as long as what is in use is large, which is little.
 */
async function collected(): Promise<void> {
  const { used_heap_size: used, external_memory: external } = getHeapStatistics();
  if (used + external < COLLECT_ABOVE_BYTES) return;
  if (!collect) {
    setFlagsFromString('--expose-gc');
    // A context that is made now has the function.
    collect = runInNewContext('gc') as Collect;
  }
  await collect({ type: 'major', execution: 'async' });
}
