import { flushCompileCache } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';
import { type Config, ConfigurationError, SETTINGS, readConfig } from './core/config.ts';
import { STOP_SIGNALS, endProcess } from './core/end-process.ts';
import { misspelledVariables } from './core/misspelled-variables.ts';
import { VERSION_AND_BUILD } from './core/version.ts';
import { assemble } from './gateway/assemble.ts';
import { listen } from './gateway/http/listen.ts';
import { startJobs } from './gateway/jobs.ts';
import { checkSecrets, databaseFault, databaseVariable, prepareDatabase } from './gateway/prepare-database.ts';
import { createLog } from './gateway/telemetry/logging.ts';
import { createWorkerPages } from './gateway/worker-pages.ts';

/** Time for a job to reach its next safe point after SIGTERM. Jobs may be aborted anywhere. */
const GRACE_MS = 8_000;

/**
 * Runs jobs and, with `WORKER_PORT`, answers health checks and metrics. Without `DATABASE_URL` it uses the database of
 * a running gateway, or a new one in `DATA_DIR`.
 */
async function main(config: Config): Promise<void> {
  const log = createLog(config.LOG_LEVEL);
  for (const line of misspelledVariables(process.env, SETTINGS)) log.warn(line);
  const assembly = await assemble(config, log, { joinRunning: true });
  try {
    await prepareDatabase(assembly.dependencies);
    await checkSecrets(assembly.dependencies);
    // Without this, Node.js would spend seconds on writing compiled code at its end, after the first start of a version.
    flushCompileCache();
    const { HOST: host, WORKER_PORT: port } = config;
    const pages =
      port === undefined
        ? undefined
        : await listen(createWorkerPages(assembly.dependencies), { host, port, variable: 'WORKER_PORT' });
    const worker = await startJobs(assembly.dependencies);
    let stopping: Promise<void> | undefined;
    const stop = async (code: number) => {
      const closed = Promise.all([worker.stop(), pages?.stop(0)]).then(() => assembly.close());
      // Errors here end with the process.
      await Promise.allSettled([Promise.race([closed, delay(GRACE_MS)])]);
      endProcess(code);
    };
    for (const signal of STOP_SIGNALS) process.on(signal, () => void (stopping ??= stop(0)));
    void assembly.embedded?.ended.then((how) => {
      if (stopping) return;
      log.fatal(how);
      stopping = stop(1);
    });
    process.stdout.write(
      `Worker is ready. Version ${VERSION_AND_BUILD}${pages ? `, ${pages.url}/health/ready` : ''}\n`,
    );
  } catch (error) {
    await assembly.close();
    throw databaseFault(error, databaseVariable(config));
  }
}

try {
  await main(readConfig(process.env));
} catch (error) {
  process.stderr.write(`${error instanceof ConfigurationError ? error.message : inspect(error)}\n`);
  process.exit(1);
}
