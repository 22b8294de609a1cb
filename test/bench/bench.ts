import { writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { appendWork, measureAppend } from './append.ts';
import { requireEqualAnswers } from './compare.ts';
import { MCP_CALL, measureAlone, mcpWork } from './mcp-call.ts';
import { type Pace, WARM_UP_SECONDS, measureDepth, measureMemory, measureWork } from './measure.ts';
import { type Pair, measureFeed, measureIndexing, measureLines, measureSubscriptions } from './pairs.ts';
import type { Target } from './process.ts';
import { profileWork } from './profile.ts';
import { type Report, format } from './report.ts';
import { type Bench, runBench } from './setup.ts';
import { type Work, works } from './work.ts';

const USAGE = `[OLD=FOLDER] node test/bench/bench.ts [options]
  OLD           an older checkout with its packages: its gateway is measured in the same rounds
  --events N      events of the long session (1,000,000; 100,000 with --quick)
  --quick         5 rounds instead of 15, and a warm-up of 3 s instead of 20
  --smoke         compares the answers of every work over 2,000 events, and measures a few for a second: whether the benchmark works
  --rounds N, --seconds N
  --only TEXT     only works whose name contains it, or "depth", "append", "memory",
                  "lines", "index", "feed", "subscriptions"
  --json FILE     writes the numbers there, too
  --data DIR      keeps the seeded database there, and takes it up again
  --profile TEXT  instead: the gateway's CPU profile of the one work whose name contains it
`;

const { values: options } = parseArgs({
  options: {
    events: { type: 'string' },
    quick: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    only: { type: 'string', default: '' },
    json: { type: 'string' },
    data: { type: 'string' },
    profile: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

const events = Number(options.events ?? (options.smoke ? 2_000 : options.quick ? 100_000 : 1_000_000));
const pace: Pace = {
  rounds: Number(options.rounds ?? (options.smoke ? 1 : options.quick ? 5 : 15)),
  // Short rounds, so that both sides run on an equally busy machine.
  seconds: Number(options.seconds ?? 1),
  warmUpSeconds: options.smoke ? 1 : options.quick ? 3 : WARM_UP_SECONDS,
  connections: 16,
};
const say = (line: string) => process.stderr.write(`${line}\n`);
const isWanted = (name: string) => name.toLowerCase().includes(options.only.toLowerCase());

async function run(bench: Bench, report: Report): Promise<void> {
  const table = works(events);
  await bench.withTargets(async (targets) => {
    await bench.withOld(async (old) => {
      for (const work of table.filter(({ name }) => isWanted(name))) {
        report.works.push(await measureWork(work, [...targets, old], bench.key, pace));
        say(format({ ...NOTHING, works: report.works.slice(-1) }));
      }
    });
    if (isWanted(MCP_CALL)) {
      const work = await mcpWork(bench, targets[1]);
      report.works.push(await measureWork(work, targets, bench.key, pace));
      report.alone.push(await measureAlone(bench, targets, work, options.quick ? 300 : 1000));
    }
    if (isWanted('depth'))
      report.depths.push(...(await measureDepth(targets, bench.key, events, options.quick ? 50 : 300)));
    if (isWanted('append'))
      for (const clients of [1, 4]) report.appends.push(await measureAppend(bench, targets[1], clients, pace));
    report.pairs.push(...(await measurePairs(bench, targets[1])));
  });
  if (isWanted('memory')) report.memory.push(...(await measureMemory(bench, table, pace)));
  if (isWanted('subscriptions')) report.subscriptions.push(...(await measureSubscriptions(bench)));
}

async function measurePairs(bench: Bench, gateway: Target): Promise<Pair[]> {
  const pairs: Pair[] = [];
  if (isWanted('lines')) pairs.push(await measureLines(bench, gateway, pace));
  if (isWanted('index')) for (const clients of [1, 4]) pairs.push(await measureIndexing(bench, gateway, clients, pace));
  if (isWanted('feed')) pairs.push(await measureFeed(bench, gateway, pace));
  return pairs;
}

/** One workload of each API is measured, which takes seconds; the answers of all are compared. */
const SMOKE = ['{ __typename }', 'REST 100 events'];

async function smoke(bench: Bench, report: Report): Promise<void> {
  await bench.withTargets(async (targets) => {
    for (const work of works(events)) {
      if (SMOKE.includes(work.name)) report.works.push(await measureWork(work, targets, bench.key, pace));
      else await requireEqualAnswers(work, ...targets, bench.key);
      say(`${work.name}: equal answers`);
    }
    await requireEqualAnswers(await mcpWork(bench, targets[1]), ...targets, bench.key);
    say(`${MCP_CALL}: equal answers`);
    report.appends.push(await measureAppend(bench, targets[1], 1, pace));
    report.pairs.push(await measureLines(bench, targets[1], pace), await measureFeed(bench, targets[1], pace));
  });
  const driven = report.works.map(({ name }) => name);
  if (!isDeepStrictEqual(driven, SMOKE))
    throw new Error(`only ${driven.join(', ')} of ${SMOKE.join(', ')} was measured`);
}

const NOTHING: Report = { works: [], depths: [], appends: [], pairs: [], alone: [], memory: [], subscriptions: [] };

/** Its connections are created by a gateway that is not profiled. */
async function profiledMcpWork(bench: Bench): Promise<Work> {
  const gateway = await bench.startGateway();
  try {
    return await mcpWork(bench, gateway);
  } finally {
    await gateway.stop();
  }
}

async function measure(bench: Bench, directory: string): Promise<void> {
  if (options.profile !== undefined)
    return void process.stdout.write(
      await profileWork(
        bench,
        [...works(events), appendWork(), await profiledMcpWork(bench)],
        options.profile,
        directory,
      ),
    );
  const report: Report = {
    works: [],
    depths: [],
    appends: [],
    pairs: [],
    alone: [],
    memory: [],
    subscriptions: [],
  };
  await (options.smoke ? smoke : run)(bench, report);
  process.stdout.write(`\n${format(report)}\n`);
  if (options.json) await writeFile(options.json, `${JSON.stringify({ events, pace, ...report }, undefined, 2)}\n`);
}

if (options.help) process.stdout.write(USAGE);
else {
  const [load = 0] = loadavg();
  if (load > 1)
    say(`the machine is busy already (load ${load.toFixed(1)}): trust the ratio of CPU more than that of requests`);
  await runBench({ events, data: options.data, say }, measure);
}
