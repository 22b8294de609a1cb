import { createdId } from '../../support/operations/created-id.ts';
import type { Cases } from '../../support/operations/cases.ts';

export const memberships: Cases = {
  createOrganization: {
    input: () => ({ name: 'New' }),
    body: () => ({ name: 'New' }),
    creates: 'Organization',
    organizationId: (_, answer) => createdId(answer),
  },
  changeOrganizationMemberRole: {
    isOnlyInGraphQL: true,
    input: ({ userId }) => ({ userId, role: 'ADMIN' }),
    target: 'User',
  },
  reactivateOrganizationMember: {
    isOnlyInGraphQL: true,
    input: ({ suspendedUserId }) => ({ userId: suspendedUserId }),
    target: 'User',
    targetId: ({ suspendedUserId }) => suspendedUserId,
  },
  endOrganizationMemberSignIns: { isOnlyInGraphQL: true, input: ({ userId }) => ({ userId }), target: 'User' },
  removeOrganizationMember: { isOnlyInGraphQL: true, input: ({ userId }) => ({ userId }), target: 'User' },
  leaveOrganization: {
    isOnlyInGraphQL: true,
    input: ({ organizationId }) => ({ organizationId }),
    target: 'User',
    by: 'member',
  },
};
