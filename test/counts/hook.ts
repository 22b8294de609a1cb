import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { EventEmitter } from 'node:events';
import { Session } from 'node:inspector/promises';
import { createRequire } from 'node:module';
import { GCProfiler, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { setTimeout } from 'node:timers/promises';
import { Backlog } from '../../src/core/backlog.ts';
import { allocationsOf } from './allocations.ts';

/**
 * Preloaded into the gateway that is counted. The process that has started it asks for counts by messages; meanwhile, this code allocates
 * nothing.
 */

export type Command =
  | `${'start' | 'end'}${'Heap' | 'Statements' | 'Functions'}`
  /** Then `endFunctions` returns only what minor collections did not free: something old keeps it alive. */
  | 'startSurvivors';

export interface Heap {
  /** Bytes allocated on the heap of V8. */
  readonly allocated: number;
  /** Bytes that minor collections have moved to the old generation. */
  readonly promoted: number;
  readonly collections: number;
}

const commands: Record<Command, () => unknown> = {
  async startHeap() {
    await holdFold();
    promoteSurvivors();
    profiler = new GCProfiler();
    usedBefore = getHeapStatistics().used_heap_size;
    profiler.start();
  },
  endHeap(): Heap {
    promoteSurvivors();
    const { statistics = [] } = profiler?.stop() ?? {};
    let [used, allocated, promoted] = [usedBefore, 0, 0];
    for (const { gcType, beforeGC, afterGC } of statistics) {
      allocated += beforeGC.heapStatistics.usedHeapSize - used;
      used = afterGC.heapStatistics.usedHeapSize;
      if (gcType === MINOR) promoted += oldBytes(afterGC) - oldBytes(beforeGC);
    }
    allocated += getHeapStatistics().used_heap_size - used;
    releaseFold();
    return { allocated, promoted, collections: statistics.filter(({ gcType }) => gcType === MINOR).length };
  },
  async startStatements() {
    await holdFold();
    statements.length = 0;
    subscribe(SENT, countStatement);
  },
  /** The texts of the statements since then. What PostgreSQL has counted of them is visible to others then. */
  async endStatements(): Promise<readonly string[]> {
    unsubscribe(SENT, countStatement);
    // Not by the method of the gateway's own clients, which publishes it.
    for (const client of clients) await prototype.query.call(client, 'select pg_stat_force_next_flush()');
    releaseFold();
    return statements;
  },
  startFunctions: () => sample(4096, { includeObjectsCollectedByMinorGC: true }),
  startSurvivors: () => sample(512, { includeObjectsCollectedByMinorGC: false }),
  async endFunctions() {
    promoteSurvivors();
    releaseFold();
    const stopped = await session?.post('HeapProfiler.stopSampling');
    session?.disconnect();
    return stopped && allocationsOf(stopped.profile.head);
  },
};

/** What survives two minor collections while no request is answered, is promoted: something old keeps it alive. */
function promoteSurvivors(): void {
  for (let count = 0; count < 2; count += 1) collect({ type: 'minor' });
}

/** What folds entries behind appends, at a time of its own, waits while requests are counted. */
async function holdFold(): Promise<void> {
  while ([...backlogs].some((backlog) => backlog.next !== undefined)) await setTimeout(10);
  held = new Map();
}

function releaseFold(): void {
  const adds = held ?? [];
  held = undefined;
  for (const [id, { backlog, count }] of adds) backlog.add(id, count);
}

const backlogs = new Set<Backlog<unknown>>();
/** One count for each object: what is kept for each request would be promoted. */
let held: Map<unknown, { readonly backlog: Backlog<unknown>; count: number }> | undefined;
const adding: { add: (this: Backlog<unknown>, ...given: [unknown, number]) => void } = Backlog.prototype;
adding.add = new Proxy(adding.add, {
  apply(add, backlog: Backlog<unknown>, [id, count]: [unknown, number]): void {
    backlogs.add(backlog);
    const known = held?.get(id);
    if (known) known.count += count;
    else if (held) held.set(id, { backlog, count });
    else Reflect.apply(add, backlog, [id, count]);
  },
});

async function sample(
  samplingInterval: number,
  { includeObjectsCollectedByMinorGC }: { readonly includeObjectsCollectedByMinorGC: boolean },
): Promise<void> {
  await holdFold();
  session = new Session();
  session.connect();
  await session.post('HeapProfiler.enable');
  await session.post('HeapProfiler.startSampling', {
    samplingInterval,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC,
  });
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options: { readonly type: 'minor' }) => void;
const MINOR = 'Scavenge';
/** The channel of the gateway's database clients. */
const SENT = 'gateway:postgres:sent';
// What the gateway loads, too: its types are for users of a client.
const { prototype } = (createRequire(import.meta.url)('pg') as Driver).Client;
const clients = new Set<Client>();
const statements: string[] = [];
let profiler: GCProfiler | undefined;
let usedBefore = 0;
let session: Session | undefined;

const countStatement = (message: unknown): void => void statements.push((message as { readonly text: string }).text);

type HeapInfo = ReturnType<GCProfiler['stop']>['statistics'][number]['afterGC'];

function oldBytes({ heapSpaceStatistics }: HeapInfo): number {
  let bytes = 0;
  for (const { spaceName, spaceUsedSize } of heapSpaceStatistics)
    if (!spaceName.startsWith('new_')) bytes += spaceUsedSize;
  return bytes;
}

interface Client extends EventEmitter {
  connect: (this: Client, ...given: unknown[]) => unknown;
  query: (this: Client, ...given: unknown[]) => unknown;
}

interface Driver {
  readonly Client: { readonly prototype: Client };
}

prototype.connect = new Proxy(prototype.connect, {
  apply(connect, client: Client, given: unknown[]): unknown {
    clients.add(client);
    client.once('end', () => clients.delete(client));
    return Reflect.apply(connect, client, given);
  },
});

process.on('message', (command: Command) => {
  void Promise.resolve(commands[command]()).then((result) => process.send?.({ result }));
});
process.channel?.unref();
