import { OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { shown } from '../../../core/graphql/derived-fields.ts';
import { mutation, one } from '../../../core/graphql/mutations.ts';
import { refusable } from '../../../core/graphql/refusable.ts';
import { acceptingIds } from '../../../core/graphql/global-ids.ts';
import { needs, selectedColumns } from '../../../core/graphql/selection.ts';
import { OrganizationType } from './types.ts';
import { type KeyPolicy, keyPolicyDocument } from '../key-policy-document.ts';
import { organizationReference } from '../input.ts';
import { readOrganizationKeyPolicy, updateOrganizationKeyPolicy } from '../key-policy.ts';
import { readOrganization, updateOrganization } from '../operations.ts';
import { type OrganizationRow, organizationRow } from '../queries.ts';

builder.queryField('organization', (t) =>
  t.field({
    type: OrganizationType,
    nullable: true,
    description:
      'One organization of the caller, by id or slug. Null when the caller is not a member of such an organization, or the key is bound to another organization. Lists of the organization are null with an error unless the request acts in it.',
    extensions: OWN_STATEMENT,
    args: {
      id: t.arg.id({ description: '`id` or `databaseId` of the organization. Must not be combined with `slug`.' }),
      slug: t.arg.string({
        description: 'Slug of the organization, 1 to 100 characters. Must not be combined with `id`.',
      }),
    },
    validate: acceptingIds(organizationReference, { id: 'Organization' }),
    resolve: async (_, { id, slug }, context, info) => {
      const reference = { id: id ?? undefined, slug: slug ?? undefined };
      return (
        (await readOrganization(context, reference, selectedColumns<OrganizationRow>(info, 'Organization'))) ?? null
      );
    },
  }),
);

const KeyPolicyType = builder.objectRef<KeyPolicy>('KeyPolicy').implement({
  description: 'Which API keys people and service accounts can create and use in an organization.',
  fields: (t) => shown(t, keyPolicyDocument, ['maxDays', 'boundOnly']),
});

builder.objectField(OrganizationType, 'keyPolicy', (t) =>
  t.field({
    type: KeyPolicyType,
    description: 'Which API keys people and service accounts can create and use in the organization.',
    extensions: {
      ...OWN_STATEMENT,
      ...refusable(readOrganizationKeyPolicy.access, { actingOrganization: true }),
      ...needs<{ id: string }>('id'),
    },
    resolve: ({ id }, _, context) => readOrganizationKeyPolicy(context, { organizationId: id }),
  }),
);

mutation(updateOrganizationKeyPolicy, {
  ids: { organizationId: 'Organization' },
  payload: (t) => ({
    keyPolicy: t.field({ type: KeyPolicyType, description: 'The changed policy.', resolve: (policy) => policy }),
    organization: t.field({
      type: OrganizationType,
      description: 'The organization, whose `updatedAt` has changed.',
      resolve: ({ organization }) => organizationRow(organization),
    }),
  }),
});

mutation(updateOrganization, {
  ids: { organizationId: 'Organization' },
  payload: one('organization', OrganizationType, 'The changed organization.', organizationRow),
});
