import { z } from 'zod';
import { documentOf } from '../../core/http/documents.ts';
import { route } from '../../core/http/route.ts';
import { listDocument, readList } from '../../core/input/lists.ts';
import { listApiKeysInput } from './input.ts';
import { createApiKey, listApiKeys, revokeApiKey } from './operations.ts';
import { apiKeyAnswer } from './queries.ts';
import {
  apiKeyDocument,
  apiKeyExample,
  createdApiKeyDocument,
  createdApiKeyExample,
  toCreatedApiKeyDocument,
} from './rest-documents.ts';
import { API_KEY_TEXTS } from './texts.ts';

const tag = 'API keys';

const REVOKED_TEXTS = { deleted: 'Always true.', id: API_KEY_TEXTS.id };
const revokedApiKeyDocument = documentOf(REVOKED_TEXTS, { deleted: z.literal(true), id: z.uuid() }).meta({
  id: 'ApiKeyDeletion',
});

export const apiKeyRoutes = [
  route(listApiKeys, {
    method: 'GET',
    path: '/v1/api-keys',
    tag,
    summary: 'Lists API keys, newest first.',
    description:
      "Lists the keys of the organization that the request acts in: all keys for an administrator, their own for a member. An unbound key also lists the caller's unbound keys, whose `organizationId` is null.",
    input: listApiKeysInput,
    output: listDocument(apiKeyDocument),
    status: 200,
    examples: { output: { items: [apiKeyExample], nextCursor: null } },
    run: (context, { includeRevoked, ...page }) =>
      readList(page, (given) => listApiKeys(context, { filter: { includeRevoked }, page: given }), apiKeyAnswer),
  }),
  route(createApiKey, {
    method: 'POST',
    path: '/v1/api-keys',
    tag,
    description:
      'An unbound key (`allOrganizations`) acts in any organization of its user. 403 where the key would be stronger than the calling one: more scopes, a later expiry, or, for a bound key, another organization. A user has at most 25 active keys in an organization and 25 unbound ones (409). `key` is the secret, shown here and never again.',
    output: createdApiKeyDocument,
    status: 201,
    examples: {
      input: { name: 'Continuous integration', scopes: ['sessions.read', 'sessions.record'] },
      output: createdApiKeyExample,
    },
    toDocument: toCreatedApiKeyDocument,
  }),
  route(revokeApiKey, {
    method: 'DELETE',
    path: '/v1/api-keys/:apiKeyId',
    tag,
    description:
      'The key is refused from the next request on. Members can revoke their own keys, administrators all keys of the organization, and a key can revoke itself.',
    output: revokedApiKeyDocument,
    status: 200,
    examples: { output: { deleted: true, id: apiKeyExample.id } },
    toDocument: ({ id }) => ({ deleted: true as const, id }),
  }),
];
