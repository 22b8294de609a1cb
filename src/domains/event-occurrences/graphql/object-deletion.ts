import { mutation } from '../../../core/graphql/mutations.ts';
import { DeletionJobType } from '../../user-deletions/graphql.ts';
import { deletionJobRow } from '../../user-deletions/public.ts';
import { deleteObjectOccurrences } from '../object-deletion.ts';

mutation(deleteObjectOccurrences, {
  types: { email: 'String', objectId: 'String' },
  payload: (t) => ({
    deletionJob: t.field({
      type: DeletionJobType,
      description: 'The job that deletes them. Query `deletionJob` to follow it.',
      resolve: (job) => deletionJobRow(job),
    }),
  }),
});
