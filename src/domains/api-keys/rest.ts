import { z } from 'zod';
import { route } from '../../core/http/route.ts';
import { revokeApiKeyInput } from './input.ts';
import { revokeApiKey } from './operations.ts';

const revokedApiKeyDocument = z.strictObject({ deleted: z.literal(true), id: z.uuid() }).meta({ id: 'ApiKeyDeletion' });

export const apiKeyRoutes = [
  route({
    method: 'DELETE',
    path: '/v1/api-keys/:apiKeyId',
    operationId: 'revokeApiKey',
    tag: 'API keys',
    summary: 'Revoke an active API key.',
    input: revokeApiKeyInput,
    output: revokedApiKeyDocument,
    status: 200,
    errors: [400, 404, 500],
    run: async (context, input) => ({ deleted: true as const, id: (await revokeApiKey(context, input)).id }),
  }),
];
