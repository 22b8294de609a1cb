import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

export interface Wait {
  /** The longest latency in ms. */
  readonly worst: number;
  /** Why a query was not answered; empty if all were. */
  readonly failure: string;
}

/** Somebody else who sends small queries all the time. */
export interface Neighbor {
  /** Waits for the query that is under way. @returns the longest latency since the last call */
  wait(): Promise<Wait>;
  stop(): Promise<unknown>;
}

export function startNeighbor(url: string, key: string): Neighbor {
  const worker = new Worker(new URL('./neighbor-worker.ts', import.meta.url), { workerData: { url, key } });
  return {
    async wait() {
      worker.postMessage('wait', []);
      const [wait] = (await once(worker, 'message')) as [Wait];
      return wait;
    },
    stop: () => worker.terminate(),
  };
}
