import { z } from 'zod';
import { documentOf, readOnly } from '../../core/http/documents.ts';
import { SCOPES } from '../../core/access.ts';
import type { CreatedApiKey } from './operations.ts';
import { apiKeyAnswer, apiKeyRow } from './queries.ts';
import { API_KEY_TEXTS } from './texts.ts';

const apiKey = {
  id: readOnly(z.uuid()),
  name: z.string(),
  preview: readOnly(z.string()),
  scopes: z.array(z.enum(SCOPES)),
  userId: readOnly(z.uuid().nullable()),
  serviceAccountId: readOnly(z.uuid().nullable()),
  organizationId: z.uuid().nullable(),
  expiresAt: z.iso.datetime().nullable(),
  lastUsedAt: readOnly(z.iso.datetime().nullable()),
  revokedAt: readOnly(z.iso.datetime().nullable()),
  createdAt: readOnly(z.iso.datetime()),
};
const CREATED_TEXTS = { ...API_KEY_TEXTS, key: 'The secret key itself. It is shown only in this answer.' };

export const apiKeyDocument = documentOf(API_KEY_TEXTS, apiKey).meta({ id: 'ApiKey' });
export const createdApiKeyDocument = documentOf(CREATED_TEXTS, { ...apiKey, key: readOnly(z.string()) }).meta({
  id: 'CreatedApiKey',
});
export const apiKeyExample: z.input<typeof apiKeyDocument> = {
  id: '9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d',
  name: 'Continuous integration',
  preview: 'wgk_ab12…yz',
  scopes: ['sessions.read', 'sessions.record'],
  userId: '4c8a1d2e-7b3f-4e6a-8c9d-0e1f2a3b4c5d',
  serviceAccountId: null,
  organizationId: '1f0e9d8c-7b6a-4f5e-8d3c-2b1a09f8e7d6',
  expiresAt: null,
  lastUsedAt: '2026-03-01T10:20:30.500Z',
  revokedAt: null,
  createdAt: '2026-02-01T08:00:00.000Z',
};

export const createdApiKeyExample = {
  ...apiKeyExample,
  lastUsedAt: null,
  key: 'wgk_ab12yJ7nQm0PzKd4Xs9TfVbRhLcGwEo3u1Ayz',
};

export function toCreatedApiKeyDocument({
  apiKey: created,
  key,
}: CreatedApiKey): z.input<typeof createdApiKeyDocument> {
  return { ...apiKeyAnswer(apiKeyRow(created)), key };
}
