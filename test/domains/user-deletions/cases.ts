import type { Cases } from '../../support/operations/cases.ts';

export const userDeletions: Cases = {
  deleteUser: { input: ({ userId }) => ({ userId }), creates: 'DeletionJob', by: 'member' },
  cancelUserDeletion: {
    isOnlyInGraphQL: true,
    input: ({ deletionJobId }) => ({ deletionJobId }),
    target: 'DeletionJob',
    by: 'deletedUser',
  },
};
