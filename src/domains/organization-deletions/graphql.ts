import { NotFoundError } from '../../core/errors.ts';
import { OWN_STATEMENT, builder } from '../../core/graphql/builder.ts';
import { mutation } from '../../core/graphql/mutations.ts';
import { toGlobalId } from '../../core/graphql/global-ids.ts';
import { refusable } from '../../core/graphql/refusable.ts';
import { needs } from '../../core/graphql/selection.ts';
import { OrganizationType } from '../organizations/graphql/types.ts';
import { DeletionJobType } from '../user-deletions/graphql.ts';
import { deletionJobRow } from '../user-deletions/public.ts';
import { deleteOrganizationInput } from './input.ts';
import { deleteOrganization, readDeletionPreview } from './operations.ts';
import { mayDelete } from './policy.ts';
import type { DeletionPreview } from './queries.ts';

const PreviewType = builder.objectRef<DeletionPreview>('OrganizationDeletionPreview').implement({
  description: 'What would be deleted together with an organization now.',
  fields: (t) => ({
    memberCount: t.exposeInt('memberCount', { description: 'Number of members. Their accounts are not deleted.' }),
    sessionCount: t.exposeInt('sessionCount', { description: 'Sessions.' }),
    sessionEventCount: t.expose('sessionEventCount', {
      type: 'BigInt',
      description: 'Number of events of the sessions.',
    }),
    mcpServerCount: t.exposeInt('mcpServerCount', { description: 'Number of shared and personal MCP connections.' }),
    eventDefinitionCount: t.exposeInt('eventDefinitionCount', {
      description: 'Number of event definitions. Their occurrences are deleted too.',
    }),
    apiKeyCount: t.exposeInt('apiKeyCount', {
      description: 'Number of active API keys that are bound to the organization.',
    }),
  }),
});

builder.objectFields(OrganizationType, (t) => ({
  viewerCanDelete: t.boolean({
    description:
      'Whether the caller can delete the organization: true for administrators with the scope `organizations.write`, in a request that acts in this organization.',
    extensions: needs<{ id: string }>('id'),
    resolve: ({ id }, _, { actor }) => mayDelete(actor, id),
  }),
  deletionPreview: t.field({
    type: PreviewType,
    description: 'What would be deleted together with the organization.',
    extensions: {
      ...OWN_STATEMENT,
      ...refusable(readDeletionPreview.access, { actingOrganization: true }),
      ...needs<{ id: string }>('id'),
    },
    resolve: ({ id }, _, context) => readDeletionPreview(context, id),
  }),
}));

mutation('deleteOrganization', {
  access: deleteOrganization.access,
  description:
    'Deletes the organization that the request acts in, with everything in it. This cannot be undone. Nobody can access the organization any more after the answer; a background job then deletes its records. The accounts of its members are not deleted.',
  schema: deleteOrganizationInput,
  ids: { organizationId: 'Organization' },
  input: (t) => ({
    organizationId: t.id({
      description:
        '`id` or `databaseId` of the organization, as a safety check. When given, it must be the organization that the request acts in.',
    }),
    confirmSlug: t.string({
      required: true,
      description:
        'The slug of the organization as confirmation, or its `databaseId` when it has no slug; at most 255 characters.',
    }),
  }),
  errors: [NotFoundError],
  run: async (context, input) => ({ deletionJob: deletionJobRow(await deleteOrganization(context, input)) }),
  payload: (t) => ({
    deletionJob: t.field({
      type: DeletionJobType,
      description: 'The job that deletes the records of the organization. Query `deletionJob` to follow it.',
      resolve: ({ deletionJob }) => deletionJob,
    }),
    deletedId: t.id({
      nullable: true,
      description: 'Global id of the deleted organization; never null in this payload.',
      resolve: ({ deletionJob: { organizationId } }) => organizationId && toGlobalId('Organization', organizationId),
    }),
  }),
});
