import { exampleOf } from '../../core/documents.ts';
import { routesOf } from '../../core/http/route.ts';
import { listDocument, readList } from '../../core/input/lists.ts';
import {
  apiKeyDocument,
  createdApiKeyDocument,
  listApiKeysInput,
  toApiKey,
  toCreatedApiKey,
} from '../api-keys/public.ts';
import { serviceAccountDocument, toServiceAccount } from '../users/public.ts';
import { listServiceAccountsInput, serviceAccountReference } from './input.ts';
import {
  createServiceAccount,
  createServiceAccountApiKey,
  deleteServiceAccount,
  listServiceAccountApiKeys,
  listServiceAccounts,
  updateServiceAccount,
} from './operations.ts';

const route = routesOf('Service accounts');

const keyOf = { userId: null, serviceAccountId: exampleOf(serviceAccountDocument).id };

export const serviceAccountRoutes = [
  route('GET /v1/service-accounts', listServiceAccounts, {
    summary: 'Lists service accounts, oldest first.',
    input: listServiceAccountsInput,
    output: listDocument(serviceAccountDocument),
    run: (context, page) =>
      readList(page, (given) => listServiceAccounts(context, { filter: {}, page: given }), toServiceAccount),
  }),
  route('POST /v1/service-accounts', createServiceAccount, {
    output: serviceAccountDocument,
    examples: { input: { name: 'Continuous integration', role: 'member' } },
    toDocument: toServiceAccount,
  }),
  route('PATCH /v1/service-accounts/:serviceAccountId', updateServiceAccount, {
    optionalBody: false,
    output: serviceAccountDocument,
    examples: {
      input: { name: 'Nightly builds' },
      output: { ...exampleOf(serviceAccountDocument), name: 'Nightly builds' },
    },
    toDocument: toServiceAccount,
  }),
  route('DELETE /v1/service-accounts/:serviceAccountId', deleteServiceAccount),
  route('GET /v1/service-accounts/:serviceAccountId/api-keys', listServiceAccountApiKeys, {
    summary: 'Lists the API keys of a service account, newest first.',
    input: listApiKeysInput.extend(serviceAccountReference.shape),
    output: listDocument(apiKeyDocument),
    examples: { output: { items: [{ ...exampleOf(apiKeyDocument), ...keyOf }], nextCursor: null } },
    run: (context, { includeRevoked, serviceAccountId, ...page }) =>
      readList(
        page,
        (given) => listServiceAccountApiKeys(context, { serviceAccountId, filter: { includeRevoked }, page: given }),
        toApiKey,
      ),
  }),
  route('POST /v1/service-accounts/:serviceAccountId/api-keys', createServiceAccountApiKey, {
    output: createdApiKeyDocument,
    examples: {
      input: { name: 'Builds of main', scopes: ['sessions.read', 'sessions.record'] },
      output: { ...exampleOf(createdApiKeyDocument), ...keyOf },
    },
    toDocument: toCreatedApiKey,
  }),
];
