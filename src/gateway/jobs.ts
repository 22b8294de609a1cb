import { type JobHandler, type JobWorker, startJobWorker } from '../core/jobs.ts';
import { eventPurgeJob } from '../domains/event-definitions/purge.ts';
import { userDeletionJob } from '../domains/user-deletions/deletion.ts';
import type { Dependencies } from './dependencies.ts';

/** What is done in every queue. */
const jobHandlers: readonly JobHandler[] = [userDeletionJob, eventPurgeJob];

/** Works off the queues beside the requests of this process, or in a process of its own. */
export function startJobs({ databaseUrl, database, notifier, log, now, newId }: Dependencies): Promise<JobWorker> {
  return startJobWorker({
    url: databaseUrl,
    handlers: jobHandlers,
    contextOf: (signal) => ({ em: database.em.fork(), notifier, log, now, newId, signal }),
    log,
  });
}
