import { routesOf } from '../../core/http/route.ts';
import { listDocument, readList } from '../../core/input/lists.ts';
import { listApiKeysInput } from './input.ts';
import { createApiKey, listApiKeys, revokeApiKey } from './operations.ts';
import {
  apiKeyDocument,
  createdApiKeyDocument,
  revokedApiKeyDocument,
  toApiKey,
  toCreatedApiKey,
} from './documents.ts';

const route = routesOf('API keys');

export const apiKeyRoutes = [
  route('GET /v1/api-keys', listApiKeys, {
    summary: 'Lists API keys, newest first.',
    description:
      "Lists the keys of the organization that the request acts in: all keys for an administrator, their own for a member. An unbound key also lists the caller's unbound keys, whose `organizationId` is null.",
    input: listApiKeysInput,
    output: listDocument(apiKeyDocument),
    run: (context, { includeRevoked, ...page }) =>
      readList(page, (given) => listApiKeys(context, { filter: { includeRevoked }, page: given }), toApiKey),
  }),
  route('POST /v1/api-keys', createApiKey, {
    description:
      'An unbound key (`allOrganizations`) acts in any organization of its user. 403 where the key would be stronger than the calling one: more scopes, a later expiry, or, for a bound key, another organization. A user has at most 25 active keys in an organization and 25 unbound ones (409). `key` is the secret, shown here and never again.',
    output: createdApiKeyDocument,
    examples: {
      input: { name: 'Continuous integration', scopes: ['sessions.read', 'sessions.record'] },
    },
    toDocument: toCreatedApiKey,
  }),
  route('DELETE /v1/api-keys/:apiKeyId', revokeApiKey, {
    description:
      'The key is refused from the next request on. Members can revoke their own keys, administrators all keys of the organization, and a key can revoke itself.',
    output: revokedApiKeyDocument,
    toDocument: ({ id }) => ({ deleted: true as const, id }),
  }),
];
