import { z } from 'zod';
import { type BackgroundLoop, createPauses, startLoop } from '../core/background-loop.ts';
import { type JobHandler, type JobWorker, jobHandler, startJobWorker } from '../core/jobs.ts';
import { isDatabaseAway } from '../core/postgres/failures.ts';
import { createFolding, foldAppended, indexSessions } from '../domains/session-events/public.ts';
import type { DeletionSteps } from '../core/module.ts';
import { deliverDue } from '../domains/webhooks/public.ts';
import { deliveryContext, workContext } from './contexts.ts';
import type { Dependencies } from './dependencies.ts';
import { modules } from './modules.ts';
import { observeJobs } from './telemetry/observe.ts';
import type { Config } from '../core/config.ts';
import { timeToDelete } from '../core/stored-time.ts';

const BATCH = 1_000;

/** Deletes expired rows once an hour. It can be interrupted at any point; the next run continues. */
export function maintenanceJob({ AUDIT_RETENTION_DAYS }: Pick<Config, 'AUDIT_RETENTION_DAYS'>): JobHandler {
  const settings = { auditRetentionDays: AUDIT_RETENTION_DAYS };
  return jobHandler({
    queue: 'maintenance',
    data: z.unknown(),
    schedule: '17 * * * *',
    run: async (context) => {
      const { em, signal, log } = context;
      const at = await timeToDelete(context);
      if (!at) return;
      for (const [what, deleteSome] of modules.flatMap(({ cleanups }) => Object.entries(cleanups))) {
        let deleted = 0;
        for (let count = BATCH; count > 0; deleted += count) {
          signal.throwIfAborted();
          count = await deleteSome(em.fork(), at, BATCH, settings);
        }
        if (deleted > 0) log.info({ what, deleted }, 'expired');
      }
    },
  });
}

/** The steps of deletions, of all nouns. */
export const DELETION_STEPS: DeletionSteps = {
  ofUser: modules.flatMap(({ deletionSteps }) => deletionSteps.ofUser),
  ofOrganization: modules.flatMap(({ deletionSteps }) => deletionSteps.ofOrganization),
};

/**
 * Starts running jobs, in the process of the gateway or in a separate worker process.
 * @param ready jobs of queues wait for it
 */
export async function startJobs(dependencies: Dependencies, ready?: Promise<void>): Promise<JobWorker> {
  const { config, database, databaseUrl, log, health, timing } = dependencies;
  const worker = await startJobWorker({
    url: databaseUrl,
    handlers: [...modules.flatMap((module) => module.jobs(DELETION_STEPS)), maintenanceJob(config)],
    contextOf: (signal) => ({ ...workContext(dependencies), log, signal }),
    ready,
    log,
    pollMs: timing.jobPollMs,
    onError: health.note,
    observe: observeJobs(dependencies),
  });
  const pauseAfter = createPauses();
  const fold = createFolding(dependencies.sql);
  const folding = startLoop(fold, {
    pauseMs: timing.indexPauseMs,
    onError: onErrorOf(dependencies, 'folding the events of sessions failed; it is tried again'),
  });
  const indexing = startLoop((signal) => indexSessions(database.em, { signal, pauseAfter }), {
    pauseMs: timing.indexPauseMs,
    onError: onErrorOf(dependencies, 'indexing the texts of sessions failed; it is tried again'),
  });
  const delivering = startLoop((signal) => deliverDue(deliveryContext(dependencies), signal), {
    pauseMs: timing.webhookPollMs,
    onError: onErrorOf(dependencies, 'looking for due webhooks failed; it is tried again'),
  });
  return {
    async stop() {
      await Promise.all([worker.stop(), folding.stop(), indexing.stop(), delivering.stop()]);
    },
  };
}

const onErrorOf =
  ({ health, log }: Dependencies, message: string) =>
  (error: unknown) => {
    health.note(error);
    if (!isDatabaseAway(error)) log.error({ err: error }, message);
  };

/** Appends of this time are folded together. */
const FOLD_DELAY_MS = 50;

/** Folds what this process appends, behind the answers. The pause is only before it is tried again. */
export function startFolding(dependencies: Dependencies): BackgroundLoop {
  const { sql, unfolded, timing } = dependencies;
  const loop = startLoop(() => foldAppended(sql, unfolded), {
    pauseMs: timing.indexPauseMs,
    onError: onErrorOf(dependencies, 'folding appended events failed; it is tried again'),
  });
  let isDue = false;
  unfolded.onMore = () => {
    if (isDue) return;
    isDue = true;
    setTimeout(() => {
      isDue = false;
      loop.wake();
    }, FOLD_DELAY_MS).unref();
  };
  return loop;
}
