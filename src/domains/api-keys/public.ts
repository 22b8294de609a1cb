// What other nouns, the gateway and the operator use of api keys.

export { ApiKey, type ApiKeyTables, ID_TOKEN_COLUMN, apiKeyTopic, placeOfIdToken } from './entity.ts';
export { createApiKeyInput, createServiceAccountApiKeyInput, listApiKeysInput } from './input.ts';
export { withinPolicy } from './key-policy.ts';
export { generateSecret, hashApiKey, isWellFormedApiKey, isWellFormedSecret } from './key-format.ts';
export {
  type CreatedApiKey,
  createdTarget as createdApiKeyTarget,
  issueAllowed,
  issueApiKey,
  issueApiKeyLike,
  listApiKeys,
  readApiKeys,
  recordUnboundKey,
  requireNotStronger,
  replaceUnusedKey,
  revokeKeysOfMember,
  revokeKeysOfOrganization,
  targetOf as apiKeyTarget,
} from './operations.ts';
export { extendApiKey, revokeAnyApiKey } from './operator-operations.ts';
export { READ_API_KEYS, WRITE_API_KEYS, requireScopesOf } from './policy.ts';
export {
  type ApiKeyRow,
  LAST_USED_PRECISION,
  type MemberCredential,
  apiKeyRow,
  blockKeys,
  credentialsOf,
  lastUsesOf,
  noteKeyUse,
  revokeKeys,
} from './queries.ts';
export { apiKeyDocument, createdApiKeyDocument, toApiKey, toCreatedApiKey } from './documents.ts';
export {
  type OfProvider,
  beginPersonalSignIn,
  beginSignIn,
  deleteOldCredentials,
  endProvided,
  endSignIn,
  endSignInsOfMember,
  listSignIns,
  readIdToken,
} from './sign-ins.ts';
