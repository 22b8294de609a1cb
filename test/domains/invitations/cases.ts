import { randomUUID } from 'node:crypto';
import type { Cases } from '../../support/operations/cases.ts';

export const invitations: Cases = {
  inviteOrganizationMember: {
    isOnlyInGraphQL: true,
    input: () => ({ email: `${randomUUID()}@example.com` }),
    creates: 'OrganizationInvitation',
  },
  // Refers to an invitation only by its token, which is a credential.
  acceptOrganizationInvitation: {
    input: ({ guestToken: token }) => ({ token }),
    body: ({ invitationToken: token }) => ({ token }),
    target: 'OrganizationInvitation',
    // Without a key, REST accepts it for somebody who has no account.
    targetId: (to, answer) => (answer['apiKey'] ? to.invitationId : to.guestInvitationId),
    organizationId: (to) => to.organizationId,
    by: 'guest',
  },
  revokeOrganizationInvitation: {
    isOnlyInGraphQL: true,
    input: ({ invitationId }) => ({ invitationId }),
    target: 'OrganizationInvitation',
  },
};
