import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { PgBoss } from 'pg-boss';
import pgBoss from 'pg-boss/package.json' with { type: 'json' };
import { PASSIVE, QUEUES, optionsOf } from './jobs.ts';
import { type Repetition, LOCK_TIMEOUT_MS, repeatWhenLocked } from './postgres/migration-locks.ts';

const STATE = `select (select version from pgboss.version) as version, array(select name from pgboss.queue) as queues,
  (select count(*)::int from pgboss.bam where status <> 'completed') as unfinished`;

interface State {
  readonly version: number;
  readonly queues: readonly string[];
  /** Indexes that a migration of pg-boss leaves to be built later, beside readers and writers. */
  readonly unfinished: number;
}

/** Whether pg-boss's schema, its queues or its indexes are not those of this version. */
export async function areJobsPending(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ exists: boolean }>(`select to_regclass('pgboss.bam') is not null as exists`);
  if (!rows[0]?.exists) return true;
  const state = await stateOf(pool);
  return (
    state.version < pgBoss.pgboss.schema ||
    state.unfinished > 0 ||
    QUEUES.some((queue) => !state.queues.includes(queue))
  );
}

async function stateOf(pool: Pool): Promise<State> {
  const { rows } = await pool.query<State>(STATE);
  return rows[0] ?? { version: 0, queues: [], unfinished: 0 };
}

/** pg-boss would let requests wait for 30 s behind its own wait for a lock. */
export const OWN_LOCK_TIMEOUT = /set local lock_timeout = \d+/gi;
const POLL_MS = 200;

/** Creates or migrates pg-boss's schema and the queues, and waits until its indexes are built. The caller sees to it that no other process does. */
export const migrateJobs = (pool: Pool, repetition: Repetition): Promise<void> =>
  repeatWhenLocked(pool, 'the schema of the jobs', () => install(pool), repetition);

async function install(pool: Pool): Promise<void> {
  const executeSql = (text: string, values?: unknown[]) =>
    pool.query(text.replaceAll(OWN_LOCK_TIMEOUT, `set local lock_timeout = ${LOCK_TIMEOUT_MS}`), values);
  const boss = new PgBoss({ ...PASSIVE, bamIntervalSeconds: 10, db: { executeSql } });
  const failures: unknown[] = [];
  boss.on('error', (error) => failures.push(error));
  await boss.start();
  try {
    const existing = new Set((await boss.getQueues([...QUEUES])).map(({ name }) => name));
    for (const queue of QUEUES) if (!existing.has(queue)) await boss.createQueue(queue, optionsOf(queue));
    while (failures.length === 0 && (await stateOf(pool)).unfinished > 0) await delay(POLL_MS);
  } finally {
    await boss.stop({ graceful: false });
  }
}
