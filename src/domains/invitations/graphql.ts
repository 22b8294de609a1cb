import { resolveBatched } from '../../core/graphql/batches.ts';
import { OWN_STATEMENT } from '../../core/graphql/builder.ts';
import { filterType } from '../../core/graphql/derived-inputs.ts';
import { deleted, mutation } from '../../core/graphql/mutations.ts';
import { entityType } from '../../core/graphql/nodes.ts';
import { listType } from '../../core/graphql/lists.ts';
import { needs } from '../../core/graphql/selection.ts';
import { organizationList } from '../organizations/graphql/organization-list.ts';
import { actorField } from '../organizations/graphql/actors.ts';
import { OrganizationType, RoleEnum, organizationField } from '../organizations/graphql/types.ts';
import { organizationRow } from '../organizations/public.ts';
import { userField } from '../users/graphql.ts';
import { invitationFilter } from './input.ts';
import {
  acceptOrganizationInvitation,
  inviteOrganizationMember,
  listInvitations,
  readInvitations,
  revokeOrganizationInvitation,
} from './operations.ts';
import { mayRevoke } from './policy.ts';
import { type InvitationRow, invitationRow, organizationNames } from './queries.ts';

const InvitationType = entityType<InvitationRow>('OrganizationInvitation', {
  stored: { table: 'invitation' },
  description:
    'An open invitation to join an organization. It is not accepted, revoked or expired, and its inviter is still an administrator. Administrators of the organization can see it, and the user with the invited e-mail address.',
  read: readInvitations,
  databaseId: 'The id of the invitation in the database.',
  fields: (t) => ({
    email: t.exposeString('email', {
      description: 'The invited e-mail address, in lower case. Only a user with this address can accept.',
    }),
    role: t.expose('role', { type: RoleEnum, description: 'Role of the new member.' }),
    organization: organizationField(
      t,
      'organizationId',
      'The organization that the invitation is for. Null when the caller is not a member of it.',
    ),
    organizationName: t.string({
      description: 'Name of the organization, also for invited users who are not members of it.',
      extensions: { ...OWN_STATEMENT, ...needs<InvitationRow>('organizationId') },
      resolve: ({ organizationId }, _, context, info) =>
        resolveBatched({ context, info }, organizationId, (ids) => organizationNames(context, ids), [], ''),
    }),
    invitedBy: userField(
      t,
      'inviterId',
      'The administrator who created the invitation. Null when that user is no longer a member of the organization that the request acts in, and for a service account.',
      undefined,
      'Use `inviter`, which has service accounts too. Removed on 2027-12-01.',
    ),
    inviter: actorField(
      t,
      'inviterId',
      'The person or service account that created the invitation. Null when that person is no longer a member of the organization that the request acts in.',
    ),
    viewerCanRevoke: t.boolean({
      description:
        'Whether the caller can revoke the invitation: true for administrators with the scope `organizations.write`.',
      extensions: needs<InvitationRow>('organizationId'),
      resolve: (invitation, _, { actor }) => mayRevoke(actor, invitation),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the invitation was created.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      description: 'When the invitation expires: 7 days after it was created.',
    }),
  }),
});

export const INVITATION_LIST = listType(InvitationType, {
  of: 'invitations',
  filter: filterType('OrganizationInvitationFilter', invitationFilter),
  conditions: 'Conditions on the invitations. When absent, all open invitations are listed.',
  fields: { CREATED_AT: 'When the invitation was created.', EMAIL: 'The e-mail address.' },
  otherwise: { field: 'CREATED_AT', direction: 'DESC' },
});
organizationList('invitations', INVITATION_LIST, listInvitations);

mutation(inviteOrganizationMember, {
  payload: (t) => ({
    invitation: t.field({
      type: InvitationType,
      description: 'The new invitation, without its token.',
      resolve: ({ invitation }) => invitationRow(invitation),
    }),
    token: t.exposeString('token', {
      description:
        'The token for accepting the invitation: `wgi_…`, valid for 7 days. It is shown only in this answer.',
    }),
  }),
});

mutation(revokeOrganizationInvitation, {
  ids: { invitationId: 'OrganizationInvitation' },
  payload: deleted('OrganizationInvitation', 'revoked invitation'),
});

mutation(acceptOrganizationInvitation, {
  payload: (t) => ({
    organization: t.field({
      type: OrganizationType,
      description:
        'The organization that the caller joined. To act in it, send an unbound key with the header `X-Organization-Id`, or a key that is bound to it.',
      resolve: ({ organization }) => organizationRow(organization),
    }),
    role: t.expose('role', { type: RoleEnum, description: 'Role of the caller in the organization.' }),
  }),
});
