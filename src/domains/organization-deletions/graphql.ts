import { NotFoundError } from '../../core/errors.ts';
import { OWN_STATEMENT, builder } from '../../core/graphql/builder.ts';
import { mutation } from '../../core/graphql/mutations.ts';
import { toGlobalId } from '../../core/graphql/nodes.ts';
import { refusable } from '../../core/graphql/refusable.ts';
import { needs } from '../../core/graphql/selection.ts';
import { OrganizationType } from '../organizations/graphql/types.ts';
import { DeletionJobType } from '../user-deletions/graphql.ts';
import { deletionJobRow } from '../user-deletions/operations.ts';
import { deleteOrganizationInput } from './input.ts';
import { deleteOrganization, readDeletionPreview } from './operations.ts';
import { mayDelete } from './policy.ts';
import type { DeletionPreview } from './queries.ts';

const PreviewType = builder.objectRef<DeletionPreview>('OrganizationDeletionPreview').implement({
  description: 'What the deletion of an organization takes away, as it is now.',
  fields: (t) => ({
    memberCount: t.exposeInt('memberCount', { description: 'Members, whose accounts stay.' }),
    sessionCount: t.exposeInt('sessionCount', { description: 'Sessions.' }),
    sessionEventCount: t.expose('sessionEventCount', { type: 'BigInt', description: 'Events of these sessions.' }),
    mcpServerCount: t.exposeInt('mcpServerCount', { description: 'MCP connections, shared and personal ones.' }),
    eventDefinitionCount: t.exposeInt('eventDefinitionCount', {
      description: 'Event definitions, which go with their occurrences.',
    }),
    apiKeyCount: t.exposeInt('apiKeyCount', { description: 'API keys that are bound to it and not revoked.' }),
  }),
});

builder.objectFields(OrganizationType, (t) => ({
  viewerCanDelete: t.boolean({
    description:
      'Whether the caller may delete it: an administrator with the scope `organizations.write`, in a request that acts in this organization.',
    extensions: needs<{ id: string }>('id'),
    resolve: ({ id }, _, { actor }) => mayDelete(actor, id),
  }),
  deletionPreview: t.field({
    type: PreviewType,
    description: 'What its deletion would take away.',
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
    'Deletes the organization that the request acts in, with everything in it, which cannot be undone. Its keys, and the access of unbound keys, end before this is answered; a job then deletes what it holds. The accounts of its members stay.',
  schema: deleteOrganizationInput,
  ids: { organizationId: 'Organization' },
  input: (t) => ({
    organizationId: t.id({ description: 'Either id of the organization, to be sure which one it is; may be absent.' }),
    confirmSlug: t.string({
      required: true,
      description: 'The slug of the organization, typed again; its plain id where it has no slug.',
    }),
  }),
  errors: [NotFoundError],
  run: async (context, input) => ({ deletionJob: deletionJobRow(await deleteOrganization(context, input)) }),
  payload: (t) => ({
    deletionJob: t.field({
      type: DeletionJobType,
      description: 'The job that deletes everything in the organization. `deletionJob` follows it.',
      resolve: ({ deletionJob }) => deletionJob,
    }),
    deletedId: t.id({
      nullable: true,
      description: 'Global id of the organization.',
      resolve: ({ deletionJob: { organizationId } }) => organizationId && toGlobalId('Organization', organizationId),
    }),
  }),
});
