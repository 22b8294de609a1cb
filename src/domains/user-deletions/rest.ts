import { z } from 'zod';
import { documentOf } from '../../core/documents.ts';
import { routesOf } from '../../core/http/route.ts';
import { deleteUser } from './operations.ts';
import { deleteOrganizationMemberData } from './work-in-organization.ts';

const route = routesOf('Users');

const TEXTS = {
  deletionJobId: 'Id of the deletion job.',
  deletionQueued: 'Always true: the deletion is queued, or already running.',
  id: 'Id of the user.',
};

const userDeletionDocument = documentOf(TEXTS, {
  deletionJobId: z.uuid(),
  deletionQueued: z.literal(true),
  id: z.uuid(),
}).meta({ id: 'UserDeletion' });

const EXAMPLE = {
  deletionJobId: 'a3bb189e-8bf9-4888-9912-ace4e6543002',
  deletionQueued: true,
  id: '4c8a1d2e-7b3f-4e6a-8c9d-0e1f2a3b4c5d',
} as const;

export const userDeletionRoutes = [
  route('DELETE /v1/users/:userId', deleteUser, {
    output: userDeletionDocument,
    status: 202,
    optionalBody: true,
    examples: {
      input: { deletionQuestionnaire: { reasons: ['no longer needed'], submittedAt: '2026-03-01T10:20:30.000Z' } },
      output: EXAMPLE,
    },
    toDocument: ({ id, userId }) => ({ deletionJobId: id, deletionQueued: true as const, id: userId }),
  }),
  route('DELETE /v1/organizations/:organizationId/members/:userId/data', deleteOrganizationMemberData, {
    output: userDeletionDocument,
    status: 202,
    examples: { output: EXAMPLE },
    toDocument: ({ job, user }) => ({ deletionJobId: job.id, deletionQueued: true as const, id: user.id }),
  }),
];
