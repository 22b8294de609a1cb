/**
 * `npm run test:counts`: counts what requests of each kind take, and compares it with `figures.json`. Counts are the same on a busy machine,
 * where times are not. `-- --write` writes the figures.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { type Target, interrupt } from '../bench/process.ts';
import { table } from '../bench/report.ts';
import { type Bench, setUp } from '../bench/setup.ts';
import { GATEWAY } from '../support/processes/programs.ts';
import type { Allocations } from './allocations.ts';
import { type CountedGateway, startCounted } from './counted-gateway.ts';
import { type Figures, MAX_PROMOTED, type StoredFigures, faultsOf, grownFunctions, largest, shown } from './figures.ts';
import { EVENTS, KINDS, type Kind, type Place, startOther } from './kinds.ts';

const USAGE = `npm run test:counts [-- options]
  --only TEXT   only kinds whose name contains it
  --write       writes the figures; the commit must say why they have grown
  --survivors   also prints what each kind leaves after minor collections
`;

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    write: { type: 'boolean', default: false },
    survivors: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const FIGURES = join(import.meta.dirname, 'figures.json');
const FUNCTIONS = join(import.meta.dirname, 'functions.json');
/** Nothing is kept. PostgreSQL must not do work of its own, which could change a plan. */
const SETTINGS = { fsync: 'off', full_page_writes: 'off', autovacuum: 'off' };
/** Requests whose statements are counted, which each of them sends alike, and requests whose functions are sampled. */
const STATEMENT_SHARE = 0.2;
const FUNCTIONS_SHARE = 0.5;
const MAX_READINGS = 3;
/** What the process itself begins to keep during some hundred requests, such as feedback for its compiler. */
const KEPT_BYTES = 128 * 1024;

let isInterrupted = false;

interface Counted extends Figures {
  readonly functions: Allocations | undefined;
  /** If too much is promoted. */
  readonly survivors: Allocations | undefined;
}

/** All kinds are counted in one process, one after the other, but for those that need its jobs, whose own work would be counted too. */
async function countAll(bench: Bench, other: Target): Promise<Map<string, Counted>> {
  const found = new Map<string, Counted>();
  const wanted = KINDS.filter(({ name }) => name.includes(options.only));
  for (const [runsJobs, kinds] of Map.groupBy(wanted, (kind) => kind.runsJobs === true)) {
    const env = { ...bench.gatewayEnv, RUN_JOBS: String(runsJobs) };
    await using gateway = await startCounted(env);
    for (const kind of kinds) {
      const counted = await count(kind, gateway, { bench, url: gateway.url, pid: gateway.pid, other });
      found.set(kind.name, counted);
      console.log(`${kind.name}: ${shown(counted.allocated)} bytes, after ${Math.round(process.uptime())} s`);
    }
  }
  return found;
}

async function count(kind: Kind, gateway: CountedGateway, place: Place): Promise<Counted> {
  if (isInterrupted) throw new Error('interrupted');
  const opened = await kind.open(place);
  try {
    const repeat = (times: number) => () => opened.repeat(times);
    await repeat(kind.warmUp)();
    const heap = await gateway.heapOf(repeat(kind.counted));
    const reading = {
      repeat,
      times: Math.ceil(kind.counted * STATEMENT_SHARE),
      isAlone: !kind.hasChanges,
      hasJobs: kind.runsJobs,
    };
    const figures = {
      allocated: heap.allocated / kind.counted,
      promoted: Math.max(0, heap.promoted - KEPT_BYTES) / kind.counted,
      ...(await readingsOf(gateway, place.bench, reading)),
    };
    // What the process does now and then, such as storing when a key was used, can only have added something.
    for (let tries = 1; tries < MAX_READINGS && isMore(figures, stored[kind.name]); tries += 1) {
      const again = await readingsOf(gateway, place.bench, reading);
      figures.statements = Math.min(figures.statements, again.statements);
      figures.rows = Math.min(figures.rows, again.rows);
    }
    for (let tries = 1; tries < MAX_READINGS && promotesMore(figures, stored[kind.name]); tries += 1) {
      const again = await gateway.heapOf(repeat(kind.counted));
      figures.promoted = Math.min(figures.promoted, Math.max(0, again.promoted - KEPT_BYTES) / kind.counted);
    }
    const faults = faultsOf(figures, stored[kind.name], kind);
    const times = Math.ceil(kind.counted * FUNCTIONS_SHARE);
    const sampled = async (how: 'functionsOf' | 'survivorsOf') => eachOf(await gateway[how](repeat(times)), times);
    const functions = options.write || faults.length > 0 ? await sampled('functionsOf') : undefined;
    const isKept = options.survivors || (figures.promoted > MAX_PROMOTED && faults.length > 0);
    const survivors = isKept ? await sampled('survivorsOf') : undefined;
    return { ...figures, functions, survivors };
  } finally {
    opened.close?.();
  }
}

/** Whether more is promoted than may be. Once, it can be what the process keeps: caches that grow, and code that was compiled late. */
const promotesMore = ({ promoted }: Figures, before: StoredFigures | undefined) =>
  promoted > Math.max(MAX_PROMOTED, before?.promoted ?? 0);

