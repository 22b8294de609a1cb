import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { VERSION } from '../../src/core/version.ts';
import { requireEqualAnswers } from './compare.ts';
import { median } from './drive.ts';
import { type Pace, measureSides, medians } from './measure.ts';
import { type Target, startTarget } from './process.ts';
import { type Calls, measureCalls } from './public-mcp.ts';
import { type Searchable, measureSearchable } from './public-lines.ts';
import { round } from './report.ts';
import { type Bench, runBench } from './setup.ts';
import { works } from './work.ts';

/** `npm run bench:public`: one page that compares the gateway with what others know, in Markdown. */

const USAGE = `npm run bench:public -- [options]
  --quick       few rounds: whether it works
  --out FILE    writes the page there, too
`;
const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    out: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const pace: Pace = options.quick
  ? { rounds: 1, seconds: 1, warmUpSeconds: 1, connections: 16 }
  : { rounds: 9, seconds: 1.5, warmUpSeconds: 5, connections: 16 };
const EVENTS = options.quick ? 2_000 : 100_000;
const PAGES = new Set([
  '{ __typename }',
  'GraphQL 100 events, eventDataJson',
  'GraphQL 50 sessions, nested, in part',
  'GraphQL 1 definition, 40 properties',
]);

type Row = readonly string[];
const table = (head: Row, rows: readonly Row[]) =>
  [head, head.map((_, index) => (index === 0 ? '---' : '--:')), ...rows]
    .map((row) => `| ${row.join(' | ')} |`)
    .join('\n');

async function measurePages(
  bench: Bench,
  [baseline, gateway]: readonly [Target, Target],
  yoga: Target,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const work of works(EVENTS).filter(({ name }) => PAGES.has(name))) {
    for (const target of [gateway, yoga]) await requireEqualAnswers(work, baseline, target, bench.key);
    const load = { requests: work.requests, keys: [bench.key], connections: pace.connections, seconds: pace.seconds };
    const found = await measureSides(
      [baseline, yoga, gateway].map((target) => ({ target, load })),
      pace,
    );
    const [floor, tuned, ours] = found.map(medians);
    if (!floor || !tuned || !ours) throw new Error('nothing was measured');
    const ratio = (to: number) =>
      round(median((found[2] ?? []).map(({ perSecond }, at) => perSecond / (found[to]?.[at]?.perSecond ?? NaN))));
    rows.push([
      work.name,
      ...[floor, tuned, ours].map(({ perSecond, p99Ms }) => `${round(perSecond, 0)} (${round(p99Ms, 1)})`),
      ratio(0),
      ratio(1),
      [floor, tuned, ours].map(({ cpuMsPerRequest }) => round(cpuMsPerRequest)).join(' · '),
    ]);
  }
  return rows;
}

function callRows(calls: readonly Calls[]): Row[] {
  return calls.map(({ name, clients, perSecond, p50Ms, p99Ms, cpuMsPerRequest }) => {
    const direct = calls.find((each) => each.name === 'direct' && each.clients === clients)?.perSecond ?? NaN;
    return [
      name,
      String(clients),
      round(perSecond, 0),
      round(perSecond / direct),
      round(p50Ms, 1),
      round(p99Ms, 1),
      round(cpuMsPerRequest),
    ];
  });
}

const searchableRow = ({ name, seconds, cpuSeconds, postgresCpuSeconds, bytesPerByte }: Searchable): Row => [
  name,
  round(seconds, 1),
  round(cpuSeconds, 1),
  round(postgresCpuSeconds, 1),
  round(bytesPerByte, 1),
];

async function machine(databaseUrl: string): Promise<string> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  const { rows } = await client.query<{ version: string }>(`select current_setting('server_version') as version`);
  await client.end();
  const processors = cpus();
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  return [
    `Version ${VERSION} (${commit}), ${new Date().toISOString().slice(0, 10)}.`,
    `${processors.length} × ${processors[0]?.model}, ${round(totalmem() / 2 ** 30, 0)} GiB, Linux ${release()}, Node.js ${process.version},`,
    `PostgreSQL ${rows[0]?.version} with durable settings. Clients, servers and PostgreSQL share the machine; its load was ${round(loadBefore, 1)} before.`,
  ].join('\n');
}
const [loadBefore = 0] = loadavg();

async function page(bench: Bench, directory: string): Promise<string> {
  const yoga = await startTarget({
    name: 'yoga',
    command: [process.execPath, join(import.meta.dirname, 'yoga.ts')],
    env: { DATABASE_URL: bench.databaseUrl, PUBLIC_URL: bench.gatewayEnv['PUBLIC_URL'] ?? '' },
    directory,
  });
  try {
    return await bench.withTargets(async (targets) => {
      const pages = await measurePages(bench, targets, yoga);
      const { calls, missing } = await measureCalls(bench, targets, directory, pace);
      const searchable = await measureSearchable(bench, targets[1], options.quick ? 1 : 3);
      return `# Benchmark beside others

${await machine(bench.databaseUrl)}
Made by \`npm run bench:public\`; [README.md](README.md) says how it is measured.

## Pages

Requests a second, 99th percentile in ms, ${pace.connections} connections. The baseline is a hand-written server without GraphQL. The tuned server is GraphQL Yoga with the schema of the gateway, the
statements of the baseline, cached documents and graphql-jit; it has no limits, rights, log or counters. All three look up the key in the database on each request, and give equal answers.

${table(['page', 'baseline', 'tuned Yoga', 'gateway', 'gateway ÷ baseline', '÷ Yoga', 'CPU ms a request'], pages)}

## Calls of MCP tools

Each call has other arguments; four keys of four people, two connections. The gateway checks the key and the rights, and writes two audit entries for each call; the others do neither.
mcp-proxy serves a process over stdio, without sessions; mcp-hub has only the older SSE transport for MCP, so its REST address of calls is used.
${missing.map((each) => `\nNot measured: ${each}`).join('')}
${table(['through', 'clients', 'calls a second', '÷ direct', 'median ms', '99th ms', 'CPU ms a call of that process'], callRows(calls))}

## 10,000 lines of an agent, until the last one is found

In ten requests of one client. COPY writes the same lines into one table with a \`tsvector\` and its index; the gateway reads them as messages, calls and results, redacts credentials, counts usage, and
serves them live.

${table(['with', 'seconds', 'CPU s of client or gateway', 'CPU s of PostgreSQL', 'bytes stored for a byte'], searchable.map(searchableRow))}
`;
    });
  } finally {
    await yoga.stop();
  }
}

async function measure(bench: Bench, directory: string): Promise<void> {
  const text = await page(bench, directory);
  process.stdout.write(text);
  if (options.out !== undefined) await writeFile(options.out, text);
}

if (options.help) process.stdout.write(USAGE);
else await runBench({ events: EVENTS, say: (line) => process.stderr.write(`${line}\n`) }, measure);
