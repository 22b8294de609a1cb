import { flushCompileCache } from 'node:module';
import { VERSION_AND_BUILD } from './core/version.ts';
import { listen } from './gateway/http/listen.ts';
import { startJobs } from './gateway/background-jobs.ts';
import { checkSecrets, prepareDatabase } from './gateway/prepare-database.ts';
import { createWorkerPages } from './gateway/worker-pages.ts';
import { runService } from './operator/run-service.ts';

/**
 * Runs jobs and, with `WORKER_PORT`, answers health checks and metrics. Without `DATABASE_URL` it uses the database of
 * a running gateway, or a new one in `DATA_DIR`.
 */
await runService(
  async ({ config: { HOST: host, WORKER_PORT: port }, assembly: { dependencies }, onStop }) => {
    await prepareDatabase(dependencies);
    await checkSecrets(dependencies);
    // Without this, Node.js would spend seconds on writing compiled code at its end, after the first start of a version.
    flushCompileCache();
    const pages =
      port === undefined
        ? undefined
        : await listen(createWorkerPages(dependencies), { host, port, variable: 'WORKER_PORT' });
    onStop(async () => pages?.stop(0));
    const worker = await startJobs(dependencies);
    onStop(() => worker.stop());
    return `Worker is ready. Version ${VERSION_AND_BUILD}${pages ? `, ${pages.url}/health/ready` : ''}\n`;
  },
  { joinRunning: true },
);
