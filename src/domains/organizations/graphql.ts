import { resolveBatched } from '../../core/graphql/batches.ts';
import { OWN_STATEMENT, builder } from '../../core/graphql/builder.ts';
import { connectionType, resolveConnection } from '../../core/graphql/connections.ts';
import { ConflictError, NotFoundError } from '../../core/errors.ts';
import { mutation } from '../../core/graphql/mutations.ts';
import { nodeType, toGlobalId, uuidsOf } from '../../core/graphql/nodes.ts';
import type { Role } from '../../core/operation.ts';
import { needs, selectedColumns } from '../../core/graphql/selection.ts';
import { UserType } from '../users/graphql.ts';
import {
  addOrganizationMemberInput,
  changeOrganizationMemberRoleInput,
  createOrganizationInput,
  removeOrganizationMemberInput,
  updateOrganizationInput,
} from './input.ts';
import { addOrganizationMember, changeOrganizationMemberRole, removeOrganizationMember } from './member-operations.ts';
import { createOrganization, memberCountsOf, membersOf, readOrganizations, updateOrganization } from './operations.ts';
import { type MemberRow, type OrganizationRow, memberRow, organizationRow } from './queries.ts';

export const RoleEnum = builder.enumType('OrganizationRole', {
  description: 'What a member may do in an organization.',
  values: {
    ADMIN: {
      value: 'admin',
      description: 'Manages the organization, its members, its shared connections and all its keys.',
    },
    MEMBER: { value: 'member', description: 'Works in the organization.' },
  } satisfies Record<string, { value: Role; description: string }>,
});

export const OrganizationType = nodeType<OrganizationRow>('Organization', {
  description: 'A tenant: every other record belongs to one, and nothing of one is visible in another.',
  keyOf: ({ id }) => id,
  load: (context, keys, selected) => readOrganizations(context, uuidsOf(keys), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'The id that REST uses.' }),
    name: t.exposeString('name', { description: '1 to 100 characters.' }),
    slug: t.exposeString('slug', {
      nullable: true,
      description: 'Unique over all organizations; null when the name left nothing to make one of.',
    }),
    logoUrl: t.expose('logoUrl', { type: 'URL', nullable: true, description: 'Address of its logo.' }),
    memberCount: t.int({
      description: 'How many members it has.',
      extensions: { ...OWN_STATEMENT, ...needs<OrganizationRow>('id') },
      resolve: async ({ id }, _, context, info) =>
        (await resolveBatched({ context, info }, id, memberCountsOf(context))) ?? 0,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last changed.' }),
  }),
});

export const OrganizationConnection = connectionType(OrganizationType, { of: 'organizations' });

const MemberType = builder.objectRef<MemberRow>('OrganizationMember').implement({
  description: 'A user in an organization.',
  fields: (t) => ({
    user: t.field({
      type: UserType,
      description: 'Who.',
      extensions: needs<MemberRow>('userId', 'email', 'name', 'userCreatedAt'),
      resolve: ({ userId, email, name, userCreatedAt }) => ({ id: userId, email, name, createdAt: userCreatedAt }),
    }),
    role: t.expose('role', { type: RoleEnum, description: 'What they may do.' }),
    joinedAt: t.expose('createdAt', { type: 'DateTime', description: 'When they became a member.' }),
  }),
});

const OrganizationMemberConnection = connectionType(MemberType, {
  of: 'members',
  edgeFields: (t) => ({
    role: t.field({
      type: RoleEnum,
      description: 'What the member may do in this organization.',
      extensions: needs<MemberRow>('role'),
      resolve: ({ node }) => node.role,
    }),
  }),
});

builder.objectField(OrganizationType, 'members', (t) =>
  t.connection(
    {
      type: MemberType,
      description: 'Its members, by time of joining.',
      extensions: needs<OrganizationRow>('id'),
      resolve: ({ id }, args, context, info) => {
        const selected = selectedColumns<MemberRow>(info, 'OrganizationMember');
        const pages = membersOf(context, args, selected);
        return resolveConnection({ context, info, args }, id, {
          pages,
          counts: memberCountsOf(context),
          columns: selected,
        });
      },
    },
    OrganizationMemberConnection,
  ),
);

mutation('createOrganization', {
  access: createOrganization.access,
  description: 'Creates an organization and makes the caller its administrator.',
  schema: createOrganizationInput,
  input: (t) => ({
    name: t.string({ required: true, description: '1 to 100 characters.' }),
    slug: t.string({
      description:
        'At most 100 lowercase letters and digits in groups joined by hyphens; made from the name when absent.',
    }),
  }),
  errors: [ConflictError],
  run: async (context, input) => ({ organization: organizationRow(await createOrganization(context, input)) }),
  payload: (t) => ({
    organization: t.field({
      type: OrganizationType,
      description: 'The new organization.',
      resolve: ({ organization }) => organization,
    }),
  }),
});

mutation('updateOrganization', {
  access: updateOrganization.access,
  description: "Changes name and logo of the caller's organization.",
  schema: updateOrganizationInput,
  ids: { organizationId: 'Organization' },
  input: (t) => ({
    organizationId: t.id({ required: true, description: 'Either id of the organization.' }),
    name: t.string({ description: '1 to 100 characters; kept when absent.' }),
    logoUrl: t.string({ description: 'http(s) address, at most 2048 characters; kept when absent, cleared by null.' }),
  }),
  errors: [NotFoundError],
  run: async (context, input) => ({ organization: organizationRow(await updateOrganization(context, input)) }),
  payload: (t) => ({
    organization: t.field({
      type: OrganizationType,
      description: 'The changed organization.',
      resolve: ({ organization }) => organization,
    }),
  }),
});

mutation('addOrganizationMember', {
  access: addOrganizationMember.access,
  description: "Makes a user a member of the caller's organization, and creates the user when the address is new.",
  schema: addOrganizationMemberInput,
  input: (t) => ({
    email: t.string({ required: true, description: 'E-mail address of the user; compared without case.' }),
    role: t.field({ type: RoleEnum, description: '`MEMBER` when absent.' }),
  }),
  errors: [ConflictError],
  run: addOrganizationMember,
  payload: (t) => ({
    member: t.field({
      type: MemberType,
      description: 'The new member.',
      resolve: ({ membership }) => memberRow(membership),
    }),
  }),
});

mutation('changeOrganizationMemberRole', {
  access: changeOrganizationMemberRole.access,
  description: 'Changes what a member may do; the last admin stays one.',
  schema: changeOrganizationMemberRoleInput,
  ids: { userId: 'User' },
  input: (t) => ({
    userId: t.id({ required: true, description: 'Either id of the user.' }),
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
  description: "Ends a membership and revokes the member's keys of the organization; never of the last admin.",
  schema: removeOrganizationMemberInput,
  ids: { userId: 'User' },
  input: (t) => ({ userId: t.id({ required: true, description: 'Either id of the user.' }) }),
  errors: [NotFoundError, ConflictError],
  run: removeOrganizationMember,
  payload: (t) => ({
    removedUserId: t.id({
      description: 'Global id of the user who is no longer a member.',
      resolve: ({ user }) => toGlobalId('User', user.id),
    }),
  }),
});
