import { OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { EXPECTED_UPDATED_AT } from '../../../core/expected-version.ts';
import { ConflictError, NotFoundError } from '../../../core/errors.ts';
import { mutation } from '../../../core/graphql/mutations.ts';
import { acceptingIds } from '../../../core/graphql/nodes.ts';
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
      'One organization of the caller, by its id or its slug; null when they are no member of such a one, or the key is bound to another one. Its lists are answered only of the organization that the request acts in.',
    extensions: OWN_STATEMENT,
    args: {
      id: t.arg.id({ description: 'Either id of the organization. Not together with `slug`.' }),
      slug: t.arg.string({ description: 'Its slug. Not together with `id`.' }),
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
    'Creates an organization and makes the caller its administrator. A person owns at most 20 organizations, as their creator or an administrator.',
  schema: createOrganizationWithKeyInput,
  input: (t) => ({
    name: t.string({ required: true, description: '1 to 100 characters.' }),
    slug: t.string({
      description:
        'At most 100 lowercase letters and digits in groups joined by hyphens; made from the name when absent.',
    }),
    createApiKey: t.boolean({
      defaultValue: false,
      description:
        'Whether to create a key for the new organization, too: bound to it, with the scopes and the expiry of the calling key. Needs the scope `api_keys.write`.',
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
        'The new organization. An unbound key acts in it when `X-Organization-Id` names it; a key that is bound to another one does not.',
      resolve: ({ organization }) => organization,
    }),
    apiKey: t.field({
      type: ApiKeyType,
      nullable: true,
      description: 'The new key, without its secret; null unless `createApiKey` was set.',
      resolve: ({ apiKey, organization }) => apiKey && { ...apiKey, organization },
    }),
    key: t.string({
      nullable: true,
      description: 'The secret of the new key, shown here and never again; null unless `createApiKey` was set.',
      resolve: ({ key }) => key,
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
    logoUrl: t.field({
      type: 'URL',
      description: 'http(s) address, at most 2048 characters; kept when absent, cleared by null.',
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
