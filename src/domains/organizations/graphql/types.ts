import { resolveBatched } from '../../../core/graphql/batches.ts';
import { OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { connectionType } from '../../../core/graphql/connections.ts';
import { nodeType, uuidsOf } from '../../../core/graphql/nodes.ts';
import {
  PRODUCT_FAMILIES,
  type ProductFamily,
  SUBSCRIPTION_LEVELS,
  type SubscriptionLevel,
} from '../../../core/config.ts';
import type { Role } from '../../../core/operation.ts';
import { needs } from '../../../core/graphql/selection.ts';
import { memberCountsOf, readOrganizations, rolesOf } from '../operations.ts';
import { mayAdminister } from '../policy.ts';
import type { OrganizationRow } from '../queries.ts';

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
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: 'When it was last changed; what `expectedUpdatedAt` is compared with.',
    }),
  }),
});

export const OrganizationConnection = connectionType(OrganizationType, { of: 'organizations' });
