import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { drive } from './drive.ts';
import { WARM_UP_SECONDS } from './measure.ts';
import { table } from './report.ts';
import type { Bench } from './setup.ts';
import type { Work } from './work.ts';

/** V8's `.cpuprofile`: a tree of frames, and the frame of each sample. Times in µs. */
interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly endTime: number;
  readonly startTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  readonly children?: readonly number[];
}

const SECONDS = 8;
const TOP = 40;

/** Runs one workload against the gateway under V8's profiler, and returns where its time went, without start and warm-up. */
export async function profileWork(
  bench: Bench,
  works: readonly Work[],
  wanted: string,
  directory: string,
): Promise<string> {
  const has = (test: 'endsWith' | 'includes') =>
    works.find(({ name }) => name.toLowerCase()[test](wanted.toLowerCase()));
  const work = has('endsWith') ?? has('includes');
  if (!work) throw new Error(`no work is called ${wanted}; there are: ${works.map(({ name }) => name).join('; ')}`);
  const into = join(directory, `profile-${process.pid}`);
  const gateway = await bench.startGateway(`--cpu-prof --cpu-prof-interval=500 --cpu-prof-dir=${into}`);
  const load = { requests: work.requests, keys: work.keys ?? [bench.key], connections: 16 };
  let began = 0;
  try {
    await drive(gateway, { ...load, seconds: WARM_UP_SECONDS });
    began = performance.now();
    await drive(gateway, { ...load, seconds: SECONDS });
  } finally {
    await gateway.stop();
  }
  const [file = ''] = await readdir(into);
  // Times are relative to the end, which profile and process have in common, so that start and stop are excluded.
  return `${work.name}\n\n${describe(JSON.parse(await readFile(join(into, file), 'utf8')), (performance.now() - began) * 1000)}\n`;
}

function describe(profile: CpuProfile, lastUs: number): string {
  const from = profile.endTime - lastUs;
  const selfUs = selfTimes(profile, from, from + SECONDS * 1e6);
  const nodes = profile.nodes.filter(
    ({ callFrame }) => callFrame.functionName !== '(idle)' && callFrame.functionName !== '(root)',
  );
  const total = nodes.reduce((sum, { id }) => sum + (selfUs.get(id) ?? 0), 0);
  const percent = (us: number) => `${((us / total) * 100).toFixed(1)} %`;
  const rows = (times: ReadonlyMap<string, number>, top: number) =>
    [...times]
      .toSorted(([, a], [, b]) => b - a)
      .slice(0, top)
      .map(([name, us]) => [name, percent(us)]);
  const by = (nameOf: (node: ProfileNode) => string) => {
    const times = new Map<string, number>();
    for (const node of nodes) times.set(nameOf(node), (times.get(nameOf(node)) ?? 0) + (selfUs.get(node.id) ?? 0));
    return times;
  };
  return [
    table([`self time by function, top ${TOP}`, 'share'], rows(by(functionOf), TOP)),
    table(['self time by package or file', 'share'], rows(by(packageOf), 25)),
    table(
      ['time within our own functions, what they call at once included', 'share'],
      rows(inclusive(profile, selfUs), 25),
    ),
  ].join('\n\n');
}

/** The self time of each frame, for the samples between two times. */
function selfTimes({ samples, timeDeltas, startTime }: CpuProfile, from: number, to: number): Map<number, number> {
  const times = new Map<number, number>();
  let at = startTime;
  for (const [index, id] of samples.entries()) {
    const delta = timeDeltas[index] ?? 0;
    at += delta;
    if (at >= from && at < to) times.set(id, (times.get(id) ?? 0) + delta);
  }
  return times;
}

/** `file:///…/node_modules/pg/lib/client.js` → `pg/lib/client.js`; our own files from `src/`. */
function place(url: string): string {
  return url.replace(/^.*\/node_modules\//, '').replace(/^.*\/src\//, 'src/');
}

function functionOf({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  return url === '' ? functionName || '(native)' : `${functionName || '(anonymous)'}  ${place(url)}:${lineNumber + 1}`;
}

function packageOf({ callFrame: { functionName, url } }: ProfileNode): string {
  if (url === '') return functionName.startsWith('(') ? functionName : '(native)';
  if (url.startsWith('node:')) return url;
  if (!url.includes('/node_modules/')) return place(url);
  return /^(?:@[^/]+\/)?[^/]+/.exec(place(url))?.[0] ?? url;
}

/** The total time of each function of `src/`, counted once for recursion. Code after an await has a new stack. */
function inclusive({ nodes }: CpuProfile, selfUs: ReadonlyMap<number, number>): Map<string, number> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const times = new Map<string, number>();
  const walk = (node: ProfileNode, above: ReadonlySet<string>): number => {
    const name = functionOf(node);
    const isOurs = node.callFrame.url.includes('/src/') && !node.callFrame.url.includes('/node_modules/');
    const counts = isOurs && !above.has(name);
    const within = counts ? new Set([...above, name]) : above;
    const below = (node.children ?? []).reduce(
      (sum, id) => {
        const child = byId.get(id);
        return child ? sum + walk(child, within) : sum;
      },
      selfUs.get(node.id) ?? 0,
    );
    if (counts) times.set(name, (times.get(name) ?? 0) + below);
    return below;
  };
  const [root] = nodes;
  if (root) walk(root, new Set());
  return times;
}
