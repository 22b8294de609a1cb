import type { DeletionJobId } from '../../core/ids.ts';
/** Published when a deletion has changed its state. */
export function deletionJobTopic(deletionJobId: DeletionJobId): string {
  return `deletion-job:${deletionJobId}`;
}
