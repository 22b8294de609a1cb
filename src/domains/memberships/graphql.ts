import { resolveBatched } from '../../core/graphql/batches.ts';
import { OWN_STATEMENT, builder } from '../../core/graphql/builder.ts';
import { enumOf } from '../../core/graphql/enums.ts';
import { refusable } from '../../core/graphql/refusable.ts';
import { filterType } from '../../core/graphql/derived-inputs.ts';
import { mutation, one } from '../../core/graphql/mutations.ts';
import { toGlobalId, uuidsOf } from '../../core/graphql/global-ids.ts';
import { type FieldsOf, nodeType } from '../../core/graphql/nodes.ts';
import { needs } from '../../core/graphql/selection.ts';
import { ApiKeyType } from '../api-keys/graphql.ts';
import { type MemberCredential, apiKeyRow, credentialsOf, lastUsesOf } from '../api-keys/public.ts';
import {
  ADMINISTER_ORGANIZATION,
  MEMBER_ORIGINS,
  type Membership,
  createOrganizationWithKeyInput,
  mayAdminister,
  organizationRow,
} from '../organizations/public.ts';
import { accessOf } from './access-review.ts';
import { createOrganization } from './organization-creation.ts';
import { UserType } from '../users/graphql.ts';
import { listType } from '../../core/graphql/lists.ts';
import { organizationList } from '../organizations/graphql/organization-list.ts';
import { OrganizationType, RoleEnum, organizationField } from '../organizations/graphql/types.ts';
import { formerMemberFilter, memberFilter } from './input.ts';
import {
  changeOrganizationMemberRole,
  endOrganizationMemberSignIns,
  leaveOrganization,
  listMembers,
  readMembers,
  removeOrganizationMember,
} from './operations.ts';
import { listFormerMembers, listSuspendedMembers, reactivateOrganizationMember } from './suspension.ts';
import { type FormerMemberRow, type MemberRow, memberRow } from './queries.ts';

const CredentialType = builder.objectRef<MemberCredential>('MemberCredential').implement({
  description: 'An open sign-in or connected app of a member.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'How the person signed in, or the name of the client.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it began.' }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was last used. Null if it was not.',
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it ends by itself. Null if it does not.',
    }),
  }),
});

const MemberOriginEnum = enumOf('MemberOrigin', 'Why somebody is a member, or has the role.', MEMBER_ORIGINS, {
  created: 'They have created the organization.',
  invited: 'They have accepted an invitation.',
  provider: 'They have signed in with the identity provider.',
  group: 'A group of the identity provider has given the role.',
  scim: 'SCIM provisions them.',
  operator: 'The command line has made them a member.',
});

const OF_ADMINISTRATORS = {
  ...OWN_STATEMENT,
  ...refusable(ADMINISTER_ORGANIZATION),
  ...needs<MemberRow>('organizationId', 'userId'),
};

/** What administrators see of the access of a member. */
function accessFields(t: FieldsOf<MemberRow>) {
  return {
    lastSeenAt: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        'When the member last sent a request with a key, a sign-in or a connected app that acts in the organization, at most a minute late. Null if they never did.',
      extensions: OF_ADMINISTRATORS,
      resolve: async ({ organizationId, userId }, _, context, info) =>
        (await resolveBatched({ context, info }, userId, lastUsesOf(context, organizationId))) ?? null,
    }),
    origin: t.field({
      type: MemberOriginEnum,
      nullable: true,
      description: 'Why the person is a member, or has the role. Null for members of before this was kept.',
      extensions: OF_ADMINISTRATORS,
      resolve: async ({ organizationId, userId }, _, context, info) =>
        (await resolveBatched({ context, info }, userId, accessOf(context, organizationId)))?.origin ?? null,
    }),
    apiKeyCount: t.int({
      description: 'How many API keys of the member act in the organization.',
      extensions: OF_ADMINISTRATORS,
      resolve: async ({ organizationId, userId }, _, context, info) =>
        (await resolveBatched({ context, info }, userId, accessOf(context, organizationId)))?.apiKeys ?? 0,
    }),
    signIns: t.field({
      type: [CredentialType],
      description: 'The open sign-ins of the member in browsers, newest first.',
      extensions: OF_ADMINISTRATORS,
      resolve: async ({ organizationId, userId }, _, context, info) => [
        ...((await resolveBatched({ context, info }, userId, credentialsOf(context, organizationId, 'SIGN_IN'))) ?? []),
      ],
    }),
    connectedApps: t.field({
      type: [CredentialType],
      description: 'The clients to which the member has given access in the organization, newest first.',
      extensions: OF_ADMINISTRATORS,
      resolve: async ({ organizationId, userId }, _, context, info) => [
        ...((await resolveBatched({ context, info }, userId, credentialsOf(context, organizationId, 'OAUTH_GRANT'))) ??
          []),
      ],
    }),
  };
}