/** Whether there are more statements or rows than are stored, or nothing is stored. */
function isMore({ statements, rows }: Figures, before: StoredFigures | undefined): boolean {
  return !before || statements > before.statements || rows > before.rows;
}

interface Repeating {
  readonly repeat: (times: number) => () => Promise<void>;
  readonly times: number;
  /** Otherwise the rows that the other gateway reads would count, too. */
  readonly isAlone: boolean;
  /** The statements of jobs would count, too. */
  readonly hasJobs: boolean | undefined;
}

async function readingsOf(
  gateway: CountedGateway,
  { databaseUrl }: Bench,
  { repeat, times, isAlone, hasJobs }: Repeating,
): Promise<Pick<Figures, 'statements' | 'rows'>> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  try {
    const rowsRead = async () => {
      const { rows } = await client.query<{ count: string }>(
        'select sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) as count from pg_stat_user_tables',
      );
      return Number(rows[0]?.count);
    };
    await gateway.statementsOf(async () => undefined);
    const before = await rowsRead();
    const texts = await gateway.statementsOf(repeat(times));
    // Notifications of several requests are sent together, after a while.
    const statements = texts.filter((text) => !text.includes('pg_notify'));
    return {
      statements: hasJobs ? 0 : statements.length / times,
      rows: isAlone ? ((await rowsRead()) - before) / times : 0,
    };
  } finally {
    await client.end();
  }
}

function eachOf(functions: Allocations, times: number): Allocations {
  return Object.fromEntries(Object.entries(functions).map(([name, bytes]) => [name, bytes / times]));
}

async function readStored<Value>(file: string): Promise<Record<string, Value>> {
  return JSON.parse(await readFile(file, 'utf8').catch(() => '{}')) as Record<string, Value>;
}

const stored = await readStored<StoredFigures>(FIGURES);
const storedFunctions = await readStored<Allocations>(FUNCTIONS);

async function write(found: ReadonlyMap<string, Counted>): Promise<void> {
  const [figures, functions] = [{ ...stored }, { ...storedFunctions }];
  for (const [name, counted] of found) {
    const { allocated, promoted, statements, rows } = counted;
    const { promotedBecause } = stored[name] ?? {};
    figures[name] = {
      allocated: Math.round(allocated),
      promoted: Math.round(promoted),
      statements: round(statements),
      rows: round(rows),
      ...(promotedBecause !== undefined && { promotedBecause }),
    };
    functions[name] = largest(counted.functions ?? {});
  }
  const names = KINDS.map(({ name }) => name).filter((name) => name in figures);
  const inOrder = (values: Record<string, object>) =>
    `${JSON.stringify(Object.fromEntries(names.map((name) => [name, values[name]])), undefined, 2)}\n`;
  await writeFile(FIGURES, inOrder(figures));
  await writeFile(FUNCTIONS, inOrder(functions));
}

const round = (value: number) => Math.round(value * 10) / 10;

/** @returns whether it is as stored */
function report(found: ReadonlyMap<string, Counted>): boolean {
  const cell = (value: number, was: number | undefined) => `${shown(was ?? 0)} → ${shown(value)}`;
  const rows = [...found].map(([name, { allocated, promoted, statements, rows: readRows }]) => {
    const was = stored[name];
    return [
      name,
      cell(allocated, was?.allocated),
      cell(promoted, was?.promoted),
      cell(statements, was?.statements),
      cell(readRows, was?.rows),
    ];
  });
  const head = ['for each request, stored → found', 'bytes allocated', 'bytes promoted', 'statements', 'rows read'];
  console.log(`\n${table(head, rows)}`);
  let isAsStored = true;
  for (const [name, counted] of found) {
    const faults = faultsOf(
      counted,
      stored[name],
      KINDS.find((kind) => kind.name === name),
    );
    if (faults.length === 0) continue;
    isAsStored = false;
    console.log(`\n${name}: ${faults.join('; ')}`);
    const grown = grownFunctions(counted.functions ?? {}, storedFunctions[name] ?? {});
    console.log(['  bytes of the functions that allocate more:', ...grown].join('\n'));
    if (counted.survivors)
      console.log(['  what minor collections leave:', ...grownFunctions(counted.survivors, {})].join('\n'));
  }
  return isAsStored;
}

async function main(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'gateway-counts-'));
  let found: ReadonlyMap<string, Counted>;
  try {
    const bench = await setUp(directory, EVENTS, () => undefined, SETTINGS);
    try {
      const other = await startOther(bench, GATEWAY, directory);
      try {
        found = await countAll(bench, other);
      } finally {
        await other.stop();
      }
    } finally {
      await bench.stop();
    }
  } finally {
    await rm(directory, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
  }
  const isAsStored = report(found);
  if (options.write) await write(found);
  else if (!isAsStored) process.exitCode = 1;
}

if (options.help) process.stdout.write(USAGE);
else {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      isInterrupted = true;
      interrupt();
    });
  await main();
}
