import { randomUUID } from 'node:crypto';
import type { Cases } from '../../support/operations/cases.ts';

export const apiKeys: Cases = {
  createApiKey: {
    input: (to) => ({ organizationId: to.organizationId, name: 'CI', scopes: ['SOCIAL'] }),
    body: () => ({ name: 'CI', scopes: ['social'] }),
    creates: 'ApiKey',
  },
  renameApiKey: {
    isOnlyInGraphQL: true,
    input: (to) => ({ apiKeyId: to.apiKeyId, name: `Robot ${randomUUID()}` }),
    target: 'ApiKey',
  },
  unblockApiKey: { isOnlyInGraphQL: true, input: (to) => ({ apiKeyId: to.apiKeyId }), target: 'ApiKey' },
  revokeApiKey: { input: (to) => ({ apiKeyId: to.apiKeyId }), target: 'ApiKey' },
};
