/** What the fields of API keys mean, for both APIs. */
export const API_KEY_TEXTS = {
  id: 'Id of the key.',
  name: 'The name of the key, 1 to 100 characters.',
  preview: 'The first and last characters of the key, to recognize it: `wgk_ab12…yz`.',
  scopes: 'The permissions of the key, at least one.',
  userId: 'Id of the user who owns the key. Null for a key of a service account.',
  serviceAccountId: 'Id of the service account that owns the key. Null for a key of a person.',
  organizationId: 'Id of the organization that the key is bound to. Null for an unbound key.',
  expiresAt: 'When the key expires. Null when it never expires.',
  lastUsedAt: 'When the key last authenticated a request, to the minute. Null when it was never used.',
  revokedAt: 'When the key was revoked. Null for an active key.',
  createdAt: 'When the key was created.',
} as const;
