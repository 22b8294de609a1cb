import { setTimeout as delay } from 'node:timers/promises';
import { request as send } from 'undici';
import { ask, requireEqualAnswers } from './compare.ts';
import { type Load, type Round, drive, headersFor, median, quantile } from './drive.ts';
import type { OldGateway } from './old-gateway.ts';
import { type Target, forgetPeak, peakMiB } from './process.ts';
import type { Bench } from './setup.ts';
import { type Work, type WorkRequest, jsonEvents, restEvents } from './work.ts';

/** V8 optimizes the code of a workload for up to twenty seconds, in which a request takes up to twice as long. */
export const WARM_UP_SECONDS = 20;

export interface Pace {
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly connections: number;
  /** Between rounds, for what the last one has left behind where a limit would count it. */
  readonly pauseMs?: number;
}

export interface Measured {
  readonly name: string;
  readonly target: number;
  readonly baseline: Round;
  readonly gateway: Round;
  /**
   * Requests per second, gateway to baseline: the median over the rounds, which a busy machine affects least, and the
   * first and third quartile.
   */
  readonly ratio: number;
  readonly quartiles: readonly [number, number];
  /** The same of an older gateway; undefined without one, and if it does not know the documents. */
  readonly old?: { readonly round: Round; readonly ratio: number } | undefined;
}

/** Compares the answers of one workload, then measures baseline and gateway alternately, and the older gateway, if there is one. */
export async function measureWork(
  work: Work,
  [baseline, gateway, old]: readonly [Target, Target, OldGateway?],
  key: string,
  pace: Pace,
): Promise<Measured> {
  await requireEqualAnswers(work, baseline, gateway, key);
  const { requests, keys = [key] } = work;
  const load: Load = { requests, keys, connections: pace.connections, seconds: pace.seconds };
  const oldRequests = old && (await knownTo(old, work));
  const sides: Side[] = [
    { target: baseline, load },
    { target: gateway, load },
    ...(old && oldRequests ? [{ target: old.target, load: { ...load, requests: oldRequests, keys: [old.key] } }] : []),
  ];
  const [ofBaseline = [], ofGateway = [], ofOld] = await measureSides(sides, pace);
  await requireEqualAnswers(work, baseline, gateway, key);
  const ratios = ratiosOf(ofGateway, ofBaseline);
  return {
    name: work.name,
    target: work.target,
    baseline: medians(ofBaseline),
    gateway: medians(ofGateway),
    ratio: median(ratios),
    quartiles: [quantile(ratios, 0.25), quantile(ratios, 0.75)],
    old: ofOld && { round: medians(ofOld), ratio: median(ratiosOf(ofOld, ofBaseline)) },
  };
}

export interface Side {
  readonly target: Target;
  readonly load: Load;
}

/** Warms all sides up, then measures them alternately. @returns the rounds of each side */
export async function measureSides(sides: readonly Side[], pace: Pace): Promise<Round[][]> {
  const measured = sides.map((side) => ({ ...side, rounds: new Array<Round>() }));
  const round = async ({ target, load }: Side) => {
    const done = await drive(target, load);
    if (pace.pauseMs !== undefined) await delay(pace.pauseMs);
    return done;
  };
  for (const { target, load } of measured) await round({ target, load: { ...load, seconds: pace.warmUpSeconds } });
  for (let count = 0; count < pace.rounds; count += 1) {
    // The order alternates, so that none always runs after the same other one.
    for (const side of count % 2 === 0 ? measured : measured.toReversed()) side.rounds.push(await round(side));
  }
  return measured.map(({ rounds }) => rounds);
}

/** The requests per second of adjacent rounds, relative to the baseline, in ascending order. */
function ratiosOf(rounds: readonly Round[], baseline: readonly Round[]): number[] {
  return rounds
    .map(({ perSecond }, index) => perSecond / (baseline[index]?.perSecond ?? Number.NaN))
    .toSorted((a, b) => a - b);
}

