import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { ConflictError, ForbiddenError, invalid, notFound } from '../../core/errors.ts';
import type { CountedPage, PageArguments } from '../../core/postgres/keyset.ts';
import {
  type AuditTarget,
  type OperationContext,
  type Scope,
  requireOrganization,
  requireScope,
  write,
} from '../../core/operation.ts';
import { filterOf } from '../../core/postgres/reach.ts';
import type { Columns } from '../../core/postgres/columns.ts';
import { Membership } from '../organizations/entity.ts';
import { lockOrganization } from '../organizations/operations.ts';
import { ApiKey, apiKeyTopic } from './entity.ts';
import type { CreateApiKeyInput, RenameApiKeyInput, RevokeApiKeyInput } from './input.ts';
import { generateApiKey, hashApiKey, previewApiKey } from './key-format.ts';
import { reachedBy } from './policy.ts';
import {
  type ApiKeyFilter,
  type ApiKeyRow,
  countApiKeys,
  findApiKeys,
  pageOfApiKeys,
  revokeKeys,
  unboundKeysOf,
} from './queries.ts';

export { type ApiKeyRow, NOTED_EVERY, noteKeyUse, revokeKeys } from './queries.ts';

export { readKeyVersions } from './queries.ts';

/** Keys of one organization that are neither revoked nor expired. */
export const MAX_ACTIVE_KEYS = 10;

/**
 * Creates a key of the caller, in the organization they act in. The key is in the answer and nowhere else.
 * @throws ForbiddenError when it would have a scope that the calling key lacks; ConflictError at the bound of active keys.
 */
export const createApiKey = write(
  async (context, input: CreateApiKeyInput): Promise<{ apiKey: ApiKey; key: string }> => {
    const { actor, now } = context;
    requireScope(actor, 'api_keys.write');
    const excess = input.scopes.filter((scope) => !actor.scopes.has(scope));
    if (excess.length > 0)
      throw new ForbiddenError(`a key cannot give scopes that it lacks itself: ${excess.join(', ')}`);
    if (input.expiresAt && input.expiresAt <= now()) throw invalid('expiresAt', 'must lie in the future');
    const organization = requireOrganization(actor);
    await lockOrganization(context.em, organization.id);
    // A removal may have ended while this waited: it revoked the member's keys, and none may come after it.
    const membership = await context.em.count(Membership, { organization: organization.id, user: actor.userId });
    if (membership === 0) throw new ForbiddenError('the user of the API key is no longer a member of the organization');
    return issueApiKey(context, { ...input, userId: actor.userId, organizationId: organization.id });
  },
  { operation: 'createApiKey', target: ({ apiKey }) => targetOf(apiKey) },
);

function targetOf({ id }: ApiKey): AuditTarget {
  return { type: 'ApiKey', id };
}

/** Makes and stores a key, whoever asks: the caller has been authorized. Part of the caller's transaction. */
export async function issueApiKey(
  { em, now, newId }: Pick<OperationContext, 'em' | 'now' | 'newId'>,
  given: { userId: string; organizationId: string; name: string; scopes: readonly Scope[]; expiresAt?: Date },
): Promise<{ apiKey: ApiKey; key: string }> {
  await lockOrganization(em, given.organizationId);
  await refuseTooMany(em, given.organizationId, now());
  const key = generateApiKey();
  const apiKey = em.create(ApiKey, {
    id: newId(),
    user: given.userId,
    organization: given.organizationId,
    name: given.name,
    hash: hashApiKey(key),
    preview: previewApiKey(key),
    scopes: [...given.scopes],
    expiresAt: given.expiresAt ?? null,
    createdAt: now(),
  });
  em.persist(apiKey);
  return { apiKey, key };
}

async function refuseTooMany(em: EntityManager, organizationId: string, at: Date): Promise<void> {
  const active = await em.count(ApiKey, {
    organization: organizationId,
    revokedAt: null,
    $or: [{ expiresAt: null }, { expiresAt: { $gt: at } }],
  });
  if (active >= MAX_ACTIVE_KEYS)
    throw new ConflictError(`an organization has at most ${MAX_ACTIVE_KEYS} active API keys; revoke one first`);
}

/** Changes what a key is called; what it may do never changes. */
export const renameApiKey = write(
  async (context, { apiKeyId, name }: RenameApiKeyInput) => {
    const key = await loadApiKey(context, apiKeyId);
    key.rename(name);
    return key;
  },
  { operation: 'renameApiKey', target: targetOf },
);

/**
 * Revokes a key, which may be the calling one: no request that begins after the answer is accepted with it.
 * @throws NotFoundError when it is unknown, revoked already, of another organization, or of another member and the caller is no admin.
 */
export async function revokeApiKey(context: OperationContext, input: RevokeApiKeyInput): Promise<ApiKey> {
  const key = await markRevoked(context, input);
  context.notifier.publish(apiKeyTopic(key.id));
  return key;
}

const markRevoked = write(
  async (context, { apiKeyId }: RevokeApiKeyInput) => {
    const key = await loadApiKey(context, apiKeyId);
    key.revoke(context.now());
    return key;
  },
  { operation: 'revokeApiKey', target: targetOf },
);

async function loadApiKey({ em, actor }: OperationContext, id: string): Promise<ApiKey> {
  requireScope(actor, 'api_keys.write');
  // Locked, so that of two callers who revoke at once one finds it revoked already.
  const key = await em.findOne(
    ApiKey,
    { $and: [{ id, revokedAt: null }, filterOf<ApiKey>(reachedBy(actor))] },
    { lockMode: LockMode.PESSIMISTIC_WRITE },
  );
  if (!key) throw notFound('API key');
  return key;
}

/**
 * Revokes the keys of a member who leaves the organization. Keys of no organization stay, but no longer reach this one.
 * @returns all that reach less than before. Part of the caller's transaction.
 */
export async function revokeKeysOfMember(
  em: EntityManager,
  member: { organizationId: string; userId: string },
  at: Date,
): Promise<string[]> {
  const revoked = await revokeKeys(em, member, at);
  return [...revoked, ...(await unboundKeysOf(em, member.userId))];
}

/**
 * The keys of the caller's organization, newest first: all of them for an admin, their own for a member. Revoked ones too when asked.
 * @throws ValidationError (400) when another organization is asked for than the one that the caller acts in.
 */
export async function listApiKeys(
  context: OperationContext,
  filter: ApiKeyFilter,
  page: PageArguments,
  selected?: Columns<ApiKeyRow>,
): Promise<CountedPage<ApiKeyRow>> {
  requireScope(context.actor, 'api_keys.read');
  requireOrganization(context.actor, filter.organizationId);
  return {
    page: await pageOfApiKeys(context, filter, page, selected),
    total: () => countApiKeys(context, filter),
  };
}

/** Those of the ids that the caller may see, revoked ones included. A key may always see itself. */
export async function readApiKeys(
  context: OperationContext,
  ids: readonly string[],
  selected?: Columns<ApiKeyRow>,
): Promise<ApiKeyRow[]> {
  const { actor } = context;
  if (ids.some((id) => id !== actor.keyId)) requireScope(actor, 'api_keys.read');
  return findApiKeys(context, ids, selected);
}
