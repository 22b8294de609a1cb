import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterEach, expect, test, vi } from 'vitest';
import { PROCESS_NAME } from '../../src/core/version.ts';
import { query } from '../support/processes/embedded-postgres.ts';
import {
  type GatewayProcess,
  emptyDatabase,
  endProcesses,
  run,
  start,
  startGateway,
  temporaryDirectory,
} from '../support/processes/process.ts';
import { GATEWAY, checkout } from '../support/processes/programs.ts';

/**
 * `npm run test:upgrade`: gateways of earlier versions, with the packages of their lock files, serve while their database is migrated, beside
 * an open reader, a live tail and writers. It needs the history of Git and the registry of npm, so `.ci/run` does not run it.
 */

afterEach(endProcesses);

/** The commits of 0.1.0 and of 1.0.0. */
const VERSIONS = { '0.1.0': '25f9ef5d', '1.0.0': 'ce7bfb15' };

async function install(commit: string): Promise<string> {
  const root = await temporaryDirectory();
  const archive = join(root, 'archive.tar');
  execFileSync('git', ['archive', '--output', archive, commit], { cwd: checkout });
  execFileSync('tar', ['-xf', archive, '-C', root]);
  const options = ['--ignore-scripts', '--omit=dev', '--omit=optional', '--no-audit', '--no-fund'];
  execFileSync('npm', ['ci', ...options], { cwd: root, stdio: 'ignore' });
  return root;
}

interface Acknowledged {
  readonly sessionId: string;
  readonly text: string;
}

/** Creates sessions and appends events, again and again; what fails is a fault. */
class Writers {
  readonly acknowledged: Acknowledged[] = [];
  readonly faults: string[] = [];
  readonly #running: Promise<void>[] = [];
  #isStopped = false;

  constructor(gateway: GatewayProcess, key: string, tailed: string) {
    for (let writer = 0; writer < 3; writer += 1) this.#running.push(this.#write(gateway, key, tailed));
  }

  async #write({ url }: GatewayProcess, key: string, tailed: string): Promise<void> {
    for (let count = 0; !this.#isStopped; count += 1) {
      const sessionId =
        count % 4 === 0
          ? await this.#post<{ id: string }>(url, key, '/v1/sessions', { title: 'During the upgrade' })
          : undefined;
      const to = sessionId?.id ?? tailed;
      const text = randomBytes(8).toString('hex');
      const events = [{ eventType: 'text', provider: 'anthropic', eventData: { type: 'text', text } }];
      const appended = await this.#post(url, key, `/v1/sessions/${to}/events`, { batchId: text, events });
      if (appended) this.acknowledged.push({ sessionId: to, text });
      await this.#post(url, key, `/v1/sessions?limit=5`);
    }
  }

  async #post<Body>(url: string, key: string, path: string, body?: object): Promise<Body | undefined> {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const response = await fetch(url + path, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) });
    const answer = await response.text();
    if (response.ok) return JSON.parse(answer) as Body;
    this.faults.push(`${response.status} ${path} ${answer}`);
    return undefined;
  }

  async next(count: number): Promise<void> {
    const wanted = this.acknowledged.length + count;
    while (this.acknowledged.length < wanted && this.faults.length === 0) await delay(20);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#running);
  }
}

/** What a live tail has received. It is never opened again. */
async function follow({ url }: GatewayProcess, key: string, sessionId: string) {
  const ending = new AbortController();
  const response = await fetch(`${url}/v1/sessions/${sessionId}/events`, {
    headers: { Authorization: `Bearer ${key}`, Accept: 'text/event-stream' },
    signal: ending.signal,
  });
  const tail = { received: '', end: () => ending.abort() };
  const read = async () => {
    for await (const chunk of response.body ?? []) tail.received += Buffer.from(chunk).toString();
  };
  read().catch(() => undefined);
  return tail;
}

async function textsOf({ url }: GatewayProcess, key: string, sessionId: string): Promise<string[]> {
  const texts: string[] = [];
  for (let cursor = '0'; ;) {
    const path = `/v1/sessions/${sessionId}/events?limit=500&cursor=${cursor}`;
    const response = await fetch(url + path, { headers: { Authorization: `Bearer ${key}` } });
    const { items, nextCursor } = (await response.json()) as {
      items: { eventData: { text: string } }[];
      nextCursor: string;
    };
    if (items.length === 0) return texts;
    texts.push(...items.map(({ eventData }) => eventData.text));
    cursor = nextCursor;
  }
}

const ALL_TABLES = `select string_agg(format('%I.%I', n.nspname, c.relname), ', ') as tables from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition`;
const OF_MIGRATOR = `select pid from pg_stat_activity where datname = current_database() and application_name = '${PROCESS_NAME}'`;

test.for(Object.entries(VERSIONS))(
  'from %s: no request fails and nothing is lost, beside an open reader, a tail, writers, and a migrator that is killed',
  async ([, commit]) => {
    const env = { ...(await emptyDatabase()), RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'warn' };
    const root = await install(commit);
    const earlier = await startGateway(env, root);
    const keys = ['keys', 'create', '--email', 'ann@example.com', '--organization', 'acme'];
    const created = await run([process.execPath, join(root, 'src/cli.ts'), ...keys], env);
    const { key } = JSON.parse(created.stdout) as { key: string };
    const post = await fetch(`${earlier.url}/v1/sessions`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ title: 'Followed' }),
    });
    const { id: tailed } = (await post.json()) as { id: string };
    const tail = await follow(earlier, key, tailed);
    const before = new Writers(earlier, key, tailed);
    const reader = new pg.Client({ connectionString: env.DATABASE_URL });
    await reader.connect();
    const [{ tables } = { tables: '' }] = (await query(env.DATABASE_URL, ALL_TABLES)) as { tables: string }[];
    await reader.query(`begin; lock table ${tables} in access share mode`);

    const killed = start([GATEWAY, 'cli', 'migrate'], env);
    await vi.waitFor(() => expect(killed.output.stderr).toContain('waits for a lock'), { timeout: 120_000 });
    killed.child.kill('SIGKILL');
    await killed.exited;
    await vi.waitFor(async () => expect(await query(env.DATABASE_URL, OF_MIGRATOR)).toEqual([]), { timeout: 60_000 });
    const migrator = start([GATEWAY, 'cli', 'migrate'], env);
    await vi.waitFor(() => expect(migrator.output.stderr).toContain('waits for a lock'), { timeout: 120_000 });
    await before.next(60);
    await reader.query('rollback');
    await reader.end();
    expect([await migrator.exited, migrator.output.stdout]).toEqual([0, '{"migrated":true}\n']);

    const present = await startGateway(env);
    const after = new Writers(present, key, tailed);
    await Promise.all([before.next(60), after.next(60)]);
    await Promise.all([before.stop(), after.stop()]);
    expect([...before.faults, ...after.faults]).toEqual([]);
    const acknowledged = [...before.acknowledged, ...after.acknowledged];
    for (const sessionId of new Set(acknowledged.map((each) => each.sessionId))) {
      const sent = acknowledged.filter((each) => each.sessionId === sessionId).map(({ text }) => text);
      expect((await textsOf(present, key, sessionId)).toSorted()).toEqual(sent.toSorted());
    }
    const followed = acknowledged.filter(({ sessionId }) => sessionId === tailed);
    await vi.waitFor(() => expect(followed.filter(({ text }) => tail.received.split(text).length !== 2)).toEqual([]), {
      timeout: 60_000,
    });
    tail.end();
  },
);
