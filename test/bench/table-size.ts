// Measures the effect of the size of the event table: `node test/bench/table-size.ts --events 10000000`. The figures are in docs/storage.md.
// The same work runs alternately on databases of several sizes of one server, so that other load affects all of them equally.
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/core/postgres/embedded/server.ts';
import { agentRun } from '../support/agent-run.ts';
import { databaseUrl } from '../support/global-setup.ts';
import { SUPERUSER_PASSWORD, superuserUrl } from '../support/processes/embedded-postgres.ts';
import { GATEWAY } from '../support/processes/programs.ts';
import { cli, issueKey } from '../support/processes/process.ts';
import { type Target, startTarget } from './process.ts';

const { values: options } = parseArgs({
  options: { events: { type: 'string', default: '10000000' }, samples: { type: 'string', default: '300' } },
});
const LARGEST = Number(options.events);
const SIZES = [LARGEST / 100, LARGEST / 10, LARGEST];
const SAMPLES = Number(options.samples);
/** Number of events of each session, except the long one, which has a tenth of all. */
const SHORT = 10_000;
const DAYS = 180;
const BATCH = 1_000;
const IMPORTED = 50_000;
const say = (line: string) => process.stdout.write(`${line}\n`);

interface Sized {
  readonly size: number;
  readonly url: string;
  readonly env: Record<string, string>;
  readonly gateway: Target;
  readonly key: string;
  readonly longSession: string;
  readonly database: pg.Pool;
}

const RUN = [...agentRun(3_000)];
const RUN_SAMPLE = JSON.stringify(
  RUN.map(({ eventType, provider, eventData }, n) => ({ n, eventType, provider, eventData })),
);

const SOURCE = JSON.stringify({ id: randomUUID(), name: 'shop', type: 'github', repositories: [] });

/** Sessions begin one after another over {@link DAYS} days; each has one event per second, like an agent. */
async function seed(database: pg.Pool, size: number): Promise<string> {
  const client = await database.connect();
  client.on('error', () => undefined);
  const { rows } = await client.query<{ organizationId: string; userId: string }>(
    'select organization_id as "organizationId", user_id as "userId" from api_key',
  );
  const { organizationId, userId } = rows[0] ?? { organizationId: '', userId: '' };
  await client.query(
    `create temporary table sample as select * from jsonb_to_recordset($1::jsonb) as r(n int, "eventType" text, provider text, "eventData" json)`,
    [RUN_SAMPLE],
  );
  await client.query('create unique index on sample (n)');
  const ids = Array.from({ length: 1 + (size * 0.9) / SHORT }, () => randomUUID());
  for (const [index, id] of ids.entries()) {
    const count = index === 0 ? size / 10 : SHORT;
    const began = `now() - interval '1 day' * ${(DAYS * (ids.length - index)) / ids.length}`;
    await client.query(
      `insert into session (id, organization_id, creator_id, title, kind, session_type, mode, visibility, level, state, is_pinned, mcp_servers, source, created_at, updated_at, last_seen_at)
       values ($1, $2, $3, 'Measured', 'agent', 'Chat', 'normal', 'public', 1, 'inProgress', false, '{}', '${SOURCE}', ${began}, ${began}, ${began})`,
      [id, organizationId, userId],
    );
    await client.query(
      'insert into session_stream (session_id, organization_id, last_id, is_closed) values ($1, $2, $3, false)',
      [id, organizationId, count],
    );
    await client.query(
      `insert into session_event (session_id, id, organization_id, created_at, event_type, provider, event_data)
       select $1, i, $2, ${began} + i * interval '1 second', s."eventType", s.provider, s."eventData"
       from generate_series(1, $3::int) i join sample s on s.n = i % ${RUN.length} order by i`,
      [id, organizationId, count],
    );
  }
  client.release();
  return ids[0] ?? '';
}