export const MemberType = nodeType<MemberRow>('OrganizationMember', {
  description: 'The membership of a user in an organization. `id` identifies the membership, not the user; see `user`.',
  keyOf: ({ organizationId, userId }) => `${organizationId}:${userId}`,
  keyColumns: ['organizationId', 'userId'],
  load: async (context, keys, selected) => {
    const places = keys.map((key) => key.split(':'));
    const userIds = places.flatMap(([organizationId, userId, ...more]) =>
      organizationId === context.actor.organization?.id && userId !== undefined && more.length === 0 ? userId : [],
    );
    return readMembers(context, uuidsOf(userIds), selected);
  },
  fields: (t) => ({
    user: t.field({
      type: UserType,
      description: 'Who.',
      extensions: needs<MemberRow>('userId', 'email', 'name', 'userCreatedAt', 'userUpdatedAt'),
      resolve: ({ userId, email, name, userCreatedAt, userUpdatedAt }) => ({
        id: userId,
        email,
        name,
        createdAt: userCreatedAt,
        updatedAt: userUpdatedAt,
      }),
    }),
    organization: organizationField(t, 'organizationId', 'The organization. Null when the caller has just left it.'),
    role: t.expose('role', { type: RoleEnum, description: 'Role of the member.' }),
    viewerCanUpdate: t.boolean({
      description:
        'Whether the caller can change the role: true for administrators with the scope `organizations.write`. The role of the last administrator cannot change.',
      extensions: needs<MemberRow>('organizationId'),
      resolve: ({ organizationId }, _, { actor }) => mayAdminister(actor, organizationId),
    }),
    viewerCanDelete: t.boolean({
      description:
        'Whether the caller can remove the member: true for administrators with the scope `organizations.write`. The last administrator cannot be removed.',
      extensions: needs<MemberRow>('organizationId'),
      resolve: ({ organizationId }, _, { actor }) => mayAdminister(actor, organizationId),
    }),
    joinedAt: t.expose('createdAt', { type: 'DateTime', description: 'When the user joined the organization.' }),
    ...accessFields(t),
    suspendedAt: t.expose('suspendedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When SCIM suspended the membership. Null while it is not.',
    }),
  }),
});

const MEMBER_LIST = listType(MemberType, {
  of: 'members',
  filter: filterType('OrganizationMemberFilter', memberFilter),
  conditions: 'Conditions on the members. When absent, all members are listed.',
  fields: { JOINED_AT: 'When the member joined.' },
  otherwise: { field: 'JOINED_AT', direction: 'ASC' },
  edgeFields: (t) => ({
    role: t.field({
      type: RoleEnum,
      description: 'Role of the member in the organization.',
      deprecationReason: 'Use `node.role`, which caches update when the role changes. Removed on 2027-06-01.',
      extensions: needs<MemberRow>('role'),
      resolve: ({ node }) => node.role,
    }),
  }),
});
organizationList('members', MEMBER_LIST, listMembers);
organizationList('suspendedMembers', MEMBER_LIST, listSuspendedMembers);

const FormerMemberType = builder.objectRef<FormerMemberRow>('FormerMember').implement({
  description: 'Somebody who has left an organization or was removed.',
  fields: (t) => ({
    userId: t.id({
      description: 'Global id of the person.',
      extensions: needs<FormerMemberRow>('userId'),
      resolve: ({ userId }) => toGlobalId('User', userId),
    }),
    userDatabaseId: t.expose('userId', { type: 'DatabaseId', description: 'The id of the person that REST uses.' }),
    label: t.exposeString('label', {
      nullable: true,
      description: 'Name and e-mail address of that time. Null for somebody who left before they were kept.',
    }),
    leftAt: t.expose('leftAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the last membership ended. Null for somebody who left before this was kept.',
    }),
  }),
});

const FORMER_MEMBER_LIST = listType(FormerMemberType, {
  of: 'former members',
  filter: filterType('FormerMemberFilter', formerMemberFilter),
  conditions: 'Conditions on the former members. When absent, all are listed.',
  fields: { LEFT_AT: 'When the person left.' },
  otherwise: { field: 'LEFT_AT', direction: 'DESC' },
});
organizationList('formerMembers', FORMER_MEMBER_LIST, listFormerMembers);

mutation(reactivateOrganizationMember, {
  ids: { userId: 'User' },
  payload: one('member', MemberType, 'The member, whose membership is no longer suspended.', memberRow),
});

mutation(changeOrganizationMemberRole, {
  ids: { userId: 'User' },
  payload: one('member', MemberType, 'The changed member.', ({ membership }: { readonly membership: Membership }) =>
    memberRow(membership),
  ),
});

mutation(endOrganizationMemberSignIns, {
  ids: { userId: 'User' },
  payload: one('member', MemberType, 'The member.', ({ membership }: { readonly membership: Membership }) =>
    memberRow(membership),
  ),
});

mutation(removeOrganizationMember, {
  ids: { userId: 'User' },
  payload: (t) => ({
    removedUserId: t.id({
      description: 'Global id of the removed user.',
      resolve: ({ user }) => toGlobalId('User', user.id),
    }),
    removedMemberId: t.id({
      description: 'Global id of the removed member, as the list of members had it.',
      resolve: ({ organization, user }) => toGlobalId('OrganizationMember', `${organization.id}:${user.id}`),
    }),
  }),
});

mutation(leaveOrganization, {
  ids: { organizationId: 'Organization' },
  payload: (t) => ({
    leftOrganizationId: t.id({
      description: 'Global id of the organization that the caller has left.',
      resolve: ({ organization }) => toGlobalId('Organization', organization.id),
    }),
  }),
});

mutation(createOrganization, {
  schema: createOrganizationWithKeyInput,
  payload: (t) => ({
    organization: t.field({
      type: OrganizationType,
      description:
        'The new organization. To act in it, send an unbound key with the header `X-Organization-Id`, or a key that is bound to it.',
      resolve: ({ organization }) => organizationRow(organization),
    }),
    apiKey: t.field({
      type: ApiKeyType,
      nullable: true,
      description: 'The new key, without its secret. Null unless `createApiKey` was true.',
      resolve: ({ created, organization }) =>
        created && { ...apiKeyRow(created.apiKey), organization: organizationRow(organization) },
    }),
    key: t.string({
      nullable: true,
      description:
        'The secret of the new key, which is shown only in this answer. Null unless `createApiKey` was true.',
      resolve: ({ created }) => created?.key,
    }),
  }),
});
