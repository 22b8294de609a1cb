import { OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { EXPECTED_UPDATED_AT } from '../../../core/input/expected-version.ts';
import { ConflictError, NotFoundError } from '../../../core/errors.ts';
import { mutation } from '../../../core/graphql/mutations.ts';
import { acceptingIds } from '../../../core/graphql/global-ids.ts';
import { selectedColumns } from '../../../core/graphql/selection.ts';
import { ApiKeyType } from '../../api-keys/graphql.ts';
import { apiKeyRow } from '../../api-keys/operations.ts';
import { OrganizationType } from './types.ts';
import { createOrganizationWithKeyInput, organizationReference, updateOrganizationInput } from '../input.ts';
import { createOrganization, readOrganization, updateOrganization } from '../operations.ts';
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
