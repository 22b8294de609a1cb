import { OWN_STATEMENT } from '../../../core/graphql/builder.ts';
import { connectionType } from '../../../core/graphql/connections.ts';
import { ConflictError, NotFoundError } from '../../../core/errors.ts';
import { mutation } from '../../../core/graphql/mutations.ts';
import { toGlobalId, uuidsOf } from '../../../core/graphql/global-ids.ts';
import { nodeType } from '../../../core/graphql/nodes.ts';
import { resolveReference } from '../../../core/graphql/references.ts';
import { needs } from '../../../core/graphql/selection.ts';
import { UserType } from '../../users/graphql.ts';
import { MEMBER_ORDER, MemberFilter } from './lists.ts';
import { organizationList } from './organization-list.ts';
import { OrganizationType, RoleEnum } from './types.ts';
import { changeOrganizationMemberRoleInput, leaveOrganizationInput, removeOrganizationMemberInput } from '../input.ts';
import {
  changeOrganizationMemberRole,
  leaveOrganization,
  listMembers,
  readMembers,
  removeOrganizationMember,
} from '../member-operations.ts';
import { readOrganizations } from '../operations.ts';
import { mayAdminister } from '../policy.ts';
import { type MemberRow, memberRow } from '../queries.ts';

const MemberType = nodeType<MemberRow>('OrganizationMember', {
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
    organization: t.field({
      type: OrganizationType,
      nullable: true,
      description: 'The organization. Null when the caller has just left it.',
      extensions: { ...OWN_STATEMENT, ...needs<MemberRow>('organizationId') },
      resolve: ({ organizationId }, _, context, info) =>
        resolveReference({ context, info }, 'Organization', organizationId, readOrganizations),
    }),
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
  }),
});

const OrganizationMemberConnection = connectionType(MemberType, {
  of: 'members',
  edgeFields: (t) => ({
    role: t.field({
      type: RoleEnum,
      description: 'Role of the member in the organization.',
      extensions: needs<MemberRow>('role'),
      resolve: ({ node }) => node.role,
    }),
  }),
});

organizationList('members', {
  type: MemberType,
  connection: OrganizationMemberConnection,
  description: 'Members of the organization, by time of joining by default.',
  access: listMembers.access,
  filter: { type: MemberFilter, description: 'Conditions on the members. When absent, all members are listed.' },
  order: MEMBER_ORDER,
  list: (context, { page, ...asked }, selected) => listMembers(context, asked, page, selected),
});

mutation('changeOrganizationMemberRole', {
  access: changeOrganizationMemberRole.access,
  description: 'Changes the role of a member. The role of the last administrator cannot change.',
  schema: changeOrganizationMemberRoleInput,
  ids: { userId: 'User' },
  input: (t) => ({
    userId: t.id({ required: true, description: '`id` or `databaseId` of the user.' }),
    role: t.field({ type: RoleEnum, required: true, description: 'The new role.' }),
  }),
  errors: [NotFoundError, ConflictError],
  run: changeOrganizationMemberRole,
  payload: (t) => ({
    member: t.field({
      type: MemberType,
      description: 'The changed member.',
      resolve: ({ membership }) => memberRow(membership),
    }),
  }),
});

mutation('removeOrganizationMember', {
  access: removeOrganizationMember.access,
  description:
    'Removes a member, revokes their keys that are bound to the organization, and deletes their personal MCP connections in it. The last administrator cannot be removed.',
  schema: removeOrganizationMemberInput,
  ids: { userId: 'User' },
  input: (t) => ({ userId: t.id({ required: true, description: '`id` or `databaseId` of the user.' }) }),
  errors: [NotFoundError, ConflictError],
  run: removeOrganizationMember,
  payload: (t) => ({
    removedUserId: t.id({
      description: 'Global id of the removed user.',
      resolve: ({ user }) => toGlobalId('User', user.id),
    }),
  }),
});

mutation('leaveOrganization', {
  access: leaveOrganization.access,
  description:
    "Ends the caller's membership of the organization that the request acts in. Revokes their keys that are bound to it and deletes their personal MCP connections in it. The last administrator cannot leave.",
  schema: leaveOrganizationInput,
  ids: { organizationId: 'Organization' },
  input: (t) => ({
    organizationId: t.id({
      description:
        '`id` or `databaseId` of the organization, as a safety check. When given, it must be the organization that the request acts in.',
    }),
  }),
  errors: [NotFoundError, ConflictError],
  run: leaveOrganization,
  payload: (t) => ({
    leftOrganizationId: t.id({
      description: 'Global id of the organization that the caller has left.',
      resolve: ({ id }) => toGlobalId('Organization', id),
    }),
  }),
});
