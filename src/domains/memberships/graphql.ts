import { OWN_STATEMENT, builder } from '../../core/graphql/builder.ts';
import { connectionType } from '../../core/graphql/connections.ts';
import { ConflictError, NotFoundError } from '../../core/errors.ts';
import { mutation } from '../../core/graphql/mutations.ts';
import { toGlobalId, uuidsOf } from '../../core/graphql/global-ids.ts';
import { nodeType } from '../../core/graphql/nodes.ts';
import { resolveReference } from '../../core/graphql/references.ts';
import { needs } from '../../core/graphql/selection.ts';
import { ApiKeyType } from '../api-keys/graphql.ts';
import { apiKeyRow } from '../api-keys/public.ts';
import {
  createOrganizationWithKeyInput,
  mayAdminister,
  organizationRow,
  readOrganizations,
} from '../organizations/public.ts';
import { createOrganization } from './organization-creation.ts';
import { UserType } from '../users/graphql.ts';
import { orderType } from '../../core/graphql/orders.ts';
import { organizationList } from '../organizations/graphql/organization-list.ts';
import { OrganizationType, RoleEnum } from '../organizations/graphql/types.ts';
import {
  changeOrganizationMemberRoleInput,
  leaveOrganizationInput,
  memberFilter,
  removeOrganizationMemberInput,
} from './input.ts';
import {
  changeOrganizationMemberRole,
  leaveOrganization,
  listMembers,
  readMembers,
  removeOrganizationMember,
} from './operations.ts';
import { type MemberRow, memberRow } from './queries.ts';

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

const MemberFilter = builder.inputType('OrganizationMemberFilter', {
  description:
    'Conditions on members. A member is listed when they meet all of them. A condition with an empty list matches nothing.',
  validate: memberFilter,
  fields: (t) => ({
    roles: t.field({ type: [RoleEnum], description: 'Members with any of these roles, at most 100.' }),
    search: t.string({
      description:
        'Members whose name or e-mail address contains this text of at most 254 characters. Case is ignored; there are no wildcards.',
    }),
    createdFrom: t.field({ type: 'DateTime', description: 'Members who joined at this time or later.' }),
    createdBefore: t.field({ type: 'DateTime', description: 'Members who joined before this time.' }),
  }),
});

const MEMBER_ORDER = orderType<'JOINED_AT'>('OrganizationMember', {
  of: 'members',
  fields: { JOINED_AT: 'When the member joined.' },
  otherwise: { field: 'JOINED_AT', direction: 'ASC' },
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

mutation('createOrganization', {
  access: createOrganization.access,
  description:
    'Creates an organization and makes the caller its administrator. A person can own at most 20 organizations, as creator or administrator.',
  schema: createOrganizationWithKeyInput,
  input: (t) => ({
    name: t.string({ required: true, description: 'Name of the organization, 1 to 100 characters.' }),
    slug: t.string({
      description:
        'Unique slug: 1 to 100 characters, lowercase letters and digits in groups separated by single hyphens. When absent, it is generated from the name.',
    }),
    createApiKey: t.boolean({
      defaultValue: false,
      description:
        'Whether to also create an API key that is bound to the new organization, with the scopes and the expiry of the calling key. Needs the scope `api_keys.write`.',
    }),
  }),
  errors: [ConflictError],
  run: async (context, input) => {
    const { organization, created } = await createOrganization(context, input);
    return {
      organization: organizationRow(organization),
      apiKey: created && apiKeyRow(created.apiKey),
      key: created?.key,
    };
  },
  payload: (t) => ({
    organization: t.field({
      type: OrganizationType,
      description:
        'The new organization. To act in it, send an unbound key with the header `X-Organization-Id`, or a key that is bound to it.',
      resolve: ({ organization }) => organization,
    }),
    apiKey: t.field({
      type: ApiKeyType,
      nullable: true,
      description: 'The new key, without its secret. Null unless `createApiKey` was true.',
      resolve: ({ apiKey, organization }) => apiKey && { ...apiKey, organization },
    }),
    key: t.string({
      nullable: true,
      description:
        'The secret of the new key, which is shown only in this answer. Null unless `createApiKey` was true.',
      resolve: ({ key }) => key,
    }),
  }),
});
