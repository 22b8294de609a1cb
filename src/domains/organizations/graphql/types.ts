import { shown } from '../../../core/graphql/derived-fields.ts';
import { resolveBatched } from '../../../core/graphql/batches.ts';
import { OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { entityType } from '../../../core/graphql/nodes.ts';
import {
  PRODUCT_FAMILIES,
  type ProductFamily,
  SUBSCRIPTION_LEVELS,
  type SubscriptionLevel,
} from '../../../core/config.ts';
import { ROLES } from '../../../core/access.ts';
import type { Missing } from '../../../core/errors.ts';
import { ForbiddenErrorType } from '../../../core/graphql/errors.ts';
import { enumOf } from '../../../core/graphql/enums.ts';
import { referenceTo } from '../../../core/graphql/references.ts';
import { needs } from '../../../core/graphql/selection.ts';
import { type OrganizationRow, memberCountsOf, rolesOf } from '../queries.ts';
import { readOrganizations } from '../operations.ts';
import { mayAdminister } from '../policy.ts';
import { organizationDocument } from '../documents.ts';
import { DEFINITION_DELETIONS } from '../entity.ts';

export const RoleEnum = enumOf('OrganizationRole', 'Role of a member in an organization.', ROLES, {
  admin: 'Manages the organization, its members, its shared connections and all its keys.',
  viewer: 'Reads what members read, and changes, records and calls nothing but their own profile and keys.',
  member: 'Can use the organization, and manages their own sessions, keys and personal connections.',
});

const MissingAccess = builder.objectRef<Missing>('MissingAccess').implement({
  description: 'What a caller lacks.',
  fields: (t) => ({
    scopes: t.field({
      type: t.listRef(t.listRef('String')),
      description: 'Scopes: all of one of these lists are needed. Empty if no scope is missing.',
      resolve: ({ scopes }) => scopes.map((each) => [...each]),
    }),
    role: t.expose('role', {
      type: RoleEnum,
      nullable: true,
      description: 'The role that is needed, or a higher one. Null if the role suffices.',
    }),
    subscription: t.exposeBoolean('subscription', {
      nullable: true,
      description: 'True if the organization lacks the subscription. Null if not.',
    }),
  }),
});

builder.objectField(ForbiddenErrorType, 'missing', (t) =>
  t.expose('missing', {
    type: MissingAccess,
    nullable: true,
    description: 'What the caller lacks, so that a page can say who may do this. Null if nothing of it would help.',
  }),
);

const named = <Name extends string>(names: readonly Name[], description: (name: Name) => string) =>
  Object.fromEntries(names.map((name) => [name.toUpperCase(), { value: name, description: description(name) }]));

const DefinitionDeletionEnum = enumOf('DefinitionDeletion', 'Who can delete event definitions.', DEFINITION_DELETIONS, {
  members: 'Every member.',
  creators: 'Administrators, and the creator of the definition.',
});

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

export const OrganizationType = entityType<OrganizationRow>('Organization', {
  stored: { table: 'organization', organization: 'id' },
  description: 'A tenant. All other records belong to an organization and are invisible to other organizations.',
  read: readOrganizations,
  fields: (t) => ({
    ...shown(t, organizationDocument, ['name', 'slug', 'logoUrl', 'createdAt', 'updatedAt'], {
      types: { logoUrl: 'URL' },
    }),
    definitionDeletion: t.expose('definitionDeletion', {
      type: DefinitionDeletionEnum,
      description: 'Who can delete event definitions.',
      extensions: needs<OrganizationRow>('definitionDeletion'),
    }),
    subscriptions: t.field({
      type: [SubscriptionType],
      description:
        'Subscriptions of the organization, at most one for each product family. Event definitions need the level `PROFESSIONAL` or higher in at least one family.',
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
      description: 'Role of the caller in the organization. Null when the caller has just left it.',
      extensions: { ...OWN_STATEMENT, ...needs<OrganizationRow>('id') },
      resolve: async ({ id }, _, context, info) => {
        const { organization } = context.actor;
        if (organization?.id === id) return organization.role;
        return resolveBatched({ context, info }, id, rolesOf(context));
      },
    }),
    viewerCanAdminister: t.boolean({
      description:
        'Whether the caller can change the organization, its members and its invitations: true for administrators with the scope `organizations.write`, in a request that acts in this organization.',
      extensions: needs<OrganizationRow>('id'),
      resolve: ({ id }, _, { actor }) => mayAdminister(actor, id),
    }),
    memberCount: t.int({
      description: organizationDocument.shape.memberCount.description,
      extensions: { ...OWN_STATEMENT, ...needs<OrganizationRow>('id') },
      resolve: async ({ id }, _, context, info) =>
        (await resolveBatched({ context, info }, id, memberCountsOf(context))) ?? 0,
    }),
  }),
});

export const organizationField = referenceTo(OrganizationType, readOrganizations);
