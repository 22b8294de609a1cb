import { type JobWorker, startJobWorker } from '../core/jobs.ts';
import { eventPurgeJob } from '../domains/event-occurrences/public.ts';
import { mcpRefreshJob, mcpTokenRevocationJob } from '../domains/mcp-connections/public.ts';
import { organizationDeletionJob } from '../domains/organization-deletions/public.ts';
import { userDeletionJob } from '../domains/user-deletions/public.ts';
import { workContext } from './contexts.ts';
import type { Dependencies } from './dependencies.ts';
import { deleteKeysOfOrganization } from './idempotency/maintenance.ts';
import { observeJobs } from './telemetry/observe.ts';
import { maintenanceJob } from './maintenance-job.ts';

/** Starts running jobs, in the process of the gateway or in a separate worker process. */
export function startJobs(dependencies: Dependencies): Promise<JobWorker> {
  const { config, databaseUrl, log, health, timing } = dependencies;
  return startJobWorker({
    url: databaseUrl,
    handlers: [
      userDeletionJob,
      organizationDeletionJob(deleteKeysOfOrganization),
      eventPurgeJob,
      mcpRefreshJob,
      mcpTokenRevocationJob,
      maintenanceJob(config),
    ],
    contextOf: (signal) => ({ ...workContext(dependencies), log, signal }),
    log,
    pollMs: timing.jobPollMs,
    onError: health.note,
    observe: observeJobs(dependencies),
  });
}
