import { OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { EXPECTED_UPDATED_AT } from '../../../core/input/expected-version.ts';
import { ConflictError, NotFoundError } from '../../../core/errors.ts';
import { mutation } from '../../../core/graphql/mutations.ts';
import { acceptingIds } from '../../../core/graphql/global-ids.ts';
import { selectedColumns } from '../../../core/graphql/selection.ts';
import { OrganizationType } from './types.ts';
import { organizationReference, updateOrganizationInput } from '../input.ts';
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

mutation('updateOrganization', {
  access: updateOrganization.access,
  description: 'Changes the name and the logo of the organization that the request acts in.',
  schema: updateOrganizationInput,
  ids: { organizationId: 'Organization' },
  input: (t) => ({
    organizationId: t.id({ required: true, description: '`id` or `databaseId` of the organization.' }),
    name: t.string({ description: 'Name of the organization, 1 to 100 characters; unchanged when absent.' }),
    logoUrl: t.field({
      type: 'URL',
      description:
        'Address of the logo: http or https, at most 2048 characters; unchanged when absent, cleared by null.',
    }),
    expectedUpdatedAt: t.field({ type: 'DateTime', description: EXPECTED_UPDATED_AT }),
  }),
  errors: [NotFoundError, ConflictError],
  run: async (context, input) => ({ organization: organizationRow(await updateOrganization(context, input)) }),
  payload: (t) => ({
    organization: t.field({
      type: OrganizationType,
      description: 'The changed organization.',
      resolve: ({ organization }) => organization,
    }),
  }),
});
