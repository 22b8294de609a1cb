import { routesOf } from '../../core/http/route.ts';
import { toUser, userDocument } from './documents.ts';
import { readViewer } from './operations.ts';

const route = routesOf('Users');

export const userRoutes = [
  route('GET /v1/users/me', readViewer, {
    description: 'The `id` can be used for `DELETE /v1/users/{userId}`.',
    output: userDocument,
    toDocument: toUser,
  }),
];
