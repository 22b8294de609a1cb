import { type JobHandler, type JobWorker, startJobWorker } from '../core/jobs.ts';
import { eventPurgeJob } from '../domains/event-definitions/purge.ts';
import { userDeletionJob } from '../domains/user-deletions/deletion.ts';
import { type Dependencies, workContext } from './dependencies.ts';

/** What is done in every queue. */
const jobHandlers: readonly JobHandler[] = [userDeletionJob, eventPurgeJob];

/** Works off the queues beside the requests of this process, or in a process of its own. */
export function startJobs(dependencies: Dependencies): Promise<JobWorker> {
  const { databaseUrl, log } = dependencies;
  return startJobWorker({
    url: databaseUrl,
    handlers: jobHandlers,
    contextOf: (signal) => ({ ...workContext(dependencies), log, signal }),
    log,
  });
}
