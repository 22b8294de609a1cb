import { setTimeout as delay } from 'node:timers/promises';
import { startJobs } from '../../../src/gateway/background-jobs.ts';
import type { TestGateway } from '../fixtures/gateway.ts';
import { GATEWAY } from './programs.ts';
import { start } from './process.ts';

/** A failed job is due once more: a worker runs it again, too, for example after the machine has stood still for longer than a heartbeat. */
const DUE = `select count(*)::int as count from pgboss.job
  where state = 'active' or state in ('created', 'retry') and start_after <= now() or state = 'retry' and retry_count = 0`;

/** Runs all due jobs, like a gateway or a worker, and stops when none is left. */
export async function runJobs(gateway: TestGateway): Promise<void> {
  const worker = await startJobs(gateway.dependencies);
  try {
    while ((await dueJobs(gateway)) > 0) await delay(20);
  } finally {
    await worker.stop();
  }
}

export async function dueJobs({ dependencies }: TestGateway): Promise<number> {
  const [row] = await dependencies.sql.query<{ count: number }>(DUE, []);
  return row?.count ?? 0;
}

/** Moves the last heartbeat of active jobs an hour back, as if their worker had died, so that another worker runs them. */
export async function expireHeartbeats({ dependencies }: TestGateway): Promise<void> {
  const hourAgo = `now() - interval '1 hour'`;
  await dependencies.sql.query(`update pgboss.job set heartbeat_on = ${hourAgo} where state = 'active'`, []);
  await dependencies.sql.query(`update pgboss.queue set monitor_on = ${hourAgo}, monitor_claim_on = ${hourAgo}`, []);
}

/** Ends the delay before the next attempt of failed jobs. */
export async function skipRetryDelay({ dependencies }: TestGateway): Promise<void> {
  await dependencies.sql.query(
    `update pgboss.job set start_after = now() where state = 'retry' and start_after > now()`,
    [],
  );
}

export interface WorkerProcess {
  /** The output so far. */
  readonly output: { readonly stdout: string };
  /** Resolves with the exit status; null after a signal. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** Starts `npm run worker` on the gateway's database and waits until it is ready. */
export function startWorkerProcess({ databaseUrl, encryptionKeys }: TestGateway): Promise<WorkerProcess> {
  return startWorker({ DATABASE_URL: databaseUrl, ENCRYPTION_KEYS: encryptionKeys, LOG_LEVEL: 'error' });
}

/** Starts `npm run worker` with these variables and waits until it is ready. */
export async function startWorker(env: Record<string, string>): Promise<WorkerProcess> {
  const command = [GATEWAY, 'worker'];
  const { child, output, exited } = start(command, env);
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', () => {
      if (output.stdout.includes('Worker is ready.')) resolve();
    });
    void exited.then((code) => reject(new Error(`the worker ended with ${code}: ${output.stdout}${output.stderr}`)));
  });
  return {
    output,
    async end(signal) {
      child.kill(signal);
      return exited;
    },
  };
}
