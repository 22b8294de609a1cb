import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';
import { type Config, ConfigurationError, readConfig } from './core/config.ts';
import { VERSION } from './core/version.ts';
import { assemble } from './gateway/assemble.ts';
import { startJobs } from './gateway/jobs.ts';
import { checkSecrets, prepareDatabase } from './gateway/prepare-database.ts';
import { createLog } from './gateway/telemetry/logging.ts';

/** A job gets this long after SIGTERM to reach its next safe point; it may be cut off anywhere. */
const GRACE_MS = 8_000;

/** Works off the job queues and answers no requests. Without `DATABASE_URL` on the database of a running gateway, or on a new one in `DATA_DIR`. */
async function main(config: Config): Promise<void> {
  const log = createLog(config.LOG_LEVEL);
  const assembly = await assemble(config, log, { joinRunning: true });
  try {
    await prepareDatabase(assembly.dependencies);
    await checkSecrets(assembly.dependencies);
    const worker = await startJobs(assembly.dependencies);
    let stopping: Promise<void> | undefined;
    const stop = async (code: number) => {
      await Promise.race([worker.stop().then(() => assembly.close()), delay(GRACE_MS)]);
      process.exit(code);
    };
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void (stopping ??= stop(0)));
    void assembly.embedded?.exited.then(() => (stopping ??= stop(1)));
    process.stdout.write(`Worker is ready. Version ${VERSION}\n`);
  } catch (error) {
    await assembly.close();
    throw error;
  }
}

try {
  await main(readConfig(process.env));
} catch (error) {
  process.stderr.write(`${error instanceof ConfigurationError ? error.message : inspect(error)}\n`);
  process.exit(1);
}
