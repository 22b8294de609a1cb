import { z } from 'zod';
import { ROLES } from '../../core/access.ts';
import { documentOf, readOnly } from '../../core/http/documents.ts';
import { route } from '../../core/http/route.ts';
import { listDocument, readList } from '../../core/input/lists.ts';
import { apiKeyAnswer, listApiKeysInput } from '../api-keys/public.ts';
import {
  apiKeyDocument,
  apiKeyExample,
  createdApiKeyDocument,
  createdApiKeyExample,
  toCreatedApiKeyDocument,
} from '../api-keys/rest-documents.ts';
import { SERVICE_ACCOUNT_TEXTS, type ServiceAccountRow } from '../users/public.ts';
import { listServiceAccountsInput, serviceAccountReference } from './input.ts';
import {
  createServiceAccount,
  createServiceAccountApiKey,
  deleteServiceAccount,
  listServiceAccountApiKeys,
  listServiceAccounts,
  updateServiceAccount,
} from './operations.ts';
import { serviceAccountRow } from './queries.ts';

const tag = 'Service accounts';

const serviceAccountDocument = documentOf(SERVICE_ACCOUNT_TEXTS, {
  id: readOnly(z.uuid()),
  name: z.string(),
  role: z.enum(ROLES),
  createdAt: readOnly(z.iso.datetime()),
  updatedAt: readOnly(z.iso.datetime()),
}).meta({ id: 'ServiceAccount' });

const serviceAccountExample: z.input<typeof serviceAccountDocument> = {
  id: '8a6e0804-2bd0-4672-b79d-d97027f9071a',
  name: 'Continuous integration',
  role: 'member',
  createdAt: '2026-03-01T10:20:30.500Z',
  updatedAt: '2026-03-01T10:20:30.500Z',
};

function toDocument({ id, name, role, createdAt, updatedAt }: ServiceAccountRow): typeof serviceAccountExample {
  return { id, name, role, createdAt, updatedAt };
}

const keyOf = { userId: null, serviceAccountId: serviceAccountExample.id };

export const serviceAccountRoutes = [
  route(listServiceAccounts, {
    method: 'GET',
    path: '/v1/service-accounts',
    tag,
    summary: 'Lists service accounts, oldest first.',
    input: listServiceAccountsInput,
    output: listDocument(serviceAccountDocument),
    status: 200,
    examples: { output: { items: [serviceAccountExample], nextCursor: null } },
    run: (context, page) =>
      readList(page, (given) => listServiceAccounts(context, { filter: {}, page: given }), toDocument),
  }),
  route(createServiceAccount, {
    method: 'POST',
    path: '/v1/service-accounts',
    tag,
    output: serviceAccountDocument,
    status: 201,
    examples: { input: { name: 'Continuous integration', role: 'member' }, output: serviceAccountExample },
    toDocument: (account) => toDocument(serviceAccountRow(account)),
  }),
  route(updateServiceAccount, {
    method: 'PATCH',
    path: '/v1/service-accounts/:serviceAccountId',
    tag,
    output: serviceAccountDocument,
    status: 200,
    examples: { input: { name: 'Nightly builds' }, output: { ...serviceAccountExample, name: 'Nightly builds' } },
    toDocument: (account) => toDocument(serviceAccountRow(account)),
  }),
  route(deleteServiceAccount, {
    method: 'DELETE',
    path: '/v1/service-accounts/:serviceAccountId',
    tag,
    status: 204,
  }),
  route(listServiceAccountApiKeys, {
    method: 'GET',
    path: '/v1/service-accounts/:serviceAccountId/api-keys',
    tag,
    summary: 'Lists the API keys of a service account, newest first.',
    input: listApiKeysInput.extend(serviceAccountReference.shape),
    output: listDocument(apiKeyDocument),
    status: 200,
    examples: { output: { items: [{ ...apiKeyExample, ...keyOf }], nextCursor: null } },
    run: (context, { includeRevoked, serviceAccountId, ...page }) =>
      readList(
        page,
        (given) => listServiceAccountApiKeys(context, { serviceAccountId, filter: { includeRevoked }, page: given }),
        apiKeyAnswer,
      ),
  }),
  route(createServiceAccountApiKey, {
    method: 'POST',
    path: '/v1/service-accounts/:serviceAccountId/api-keys',
    tag,
    output: createdApiKeyDocument,
    status: 201,
    examples: {
      input: { name: 'Builds of main', scopes: ['sessions.read', 'sessions.record'] },
      output: { ...createdApiKeyExample, ...keyOf },
    },
    toDocument: toCreatedApiKeyDocument,
  }),
];
