import { resolveBatched } from '../../core/graphql/batches.ts';
import { OWN_STATEMENT, builder } from '../../core/graphql/builder.ts';
import { connectionType, resolveList } from '../../core/graphql/connections.ts';
import { ConflictError, NotFoundError } from '../../core/errors.ts';
import { mutation } from '../../core/graphql/mutations.ts';
import { nodeType, toGlobalId, uuidsOf } from '../../core/graphql/nodes.ts';
import { orderType } from '../../core/graphql/orders.ts';
import { refusable } from '../../core/graphql/refusable.ts';
import { needs, selectedColumns } from '../../core/graphql/selection.ts';
import { OrganizationType, RoleEnum } from '../organizations/graphql/types.ts';
import { organizationRow } from '../organizations/operations.ts';
import { UserType } from '../users/graphql.ts';
import { type UserRow, readUsers } from '../users/operations.ts';
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
    'An open invitation to join an organization: neither accepted nor revoked nor expired, and made by somebody who still administers the organization. Seen by its administrators.',
  keyOf: ({ id }) => id,
  load: (context, keys, selected) => readInvitations(context, uuidsOf(keys), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'The id without its type.' }),
    email: t.exposeString('email', {
      description: 'The e-mail address that was invited, in lower case. Whoever accepts has this address.',
    }),
    role: t.expose('role', { type: RoleEnum, description: 'What they may do once they have accepted.' }),
    invitedBy: t.field({
      type: UserType,
      nullable: true,
      description: 'Who has invited them; null when they are no longer a member.',
      extensions: { ...OWN_STATEMENT, ...needs<InvitationRow>('inviterId') },
      resolve: async ({ inviterId }, _, context, info) => {
        if (inviterId === null) return null;
        const selected = selectedColumns<UserRow>(info, 'User');
        const load = async (ids: readonly string[]) =>
          new Map((await readUsers(context, ids, selected)).map((user) => [user.id, user]));
        return resolveBatched({ context, info }, inviterId, load, selected, null);
      },
    }),
    viewerCanRevoke: t.boolean({
      description:
        'Whether the caller may revoke it: an administrator of the organization, with the scope `organizations.write`.',
      extensions: needs<InvitationRow>('organizationId'),
      resolve: (invitation, _, { actor }) => mayRevoke(actor, invitation),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      description: 'When its token stops working: 7 days after it was made.',
    }),
  }),
});

const FilterInput = builder.inputType('OrganizationInvitationFilter', {
  description: 'Which invitations to list. All given conditions must be met; an empty list matches nothing.',
  validate: invitationFilter,
  fields: (t) => ({
    roles: t.field({ type: [RoleEnum], description: 'To one of these roles.' }),
    search: t.string({
      description:
        'The e-mail address contains this text of at most 254 characters. Case is ignored; `%` and `_` are plain.',
    }),
    createdFrom: t.field({ type: 'DateTime', description: 'Made at this moment or after it.' }),
    createdBefore: t.field({ type: 'DateTime', description: 'Made before this moment.' }),
  }),
});

const INVITATION_ORDER = orderType<InvitationOrderField>('OrganizationInvitation', {
  of: 'invitations',
  fields: { CREATED_AT: 'When the invitation was made.', EMAIL: 'The e-mail address.' },
  otherwise: { field: 'CREATED_AT', direction: 'DESC' },
});

const InvitationConnection = connectionType(InvitationType, { of: 'invitations' });

builder.objectField(OrganizationType, 'invitations', (t) =>
  t.connection(
    {
      type: InvitationType,
      description: 'Its open invitations, newest first unless ordered otherwise; at most 100.',
      args: {
        filter: t.arg({ type: FilterInput, description: 'Which ones; all when absent.' }),
        orderBy: t.arg(INVITATION_ORDER.argument),
      },
      extensions: {
        ...refusable(listInvitations.access, { actingOrganization: true }),
        ...needs<{ id: string }>('id'),
      },
      resolve: ({ id }, args, context, info) => {
        const selected = selectedColumns<InvitationRow>(info, 'OrganizationInvitation');
        const { filter, orderBy, ...page } = args;
        const asked = { organizationId: id, filter: filter ?? {}, order: INVITATION_ORDER.orderOf(orderBy) };
        const list = () => listInvitations(context, asked, page, selected);
        return resolveList({ context, info, args }, id, list, selected);
      },
    },
    InvitationConnection,
  ),
);

mutation('inviteOrganizationMember', {
  access: inviteOrganizationMember.access,
  description:
    'Invites an e-mail address to the organization that the request acts in. Nothing is sent: pass the token on. Whoever is invited already gets a new invitation, and the token of the earlier one stops working. An organization has at most 100 open invitations.',
  schema: inviteOrganizationMemberInput,
  input: (t) => ({
    email: t.string({
      required: true,
      description: 'E-mail address of the person, at most 254 characters; compared without case.',
    }),
    role: t.field({ type: RoleEnum, defaultValue: 'member', description: 'What they may do once they have accepted.' }),
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
        'The token that the invited person accepts with: `wgi_…`, valid for 7 days. It is shown here and never again.',
    }),
  }),
});

mutation('revokeOrganizationInvitation', {
  access: revokeOrganizationInvitation.access,
  description: 'Revokes an open invitation: its token stops working.',
  schema: revokeOrganizationInvitationInput,
  ids: { invitationId: 'OrganizationInvitation' },
  input: (t) => ({ invitationId: t.id({ required: true, description: 'Either id of the invitation.' }) }),
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
    'Makes the caller a member of the organization that has invited their e-mail address, wherever the request acts. Used, expired, revoked and unknown tokens are not found; a token for another address is refused. People without an account accept by `POST /v1/invitations/accept`.',
  schema: acceptOrganizationInvitationInput,
  input: (t) => ({ token: t.string({ required: true, description: 'The token of the invitation: `wgi_…`.' }) }),
  errors: [NotFoundError, ConflictError],
  run: async (context, input) => {
    const { organization, role } = await acceptOrganizationInvitation(context, input);
    return { organization: organizationRow(organization), role };
  },
  payload: (t) => ({
    organization: t.field({
      type: OrganizationType,
      description:
        'The organization that the caller is now a member of. An unbound key acts in it when `X-Organization-Id` names it.',
      resolve: ({ organization }) => organization,
    }),
    role: t.expose('role', { type: RoleEnum, description: 'What the caller may do in it.' }),
  }),
});
