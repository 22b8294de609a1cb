import type { DeletionJobId } from '../../core/ids.ts';
/** Topic that is published when the state of a deletion changes. */
export const deletionJobTopic = (deletionJobId: DeletionJobId): string => `deletion-job:${deletionJobId}`;
