import { exposed } from '../../core/graphql/fields.ts';
import { OWN_STATEMENT, builder } from '../../core/graphql/builder.ts';
import { mutation } from '../../core/graphql/mutations.ts';
import { toGlobalId } from '../../core/graphql/global-ids.ts';
import { refusable } from '../../core/graphql/refusable.ts';
import { needs } from '../../core/graphql/selection.ts';
import { OrganizationType } from '../organizations/graphql/types.ts';
import { DeletionJobType } from '../user-deletions/graphql.ts';
import { deletionJobRow } from '../user-deletions/public.ts';
import { deleteOrganization, readDeletionPreview } from './operations.ts';
import { mayDelete } from './policy.ts';
import type { DeletionPreview } from './queries.ts';

const PreviewType = builder.objectRef<DeletionPreview>('OrganizationDeletionPreview').implement({
  description: 'What would be deleted together with an organization now.',
  fields: (t) => ({
    ...exposed(t, {
      memberCount: ['Int', 'Number of members. Their accounts are not deleted.'],
      sessionCount: ['Int', 'Sessions.'],
      sessionEventCount: ['BigInt', 'Number of events of the sessions.'],
      mcpServerCount: ['Int', 'Number of shared and personal MCP connections.'],
      eventDefinitionCount: ['Int', 'Number of event definitions. Their occurrences are deleted too.'],
      apiKeyCount: ['Int', 'Number of active API keys that are bound to the organization.'],
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

mutation(deleteOrganization, {
  ids: { organizationId: 'Organization' },
  payload: (t) => ({
    deletionJob: t.field({
      type: DeletionJobType,
      description: 'The job that deletes the records of the organization. Query `deletionJob` to follow it.',
      resolve: (job) => deletionJobRow(job),
    }),
    deletedId: t.id({
      nullable: true,
      description: 'Global id of the deleted organization; never null in this payload.',
      resolve: ({ organizationId }) => organizationId && toGlobalId('Organization', organizationId),
    }),
  }),
});
