import { type JobWorker, startJobWorker } from '../core/jobs.ts';
import { eventPurgeJob } from '../domains/event-occurrences/purge.ts';
import { mcpRefreshJob } from '../domains/mcp-connections/oauth/token-refresh-job.ts';
import { mcpTokenRevocationJob } from '../domains/mcp-connections/oauth/token-revocation.ts';
import { organizationDeletionJob } from '../domains/organization-deletions/deletion-job.ts';
import { userDeletionJob } from '../domains/user-deletions/deletion-job.ts';
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
