import { resolveBatched } from '../../core/graphql/batches.ts';
import { OWN_STATEMENT, builder } from '../../core/graphql/builder.ts';
import { connectionType, resolveConnection } from '../../core/graphql/connections.ts';
import { ConflictError, NotFoundError } from '../../core/errors.ts';
import { mutation } from '../../core/graphql/mutations.ts';
import { nodeType, toGlobalId, uuidsOf } from '../../core/graphql/nodes.ts';
import {
  PRODUCT_FAMILIES,
  type ProductFamily,
  SUBSCRIPTION_LEVELS,
  type SubscriptionLevel,
} from '../../core/config.ts';
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
import {
  createOrganization,
  memberCountsOf,
  membersOf,
  readOrganizations,
  rolesOf,
  updateOrganization,
} from './operations.ts';
import { mayAdminister } from './policy.ts';
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

const named = <Name extends string>(names: readonly Name[], description: (name: Name) => string) =>
  Object.fromEntries(names.map((name) => [name.toUpperCase(), { value: name, description: description(name) }]));

const ProductFamilyEnum = builder.enumType('ProductFamily', {
  description: 'A family of products that an organization can subscribe to.',
  values: named(PRODUCT_FAMILIES, (name) => `The ${name} products.`),
});

const SubscriptionLevelEnum = builder.enumType('SubscriptionLevel', {
  description: 'Levels of a subscription, from the lowest to the highest.',
  values: named(SUBSCRIPTION_LEVELS, (name) =>
    ['free', 'starter'].includes(name)
      ? `The ${name} level; it does not include event definitions.`
      : `The ${name} level; it includes event definitions.`,
  ),
});

const SubscriptionType = builder
  .objectRef<{ readonly family: ProductFamily; readonly level: SubscriptionLevel }>('ProductSubscription')
  .implement({
    description: 'The level at which an organization subscribes to a product family.',
    fields: (t) => ({
      family: t.expose('family', { type: ProductFamilyEnum, description: 'The product family.' }),
      level: t.expose('level', { type: SubscriptionLevelEnum, description: 'The level.' }),
    }),
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
    subscriptions: t.field({
      type: [SubscriptionType],
      description:
        'Its subscriptions, at most one per product family; a family that is missing is not subscribed to. Event definitions need the level `PROFESSIONAL` or higher in at least one.',
      extensions: needs<OrganizationRow>('subscriptions'),
      resolve: ({ subscriptions }) =>
        PRODUCT_FAMILIES.flatMap((family) => {
          const level = subscriptions[family];
          return level === undefined ? [] : [{ family, level }];
        }),
    }),
    viewerRole: t.field({
      type: RoleEnum,
      nullable: true,
      description: 'The role of the caller in the organization; null when they have just left it.',
      extensions: { ...OWN_STATEMENT, ...needs<OrganizationRow>('id') },
      resolve: async ({ id }, _, context, info) => {
        const { organization } = context.actor;
        if (organization?.id === id) return organization.role;
        return resolveBatched({ context, info }, id, rolesOf(context));
      },
    }),
    viewerCanAdminister: t.boolean({
      description:
        'Whether the caller may change it, its members and its invitations: an administrator with the scope `organizations.write`, in a request that acts in this organization.',
      extensions: needs<OrganizationRow>('id'),
      resolve: ({ id }, _, { actor }) => mayAdminister(actor, id),
    }),
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
