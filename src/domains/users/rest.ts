import { z } from 'zod';
import { documentOf } from '../../core/http/documents.ts';
import { route } from '../../core/http/route.ts';
import { readViewer } from './operations.ts';
import { USER_TEXTS } from './texts.ts';

const userDocument = documentOf(USER_TEXTS, {
  id: z.uuid(),
  email: z.string().nullable(),
  name: z.string().nullable(),
  createdAt: z.iso.datetime(),
}).meta({ id: 'User' });

const userExample: z.input<typeof userDocument> = {
  id: '4c8a1d2e-7b3f-4e6a-8c9d-0e1f2a3b4c5d',
  email: 'ann@example.com',
  name: 'Ann',
  createdAt: '2026-03-01T10:20:30.500Z',
};

export const userRoutes = [
  route(readViewer, {
    method: 'GET',
    path: '/v1/users/me',
    tag: 'Users',
    description: 'The `id` can be used for `DELETE /v1/users/{userId}`.',
    output: userDocument,
    status: 200,
    examples: { output: userExample },
    toDocument: ({ id, email, name, createdAt }) => ({ id, email, name, createdAt }),
  }),
];
