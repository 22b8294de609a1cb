// What other nouns, the gateway and the operator use of user deletions.

export { userDeletionJob } from './deletion-job.ts';
export { deleteContentsOf, deleteRestOf, lockJob, purgeSessions } from './deletion-operations.ts';
export { DeletedSession, DeletionJob } from './entity.ts';
export { QUESTIONNAIRE_DAYS, deletionJobRow, forgetQuestionnaires, readDeletionJobVersions } from './queries.ts';
export { deletionJobTopic } from './topics.ts';
