import { z } from 'zod';
import { documentOf } from '../../core/http/documents.ts';
import { route } from '../../core/http/route.ts';
import { deleteObjectOccurrences } from './object-deletion.ts';

const objectDeletionDocument = documentOf(
  { deletionJobId: 'Id of the deletion job.', deletionQueued: 'Always true.' },
  { deletionJobId: z.uuid(), deletionQueued: z.literal(true) },
).meta({ id: 'ObjectDeletion' });

export const objectDeletionRoutes = [
  route(deleteObjectOccurrences, {
    method: 'POST',
    path: '/v1/object-occurrences/delete',
    tag: 'Event occurrences',
    output: objectDeletionDocument,
    status: 202,
    examples: {
      input: { email: 'ada@example.com' },
      output: { deletionJobId: 'a3bb189e-8bf9-4888-9912-ace4e6543002', deletionQueued: true },
    },
    toDocument: ({ id }) => ({ deletionJobId: id, deletionQueued: true as const }),
  }),
];