/** The requests of a workload in the form that an older gateway knows. */
async function knownTo(
  { target, key }: OldGateway,
  { requests, plain }: Work,
): Promise<readonly WorkRequest[] | undefined> {
  for (const form of [requests, plain]) {
    if (!form) continue;
    const answers = await Promise.allSettled(form.map((request) => ask(target, request, key)));
    if (answers.every(({ status }) => status === 'fulfilled')) return form;
  }
  return undefined;
}

export function medians(rounds: readonly Round[]): Round {
  const of = (name: keyof Round) => median(rounds.map((round) => round[name]));
  return { perSecond: of('perSecond'), p50Ms: of('p50Ms'), p99Ms: of('p99Ms'), cpuMsPerRequest: of('cpuMsPerRequest') };
}

export interface Depth {
  readonly name: string;
  /** Median latency of the first page in ms, and the factors of the deeper pages. */
  readonly firstMs: number;
  readonly middleRatio: number;
  readonly lastRatio: number;
}

/** Measures how the latency of a page grows with its depth: one request at a time, alternating between three depths. */
export async function measureDepth(
  [baseline, gateway]: readonly [Target, Target],
  key: string,
  events: number,
  samples: number,
): Promise<Depth[]> {
  const depths = [0, Math.floor(events / 2), events - 100];
  const results: Depth[] = [];
  for (const [name, target, request] of [
    ['REST', baseline, restEvents],
    ['REST', gateway, restEvents],
    ['GraphQL', baseline, jsonEvents],
    ['GraphQL', gateway, jsonEvents],
  ] as const) {
    const times = await sample(target, key, depths.map(request), samples);
    const [first = 0, middle = 0, last = 0] = times.map((series) => median(series));
    results.push({
      name: `${target.name} ${name}`,
      firstMs: first,
      middleRatio: middle / first,
      lastRatio: last / first,
    });
  }
  return results;
}

async function sample(
  target: Target,
  key: string,
  requests: readonly WorkRequest[],
  samples: number,
): Promise<number[][]> {
  const times = requests.map((): number[] => []);
  for (let round = -20; round < samples; round += 1) {
    for (const [index, request] of requests.entries()) {
      const ms = await timed(target, request, key);
      if (round >= 0) times[index]?.push(ms);
    }
  }
  return times;
}

/** The time of one request in ms, including its answer. @throws Error unless the answer is a 200. */
export async function timed(
  target: Pick<Target, 'name' | 'url'>,
  { method, path, body }: WorkRequest,
  key: string,
): Promise<number> {
  const began = performance.now();
  // Not fetch, whose streams take milliseconds of measured CPU for a batch of half a megabyte.
  const response = await send(`${target.url}${path}`, {
    method,
    headers: headersFor(key, body),
    body: body ?? null,
  });
  const text = await response.body.text();
  if (response.statusCode !== 200 || text.startsWith('{"errors"'))
    throw new Error(`${target.name} answered ${response.statusCode} to ${path}: ${text.slice(0, 500)}`);
  return performance.now() - began;
}

export interface Memory {
  readonly name: string;
  readonly idleMiB: number;
  readonly peakMiB: number;
}

/** Peak memory of fresh processes that serve all workloads at once on 64 connections, one process after the other. */
export async function measureMemory(bench: Bench, works: readonly Work[], pace: Pace): Promise<Memory[]> {
  const requests = works.flatMap((work) => work.requests);
  return bench.withTargets(async (targets) => {
    const idle = await Promise.all(targets.map(({ pid }) => peakMiB(pid)));
    for (const { pid } of targets) await forgetPeak(pid);
    for (let round = 0; round < pace.rounds; round += 1) {
      for (const target of targets)
        await drive(target, { requests, keys: [bench.key], connections: 64, seconds: pace.seconds, mixed: true });
    }
    const peaks = await Promise.all(targets.map(({ pid }) => peakMiB(pid)));
    return targets.map(({ name }, index) => ({ name, idleMiB: idle[index] ?? 0, peakMiB: peaks[index] ?? 0 }));
  });
}
