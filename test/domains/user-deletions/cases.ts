import type { Cases } from '../../support/operations/cases.ts';

export const userDeletions: Cases = {
  deleteUser: { input: ({ userId }) => ({ userId }), creates: 'DeletionJob', by: 'member' },
  deleteOrganizationMemberData: {
    input: ({ organizationId, userId }) => ({ organizationId, userId }),
    target: 'User',
  },
  redactOrganization: { isOnlyInGraphQL: true, input: () => ({ text: 'correct horse' }), creates: 'DeletionJob' },
  cancelUserDeletion: {
    isOnlyInGraphQL: true,
    input: ({ deletionJobId }) => ({ deletionJobId }),
    target: 'DeletionJob',
    by: 'deletedUser',
  },
};
