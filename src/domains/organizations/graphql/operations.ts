import { OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { mutation, one } from '../../../core/graphql/mutations.ts';
import { acceptingIds } from '../../../core/graphql/global-ids.ts';
import { selectedColumns } from '../../../core/graphql/selection.ts';
import { OrganizationType } from './types.ts';
import { organizationReference } from '../input.ts';
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

mutation(updateOrganization, {
  ids: { organizationId: 'Organization' },
  payload: one('organization', OrganizationType, 'The changed organization.', organizationRow),
});
