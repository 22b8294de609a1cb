import type { DeletionJobId } from '../../core/ids.ts';
/** Topic that is published when the state of a deletion changes. */
export function deletionJobTopic(deletionJobId: DeletionJobId): string {
  return `deletion-job:${deletionJobId}`;
}
