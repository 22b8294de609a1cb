import type { Allocations } from './allocations.ts';

/** What one request of a kind takes. */
export interface Figures {
  /** Bytes on the heap of V8. */
  readonly allocated: number;
  /** Bytes that minor collections have moved to the old generation: what something old has kept alive. */
  readonly promoted: number;
  /** 0 where jobs send some meanwhile. */
  readonly statements: number;
  /** Rows that PostgreSQL has read in tables, also those that a filter has left out; 0 where other processes read some meanwhile. */
  readonly rows: number;
}

/** The figures of a kind as they are stored. */
export interface StoredFigures extends Figures {
  /** Why it promotes more than others. */
  readonly promotedBecause?: string;
}

export const MAX_PROMOTED = 60;
const TOLERANCE = 0.05;
/** Jobs look for work by time: the faster a machine, the less of it counts to each delivery. */
const TOLERANCE_BESIDE_JOBS = 0.1;
/** What is stored has so many functions, the largest first. */
const STORED_FUNCTIONS = 25;
const SHOWN_FUNCTIONS = 15;

/** What exceeds the stored figures, or is so much less that they are out of date; empty if nothing is. */
export function faultsOf(
  found: Figures,
  stored: StoredFigures | undefined,
  { runsJobs = false }: { readonly runsJobs?: boolean } = {},
): string[] {
  if (!stored) return ['no figures are stored'];
  const faults: string[] = [];
  for (const name of ['allocated', 'statements', 'rows'] as const) {
    const [before, now] = [stored[name], found[name]];
    const tolerance = runsJobs ? TOLERANCE_BESIDE_JOBS : TOLERANCE;
    if (Math.abs(now - before) <= Math.max(before * tolerance, SMALLEST[name])) continue;
    faults.push(`${name}: ${shown(before)} → ${shown(now)} (${now > before ? 'more' : 'less: write the figures'})`);
  }
  const maxPromoted = stored.promoted > MAX_PROMOTED ? stored.promoted * (1 + PROMOTED_TOLERANCE) : MAX_PROMOTED;
  if (found.promoted > maxPromoted) faults.push(`promoted: ${shown(found.promoted)}, at most ${shown(maxPromoted)}`);
  if (stored.promoted > MAX_PROMOTED && stored.promotedBecause === undefined)
    faults.push('promotedBecause: is missing in figures.json');
  return faults;
}

/** Differences that are not counted: a part of a statement can belong to work beside the requests. */
const SMALLEST = { allocated: 0, statements: 0.3, rows: 1 };
/** Which objects of a large request are alive during a collection differs from run to run. */
const PROMOTED_TOLERANCE = 1;

export function shown(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en-US') : String(Math.round(value * 10) / 10);
}

/** The largest functions of a kind, as they are stored: bytes for each request. */
export function largest(functions: Allocations, count = STORED_FUNCTIONS): Allocations {
  const sorted = Object.entries(functions).toSorted(([, one], [, other]) => other - one);
  return Object.fromEntries(sorted.slice(0, count).map(([name, bytes]) => [name, Math.round(bytes)]));
}

/** The functions that allocate more than before, those first that have grown most. Those that were not stored were smaller than all of these. */
export function grownFunctions(now: Allocations, before: Allocations): string[] {
  const sizes = Object.values(before);
  const smallest = sizes.length === 0 ? 0 : Math.min(...sizes);
  const grown = Object.entries(now)
    .map(([name, bytes]) => ({ name, bytes, was: before[name] }))
    .map((each) => ({ ...each, more: each.bytes - (each.was ?? smallest) }))
    .filter(({ more }) => more > 0)
    .toSorted((one, other) => other.more - one.more);
  return grown
    .slice(0, SHOWN_FUNCTIONS)
    .map(({ name, bytes, was }) => `  ${was === undefined ? '(few)' : shown(was)} → ${shown(bytes)}  ${name}`);
}
