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
    tag: 'Users',
    summary: "Queue the permanent deletion of the caller's account.",
    description:
      'Only the own account can be deleted. Asking again answers the same job; once it has run, the key answers 401. Refused with 409 while the caller is the only admin of an organization that has other members.',
    input: deleteUserInput,
    output: userDeletionDocument,
    status: 202,
    errors: [400, 403, 409, 500],
    optionalBody: true,
    examples: {
      input: { deletionQuestionnaire: { reasons: ['no longer needed'], submittedAt: '2026-03-01T10:20:30.000Z' } },
    },
    run: async (context, input) => {
      const { id, userId } = await deleteUser(context, input);
      return { deletionJobId: id, deletionQueued: true as const, id: userId };
    },
  }),
];
