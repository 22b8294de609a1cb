import { OWN_STATEMENT, builder } from '../../core/graphql/builder.ts';
import { connectionType } from '../../core/graphql/connections.ts';
import { ConflictError, NotFoundError } from '../../core/errors.ts';
import { mutation } from '../../core/graphql/mutations.ts';
import { toGlobalId, uuidsOf } from '../../core/graphql/global-ids.ts';
import { nodeType } from '../../core/graphql/nodes.ts';
import { resolveReference } from '../../core/graphql/references.ts';
import { orderType } from '../../core/graphql/orders.ts';
import { needs } from '../../core/graphql/selection.ts';
import { organizationList } from '../organizations/graphql/organization-list.ts';
import { OrganizationType, RoleEnum } from '../organizations/graphql/types.ts';
import { organizationRow } from '../organizations/public.ts';
import { UserType } from '../users/graphql.ts';
import { readUsers } from '../users/public.ts';
import {
  acceptOrganizationInvitationInput,
  invitationFilter,
  inviteOrganizationMemberInput,
  revokeOrganizationInvitationInput,
} from './input.ts';
import {
  acceptOrganizationInvitation,
  inviteOrganizationMember,
  listInvitations,
  readInvitations,
  revokeOrganizationInvitation,
} from './operations.ts';
import { mayRevoke } from './policy.ts';
import { type InvitationOrderField, type InvitationRow, invitationRow } from './queries.ts';

const InvitationType = nodeType<InvitationRow>('OrganizationInvitation', {
  description:
    'An open invitation to join an organization. It is not accepted, revoked or expired, and its inviter is still an administrator. Only administrators of the organization can see it.',
  keyOf: ({ id }) => id,
  load: (context, keys, selected) => readInvitations(context, uuidsOf(keys), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'The id of the invitation in the database.' }),
    email: t.exposeString('email', {
      description: 'The invited e-mail address, in lower case. Only a user with this address can accept.',
    }),
    role: t.expose('role', { type: RoleEnum, description: 'Role of the new member.' }),
    invitedBy: t.field({
      type: UserType,
      nullable: true,
      description: 'The administrator who created the invitation. Null when that user is no longer a member.',
      extensions: { ...OWN_STATEMENT, ...needs<InvitationRow>('inviterId') },
      resolve: ({ inviterId }, _, context, info) => resolveReference({ context, info }, 'User', inviterId, readUsers),
    }),
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

const FilterInput = builder.inputType('OrganizationInvitationFilter', {
  description:
    'Conditions on invitations. An invitation is listed when it meets all of them. A condition with an empty list matches nothing.',
  validate: invitationFilter,
  fields: (t) => ({
    roles: t.field({ type: [RoleEnum], description: 'Invitations with any of these roles, at most 100.' }),
    search: t.string({
      description:
        'Invitations whose e-mail address contains this text of at most 254 characters. Case is ignored; there are no wildcards.',
    }),
    createdFrom: t.field({ type: 'DateTime', description: 'Invitations created at this time or later.' }),
    createdBefore: t.field({ type: 'DateTime', description: 'Invitations created before this time.' }),
  }),
});

const INVITATION_ORDER = orderType<InvitationOrderField>('OrganizationInvitation', {
  of: 'invitations',
  fields: { CREATED_AT: 'When the invitation was created.', EMAIL: 'The e-mail address.' },
  otherwise: { field: 'CREATED_AT', direction: 'DESC' },
});

const InvitationConnection = connectionType(InvitationType, { of: 'invitations' });

organizationList('invitations', {
  type: InvitationType,
  connection: InvitationConnection,
  description: 'Open invitations of the organization, newest first by default. An organization has at most 100.',
  access: listInvitations.access,
  filter: {
    type: FilterInput,
    description: 'Conditions on the invitations. When absent, all open invitations are listed.',
  },
  order: INVITATION_ORDER,
  list: (context, { page, ...asked }, selected) => listInvitations(context, asked, page, selected),
});

mutation('inviteOrganizationMember', {
  access: inviteOrganizationMember.access,
  description:
    'Invites an e-mail address to the organization that the request acts in. The gateway sends no e-mail, so you must pass on the token. A new invitation replaces an earlier one for the same address, whose token becomes invalid. An organization has at most 100 open invitations.',
  schema: inviteOrganizationMemberInput,
  input: (t) => ({
    email: t.string({
      required: true,
      description: 'E-mail address of the person, at most 254 characters. Case is ignored.',
    }),
    role: t.field({ type: RoleEnum, defaultValue: 'member', description: 'Role of the new member.' }),
  }),
  errors: [ConflictError],
  run: async (context, input) => {
    const { invitation, token } = await inviteOrganizationMember(context, input);
    return { invitation: invitationRow(invitation), token };
  },
  payload: (t) => ({
    invitation: t.field({
      type: InvitationType,
      description: 'The new invitation, without its token.',
      resolve: ({ invitation }) => invitation,
    }),
    token: t.exposeString('token', {
      description:
        'The token for accepting the invitation: `wgi_…`, valid for 7 days. It is shown only in this answer.',
    }),
  }),
});

mutation('revokeOrganizationInvitation', {
  access: revokeOrganizationInvitation.access,
  description: 'Revokes an open invitation. Its token becomes invalid.',
  schema: revokeOrganizationInvitationInput,
  ids: { invitationId: 'OrganizationInvitation' },
  input: (t) => ({ invitationId: t.id({ required: true, description: '`id` or `databaseId` of the invitation.' }) }),
  errors: [NotFoundError],
  run: revokeOrganizationInvitation,
  payload: (t) => ({
    deletedId: t.id({
      description: 'Global id of the revoked invitation.',
      resolve: ({ id }) => toGlobalId('OrganizationInvitation', id),
    }),
  }),
});

mutation('acceptOrganizationInvitation', {
  access: acceptOrganizationInvitation.access,
  description:
    'Makes the caller a member of the organization that invited their e-mail address. The request can act in any organization or none. Used, expired, revoked and unknown tokens give a `NotFoundError`, a token for another address a `ForbiddenError`. People without an account use `POST /v1/invitations/accept`.',
  schema: acceptOrganizationInvitationInput,
  input: (t) => ({
    token: t.string({ required: true, description: 'The token of the invitation, `wgi_…`; at most 255 characters.' }),
  }),
  errors: [NotFoundError, ConflictError],
  run: async (context, input) => {
    const { organization, role } = await acceptOrganizationInvitation(context, input);
    return { organization: organizationRow(organization), role };
  },
  payload: (t) => ({
    organization: t.field({
      type: OrganizationType,
      description:
        'The organization that the caller joined. To act in it, send an unbound key with the header `X-Organization-Id`, or a key that is bound to it.',
      resolve: ({ organization }) => organization,
    }),
    role: t.expose('role', { type: RoleEnum, description: 'Role of the caller in the organization.' }),
  }),
});
