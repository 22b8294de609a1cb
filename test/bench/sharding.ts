// Measures a cluster of Citus beside one PostgreSQL: `node test/bench/sharding.ts --plain URL --citus URL`. The figures are in docs/storage.md.
// Both databases are migrated and empty, and deploy/citus.sql has run on the second. The same work runs on them alternately.
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { agentRun } from '../support/agent-run.ts';
import { issueKey } from '../support/processes/process.ts';
import { GATEWAY } from '../support/processes/programs.ts';
import { type Target, startTarget } from './process.ts';

const { values: options } = parseArgs({
  options: {
    plain: { type: 'string', default: '' },
    citus: { type: 'string', default: '' },
    samples: { type: 'string', default: '200' },
    batches: { type: 'string', default: '20' },
  },
});
const SAMPLES = Number(options.samples);
const ORGANIZATIONS = 8;
const BATCH = 1_000;
const say = (line: string) => process.stdout.write(`${line}\n`);
const RUN = [...agentRun(3_000)].map(({ eventType, provider, eventData }) => ({ eventType, provider, eventData }));

interface Organization {
  readonly key: string;
  readonly session: string;
}

interface Side {
  readonly name: string;
  readonly url: string;
  readonly gateway: Target;
  readonly organizations: readonly Organization[];
}

async function request(gateway: Target, key: string, path: string, body?: object): Promise<string> {
  const response = await fetch(`${gateway.url}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return text;
}

async function setUp(name: string, url: string, directory: string): Promise<Side> {
  const env = { DATABASE_URL: url, ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}` };
  const keys: string[] = [];
  for (let index = 0; index < ORGANIZATIONS; index += 1)
    keys.push(await issueKey(env, { email: `ann${index}@example.com`, organization: `acme-${index}` }));
  const gateway = await startTarget({
    name: 'gateway',
    command: [GATEWAY, 'start'],
    env: { ...env, PORT: '0', RATE_LIMIT_PER_MINUTE: '0' },
    directory,
  });
  const organizations: Organization[] = [];
  for (const key of keys) {
    const session = JSON.parse(await request(gateway, key, '/v1/sessions', { title: 'Measured' })) as { id: string };
    organizations.push({ key, session: session.id });
    for (let batch = 0; batch < Number(options.batches); batch += 1)
      await append(gateway, { key, session: session.id }, BATCH);
  }
  return { name, url, gateway, organizations };
}

const eventsPath = ({ session }: Organization) => `/v1/sessions/${session}/events`;

function append(gateway: Target, organization: Organization, count: number): Promise<string> {
  const from = Math.floor(Math.random() * (RUN.length - count));
  const events = RUN.slice(from, from + count);
  return request(gateway, organization.key, eventsPath(organization), { batchId: randomUUID(), events });
}

type Work = (side: Side, organization: Organization) => Promise<unknown>;
const LAST = BATCH * Number(options.batches);
const WORKS: Readonly<Record<string, Work>> = {
  'append of 1 event': ({ gateway }, organization) => append(gateway, organization, 1),
  [`append of ${BATCH} events`]: ({ gateway }, organization) => append(gateway, organization, BATCH),
  'page of 50': ({ gateway }, organization) =>
    request(
      gateway,
      organization.key,
      `${eventsPath(organization)}?limit=50&cursor=${Math.floor(Math.random() * LAST)}`,
    ),
  'list of sessions': ({ gateway }, { key }) => request(gateway, key, '/v1/sessions'),
  search: ({ gateway }, { key }) => request(gateway, key, '/v1/session-search?text=test'),
};

const at = (values: readonly number[], share: number) =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length * share)] ?? 0;
const summary = (values: readonly number[]) => `${at(values, 0.5).toFixed(1)} / ${at(values, 0.99).toFixed(0)}`;
const row = (name: string, cells: readonly (string | number)[]) => say(`| ${name} | ${cells.join(' | ')} |`);

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** One request at a time, of each organization in turn. */
async function measureAlone(sides: readonly Side[]): Promise<void> {
  for (const [name, work] of Object.entries(WORKS)) {
    const times = sides.map((): number[] => []);
    const samples = name.includes(`${BATCH}`) ? SAMPLES / 4 : SAMPLES;
    for (let sample = -ORGANIZATIONS; sample < samples; sample += 1)
      for (const [index, side] of sides.entries()) {
        const organization = side.organizations[(sample + ORGANIZATIONS) % ORGANIZATIONS];
        if (!organization) continue;
        const ms = await timed(() => work(side, organization));
        if (sample >= 0) times[index]?.push(ms);
      }
    row(`${name}, ms`, times.map(summary));
  }
}

/** All organizations at once, in rounds that alternate: requests per second. */
async function measureTogether(sides: readonly Side[]): Promise<void> {
  for (const name of ['append of 1 event', 'page of 50']) {
    const rates = sides.map((): number[] => []);
    for (let round = -1; round < 5; round += 1)
      for (const [index, side] of sides.entries()) {
        const end = performance.now() + 3_000;
        let count = 0;
        const loop = async (organization: Organization) => {
          for (; performance.now() < end; count += 1) await WORKS[name]?.(side, organization);
        };
        await Promise.all(side.organizations.flatMap((organization) => [loop(organization), loop(organization)]));
        if (round >= 0) rates[index]?.push(count / 3);
      }
    row(
      `${name}, ${ORGANIZATIONS} organizations at once, per second`,
      rates.map((values) => Math.round(at(values, 0.5))),
    );
  }
}

/** The time from the start of an append until a live tail receives its event. */
async function measureTail(sides: readonly Side[]): Promise<void> {
  const times = sides.map((): number[] => []);
  for (const [index, side] of sides.entries()) {
    const [organization] = side.organizations;
    if (!organization) continue;
    const database = new pg.Client(side.url);
    await database.connect();
    const { rows } = await database.query<{ id: string }>(
      'select s.last_id as id from session_stream s join session p on p.id = s.session_id and p.organization_id = s.organization_id where p.id = $1',
      [organization.session],
    );
    await database.end();
    const response = await fetch(`${side.gateway.url}${eventsPath(organization)}?cursor=${rows[0]?.id}`, {
      headers: { Authorization: `Bearer ${organization.key}`, Accept: 'text/event-stream' },
    });
    const tail = (response.body ?? new ReadableStream<Uint8Array>())[Symbol.asyncIterator]();
    for (let sample = 0; sample < SAMPLES / 2; sample += 1) {
      const arrived = timed(async () => {
        const appended = append(side.gateway, organization, 1);
        for (let text = ''; !text.includes('\ndata:');)
          text += Buffer.from((await tail.next()).value as Uint8Array).toString();
        await appended;
      });
      times[index]?.push(await arrived);
    }
    await tail.return?.();
  }
  row('event on a live tail, from its append, ms', times.map(summary));
}

const directory = await mkdtemp(join(tmpdir(), 'gateway-sharding-'));
const sides: Side[] = [];
try {
  for (const name of ['plain', 'citus'] as const) sides.push(await setUp(name, options[name], directory));
  row(
    'median / 99th percentile',
    sides.map(({ name }) => name),
  );
  await measureAlone(sides);
  await measureTail(sides);
  await measureTogether(sides);
} catch (error) {
  say(error instanceof Error ? String(error.stack) : String(error));
  process.exitCode = 1;
} finally {
  for (const { gateway } of sides) await gateway.stop();
  await rm(directory, { recursive: true, force: true });
}
