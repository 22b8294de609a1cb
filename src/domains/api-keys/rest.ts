import { z } from 'zod';
import { documentOf, readOnly } from '../../core/http/documents.ts';
import { route } from '../../core/http/route.ts';
import { listDocument, readList } from '../../core/input/lists.ts';
import { SCOPES } from '../../core/access.ts';
import { listApiKeysInput } from './input.ts';
import { createApiKey, listApiKeys, revokeApiKey } from './operations.ts';
import { apiKeyAnswer, apiKeyRow } from './queries.ts';
import { API_KEY_TEXTS } from './texts.ts';

const tag = 'API keys';

const apiKey = {
  id: readOnly(z.uuid()),
  name: z.string(),
  preview: readOnly(z.string()),
  scopes: z.array(z.enum(SCOPES)),
  userId: readOnly(z.uuid()),
  organizationId: z.uuid().nullable(),
  expiresAt: z.iso.datetime().nullable(),
  lastUsedAt: readOnly(z.iso.datetime().nullable()),
  revokedAt: readOnly(z.iso.datetime().nullable()),
  createdAt: readOnly(z.iso.datetime()),
};
const CREATED_TEXTS = { ...API_KEY_TEXTS, key: 'The secret key itself. It is shown only in this answer.' };
const REVOKED_TEXTS = { deleted: 'Always true.', id: API_KEY_TEXTS.id };

const apiKeyDocument = documentOf(API_KEY_TEXTS, apiKey).meta({ id: 'ApiKey' });
const createdApiKeyDocument = documentOf(CREATED_TEXTS, { ...apiKey, key: readOnly(z.string()) }).meta({
  id: 'CreatedApiKey',
});
const revokedApiKeyDocument = documentOf(REVOKED_TEXTS, { deleted: z.literal(true), id: z.uuid() }).meta({
  id: 'ApiKeyDeletion',
});

const apiKeyExample: z.input<typeof apiKeyDocument> = {
  id: '9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d',
  name: 'Continuous integration',
  preview: 'wgk_ab12…yz',
  scopes: ['sessions.read', 'sessions.record'],
  userId: '4c8a1d2e-7b3f-4e6a-8c9d-0e1f2a3b4c5d',
  organizationId: '1f0e9d8c-7b6a-4f5e-8d3c-2b1a09f8e7d6',
  expiresAt: null,
  lastUsedAt: '2026-03-01T10:20:30.500Z',
  revokedAt: null,
  createdAt: '2026-02-01T08:00:00.000Z',
};

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
      output: { ...apiKeyExample, lastUsedAt: null, key: 'wgk_ab12yJ7nQm0PzKd4Xs9TfVbRhLcGwEo3u1Ayz' },
    },
    toDocument: ({ apiKey: created, key }) => ({ ...apiKeyAnswer(apiKeyRow(created)), key }),
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