async function setUp(postgres: EmbeddedPostgres, size: number, directory: string): Promise<Sized> {
  const name = `events_${size}`;
  const url = databaseUrl(postgres.url, name);
  const admin = new pg.Client(superuserUrl(postgres.url));
  await admin.connect();
  await admin.query(`create database ${name} owner gateway`);
  await admin.end();
  const env = { DATABASE_URL: url, ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}` };
  const key = await issueKey(env);
  const database = new pg.Pool({ connectionString: url, max: 4 });
  database.on('error', () => undefined);
  const began = performance.now();
  const longSession = await seed(database, size);
  const seconds = (performance.now() - began) / 1000;
  say(`seeded ${size} events in ${seconds.toFixed(0)} s, ${Math.round(size / seconds)} a second`);
  say(`  ${JSON.stringify((await database.query(BYTES)).rows[0])}`);
  const gateway = await startTarget({
    name: 'gateway',
    command: [GATEWAY, 'start'],
    env: { ...env, PORT: '0', RATE_LIMIT_PER_MINUTE: '0' },
    directory,
  });
  return { size, url, env, gateway, key, longSession, database };
}

/** Bytes per event in the tables and in their primary keys, over all partitions. */
const BYTES = `select round(sum(pg_table_size(relid)) / (select count(*) from session_event), 1)::float8 as table,
    round(sum(pg_indexes_size(relid)) / (select count(*) from session_event), 1)::float8 as index
  from pg_stat_user_tables where relname ~ '^session_event_[0-9]+$'`;

const headersOf = ({ key }: Sized) => ({ Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' });

async function timed(sized: Sized, path: string, init: RequestInit = {}): Promise<number> {
  const began = performance.now();
  const response = await fetch(`${sized.gateway.url}${path}`, { headers: headersOf(sized), ...init });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return performance.now() - began;
}

const eventsPath = ({ longSession }: Sized) => `/v1/sessions/${longSession}/events`;
const page = (depth: number) => (sized: Sized) =>
  timed(sized, `${eventsPath(sized)}?limit=50&cursor=${Math.floor((sized.size / 10 - 100) * depth)}`);

function append(sized: Sized, count: number): Promise<number> {
  const events = RUN.slice(0, count).map(({ eventType, provider, eventData }) => ({ eventType, provider, eventData }));
  return timed(sized, eventsPath(sized), { method: 'POST', body: JSON.stringify({ batchId: randomUUID(), events }) });
}

/** The time from the start of an append until a live tail receives its event. */
async function arrival(sized: Sized, tail: AsyncIterator<Uint8Array>): Promise<number> {
  const began = performance.now();
  const appended = append(sized, 1);
  for (let text = ''; !text.includes('\ndata:');)
    text += Buffer.from((await tail.next()).value as Uint8Array).toString();
  const ms = performance.now() - began;
  await appended;
  return ms;
}

const WORKS: Readonly<Record<string, (sized: Sized) => Promise<number>>> = {
  'page of 50, at the beginning': page(0),
  'page of 50, half way': page(0.5),
  'page of 50, at the end': page(1),
  'append of 1 event': (sized) => append(sized, 1),
  [`append of ${BATCH} events`]: (sized) => append(sized, BATCH),
};

const at = (values: readonly number[], share: number) =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length * share)] ?? 0;
const summary = (values: readonly number[]) => `${at(values, 0.5).toFixed(2)} / ${at(values, 0.99).toFixed(1)}`;
const row = (name: string, cells: readonly string[]) => say(`| ${name} | ${cells.join(' | ')} |`);

async function measureWorks(all: readonly Sized[]): Promise<void> {
  row(
    'ms, median / 99 of 100',
    all.map(({ size }) => size.toLocaleString('en')),
  );
  for (const [name, work] of Object.entries(WORKS)) {
    const times = all.map((): number[] => []);
    // Batches make the smaller tables larger than their name.
    const samples = name.includes(`${BATCH}`) ? SAMPLES / 5 : SAMPLES;
    for (let sample = -20; sample < samples; sample += 1) {
      for (const [index, sized] of all.entries()) {
        const ms = await work(sized);
        if (sample >= 0) times[index]?.push(ms);
      }
    }
    row(name, times.map(summary));
  }
  const times = all.map((): number[] => []);
  for (const [index, sized] of all.entries()) {
    const { rows } = await sized.database.query<{ id: string }>(
      'select last_id as id from session_stream where session_id = $1',
      [sized.longSession],
    );
    const response = await fetch(`${sized.gateway.url}${eventsPath(sized)}?cursor=${rows[0]?.id}`, {
      headers: { ...headersOf(sized), Accept: 'text/event-stream' },
    });
    const tail = (response.body ?? new ReadableStream<Uint8Array>())[Symbol.asyncIterator]();
    for (let sample = 0; sample < SAMPLES / 3; sample += 1) times[index]?.push(await arrival(sized, tail));
    await tail.return?.();
  }
  row('event on a live tail, from its append', times.map(summary));
}

/** Counts blocks of 8 KiB that PostgreSQL reads for a page at the end, which does not depend on the load of the machine. */
async function countBlocks(all: readonly Sized[]): Promise<void> {
  const counts: string[] = [];
  for (const { database, longSession, size } of all) {
    const { rows } = await database.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
      `explain (analyze, buffers, format json) select * from session_event where session_id = '${longSession}' and id > ${size / 10 - 100} order by id limit 50`,
    );
    const plan = rows[0]?.['QUERY PLAN'][0].Plan ?? {};
    counts.push(String((plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0)));
  }
  row('blocks read for a page at the end', counts);
}

async function measureImport(all: readonly Sized[], directory: string): Promise<void> {
  const file = join(directory, 'run.ndjson');
  await writeFile(file, [...agentRun(IMPORTED)].map((event) => JSON.stringify(event)).join('\n'));
  const rates: string[] = [];
  for (const sized of all) {
    const began = performance.now();
    const { code, stderr } = await cli(['events', 'import', '--session', sized.longSession, file], sized.env);
    if (code !== 0) throw new Error(stderr);
    rates.push(Math.round(IMPORTED / ((performance.now() - began) / 1000)).toLocaleString('en'));
  }
  row('import, events a second', rates);
}

/** Deletes half of all events while pages are read and events are appended, with autovacuum. */
async function measurePruning(sized: Sized): Promise<void> {
  const { database } = sized;
  const count = async () =>
    Number((await database.query<{ n: string }>('select count(*) as n from session_event')).rows[0]?.n);
  const vacuums = async () => (await database.query<object>(VACUUMS)).rows[0];
  const before = await count();
  say(`before: ${before} events, ${JSON.stringify(await vacuums())}`);
  let isDone = false;
  const pages: number[] = [];
  const appends: number[] = [];
  const working = (async () => {
    while (!isDone) {
      pages.push(await page(1)(sized));
      appends.push(await append(sized, 1));
    }
  })();
  const began = performance.now();
  const { code, stderr } = await cli(['events', 'prune', '--older-than', '90d'], sized.env);
  const seconds = (performance.now() - began) / 1000;
  if (code !== 0) throw new Error(stderr);
  isDone = true;
  await working;
  const deleted = before - (await count());
  say(
    `prune --older-than 90d: about ${deleted} events in ${seconds.toFixed(0)} s, ${Math.round(deleted / seconds)} a second`,
  );
  say(`meanwhile: page ${summary(pages)} ms (${pages.length}), append of 1 ${summary(appends)} ms`);
  say(`after: ${JSON.stringify(await vacuums())}`);
  // Autovacuum runs once a minute.
  for (let minute = 1; minute <= 8; minute += 1) {
    await delay(60_000);
    say(`after ${minute} minutes: ${JSON.stringify(await vacuums())}`);
  }
  const later: number[] = [];
  for (let sample = 0; sample < SAMPLES; sample += 1) later.push(await page(1)(sized));
  say(`page of 50 at the end, after it: ${summary(later)} ms`);
  say(`room: ${JSON.stringify((await database.query(BYTES)).rows[0])} bytes an event`);
}

const VACUUMS = `select sum(autovacuum_count)::int as autovacuums, sum(n_dead_tup)::int as dead, sum(n_live_tup)::int as live,
  pg_size_pretty(sum(pg_total_relation_size(relid))) as size from pg_stat_user_tables where relname ~ '^session_event_[0-9]+$'`;

const directory = await mkdtemp(join(tmpdir(), 'gateway-table-size-'));
// Durable, as in production, with the default settings of autovacuum.
const settings = { shared_buffers: '512MB', max_wal_size: '4GB', max_connections: '100' };
const postgres = await startEmbeddedPostgres({
  dataDir: join(directory, 'data'),
  log: () => undefined,
  settings,
  superuserPassword: SUPERUSER_PASSWORD,
});
const all: Sized[] = [];
try {
  for (const size of SIZES) all.push(await setUp(postgres, size, directory));
  await measureWorks(all);
  await countBlocks(all);
  await measureImport(all, directory);
  const largest = all.at(-1);
  if (largest) await measurePruning(largest);
} catch (error) {
  say(String(error));
  process.exitCode = 1;
} finally {
  for (const { gateway, database } of all) {
    await gateway.stop();
    await database.end();
  }
  await postgres.stop();
  await rm(directory, { recursive: true, force: true });
}
