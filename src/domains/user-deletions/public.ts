// What other nouns, the gateway and the operator use of user deletions.

export { deleteContents, deleteRest, lockJob, runDeletion } from './deletion-operations.ts';
export { DeletionJob, type ErasedObject } from './entity.ts';
export { deleteUserByEmail, listDeletionJobs } from './operations.ts';
export { type DeletionJobRow, deletionJobRow } from './queries.ts';
export { deletionJobTopic } from './topics.ts';
