import { z } from 'zod';
import { route } from '../../core/http/route.ts';
import { readViewerInput } from './input.ts';
import { readViewer } from './operations.ts';

const userDocument = z
  .strictObject({
    id: z.uuid(),
    email: z.string().nullable(),
    name: z.string().nullable(),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'User' });

const userExample: z.input<typeof userDocument> = {
  id: '4c8a1d2e-7b3f-4e6a-8c9d-0e1f2a3b4c5d',
  email: 'ann@example.com',
  name: 'Ann',
  createdAt: '2026-03-01T10:20:30.500Z',
};

export const userRoutes = [
  route({
    method: 'GET',
    path: '/v1/users/me',
    operationId: 'readViewer',
    access: readViewer.access,
    tag: 'Users',
    summary: 'Read the user who owns the API key.',
    description: 'The `id` can be used for `DELETE /v1/users/{userId}`. `name` is null when none was given.',
    input: readViewerInput,
    output: userDocument,
    status: 200,
    errors: [400],
    examples: { output: userExample },
    run: async (context) => {
      const { id, email, name, createdAt } = await readViewer(context);
      return { id, email, name, createdAt };
    },
  }),
];
