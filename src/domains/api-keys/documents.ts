import { z } from 'zod';
import { SCOPES } from '../../core/access.ts';
import { answering, readOnly } from '../../core/documents.ts';
import type { CreatedApiKey } from './operations.ts';
import { type ApiKeyRow, apiKeyRow } from './queries.ts';

/** What both APIs answer. */

export const apiKeyDocument = z
  .strictObject({
    id: readOnly(z.uuid()).describe('Id of the key.').meta({ example: '9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d' }),
    name: z.string().describe('The name of the key, 1 to 100 characters.').meta({ example: 'Continuous integration' }),
    preview: readOnly(z.string())
      .describe('The first and last characters of the key, to recognize it: `wgk_ab12…yz`.')
      .meta({ example: 'wgk_ab12…yz' }),
    scopes: z
      .array(z.enum(SCOPES))
      .describe('The permissions of the key, at least one.')
      .meta({ example: ['sessions.read', 'sessions.record'] }),
    userId: readOnly(z.uuid().nullable())
      .describe('Id of the user who owns the key. Null for a key of a service account.')
      .meta({ example: '4c8a1d2e-7b3f-4e6a-8c9d-0e1f2a3b4c5d' }),
    serviceAccountId: readOnly(z.uuid().nullable()).describe(
      'Id of the service account that owns the key. Null for a key of a person.',
    ),
    organizationId: z
      .uuid()
      .nullable()
      .describe('Id of the organization that the key is bound to. Null for an unbound key.')
      .meta({ example: '1f0e9d8c-7b6a-4f5e-8d3c-2b1a09f8e7d6' }),
    expiresAt: z.iso.datetime().nullable().describe('When the key expires. Null when it never expires.'),
    lastUsedAt: readOnly(z.iso.datetime().nullable())
      .describe('When the key last authenticated a request, to the minute. Null when it was never used.')
      .meta({ example: '2026-03-01T10:20:30.500Z' }),
    revokedAt: readOnly(z.iso.datetime().nullable()).describe('When the key was revoked. Null for an active key.'),
    createdAt: readOnly(z.iso.datetime())
      .describe('When the key was created.')
      .meta({ example: '2026-02-01T08:00:00.000Z' }),
  })
  .meta({ id: 'ApiKey' });

export const SECRET_TEXT = 'The secret key itself. It is shown only in this answer.';
export const createdApiKeyDocument = z
  .strictObject({
    ...apiKeyDocument.shape,
    lastUsedAt: apiKeyDocument.shape.lastUsedAt.meta({ example: null }),
    key: readOnly(z.string()).describe(SECRET_TEXT).meta({ example: 'wgk_ab12yJ7nQm0PzKd4Xs9TfVbRhLcGwEo3u1Ayz' }),
  })
  .meta({ id: 'CreatedApiKey' });

export const revokedApiKeyDocument = z
  .strictObject({
    deleted: z.literal(true).describe('Always true.').meta({ example: true }),
    id: z.uuid().describe('Id of the key.').meta({ example: '9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d' }),
  })
  .meta({ id: 'ApiKeyDeletion' });

export const toApiKey = answering<ApiKeyRow, typeof apiKeyDocument>(apiKeyDocument, (row) => ({
  userId: row.isOfServiceAccount ? null : row.userId,
  serviceAccountId: row.isOfServiceAccount ? row.userId : null,
}));
export const toCreatedApiKey = ({ apiKey, key }: CreatedApiKey) => ({ ...toApiKey(apiKeyRow(apiKey)), key });
