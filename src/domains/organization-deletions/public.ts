// What other nouns, the gateway and the operator use of organization deletions.

export { organizationDeletionJob } from './deletion-job.ts';
