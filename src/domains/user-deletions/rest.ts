import { z } from 'zod';
import { route } from '../../core/http/route.ts';
import { deleteUserInput } from './input.ts';
import { deleteUser } from './operations.ts';

const userDeletionDocument = z
  .strictObject({ deletionJobId: z.uuid(), deletionQueued: z.literal(true), id: z.uuid() })
  .meta({ id: 'UserDeletion' });

export const userDeletionRoutes = [
  route({
    method: 'DELETE',
    path: '/v1/users/:userId',
    operationId: 'deleteUser',
    access: deleteUser.access,
    tag: 'Users',
    summary: "Queue the permanent deletion of the caller's account.",
    description:
      'You can delete only your own account. A repeated request returns the same job. When the deletion runs, the key is revoked and answers 401. 409 while you are the only administrator of an organization that has other members. Needs the scope `users.delete`.',
    input: deleteUserInput,
    output: userDeletionDocument,
    status: 202,
    errors: [400, 403, 409, 500],
    optionalBody: true,
    examples: {
      input: { deletionQuestionnaire: { reasons: ['no longer needed'], submittedAt: '2026-03-01T10:20:30.000Z' } },
      output: {
        deletionJobId: 'a3bb189e-8bf9-4888-9912-ace4e6543002',
        deletionQueued: true,
        id: '4c8a1d2e-7b3f-4e6a-8c9d-0e1f2a3b4c5d',
      },
    },
    run: async (context, input) => {
      const { id, userId } = await deleteUser(context, input);
      return { deletionJobId: id, deletionQueued: true as const, id: userId };
    },
  }),
];
