import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { ConflictError, ForbiddenError, invalid, notFound, unauthenticated } from '../../core/errors.ts';
import type { CountedPage, PageArguments } from '../../core/postgres/keyset.ts';
import {
  type OperationContext,
  type Scope,
  guarded,
  requireOrganization,
  requireScope,
  write,
} from '../../core/operation.ts';
import { type AuditTarget } from '../../core/audit.ts';
import type { ApiKeyId, OrganizationId, UserId } from '../../core/ids.ts';
import { enumValues, wording } from '../../core/text/wording.ts';
import { filterOf } from '../../core/postgres/reach.ts';
import type { Columns } from '../../core/postgres/columns.ts';
import { Membership } from '../organizations/entity.ts';
import { lockUser } from '../users/operations.ts';
import { ApiKey, apiKeyTopic } from './entity.ts';
import type { CreateApiKeyInput, RenameApiKeyInput, RevokeApiKeyInput } from './input.ts';
import { generateApiKey, hashApiKey, previewApiKey } from './key-format.ts';
import { READ_API_KEYS, WRITE_API_KEYS, reachedBy } from './policy.ts';
import {
  type ApiKeyList,
  type ApiKeyRow,
  countApiKeys,
  findApiKeys,
  pageOfApiKeys,
  revokeKeys,
  unboundKeysOf,
} from './queries.ts';

export { type ApiKeyRow, NOTED_EVERY, apiKeyRow, noteKeyUse, revokeKeys } from './queries.ts';

export { readKeyVersions } from './queries.ts';

/** Keys of one user that are neither revoked nor expired: in one organization, and bound to none. */
export const MAX_ACTIVE_KEYS = 25;

/** A new key with its secret, which is stored nowhere. */
export interface CreatedApiKey {
  readonly apiKey: ApiKey;
  readonly key: string;
}

/**
 * Creates a key of the caller: for the organization they act in, for another one of theirs, or for all of theirs. It is never stronger than the
 * calling key: without an expiry it expires when that one does.
 * @throws ForbiddenError when it would have more scopes, a longer life or a wider reach than the calling key; NotFoundError when the caller is
 * not a member of the organization; ConflictError at the bound of active keys.
 */
export const createApiKey = write(
  async (context, { organizationId, allOrganizations, ...input }: CreateApiKeyInput): Promise<CreatedApiKey> => {
    const { actor, em, now } = context;
    const boundTo = allOrganizations ? null : (organizationId ?? requireOrganization(actor).id);
    if (actor.isBound && boundTo !== actor.organization?.id)
      throw new ForbiddenError('a key that is bound to an organization creates keys for that one alone');
    const excess = input.scopes.filter((scope) => !actor.scopes.has(scope));
    if (excess.length > 0)
      throw new ForbiddenError(wording`a key cannot give scopes that it lacks itself: ${enumValues(excess)}`);
    if (input.expiresAt && input.expiresAt <= now()) throw invalid('expiresAt', 'must lie in the future', 'TOO_SMALL');
    const expiresAt = await boundedExpiry(context, input.expiresAt);
    await lockMaker(em, actor.userId);
    if (boundTo !== null) await lockMembership(em, { userId: actor.userId, organizationId: boundTo });
    return issueApiKey(context, { ...input, expiresAt, userId: actor.userId, organizationId: boundTo });
  },
  { access: WRITE_API_KEYS, operation: 'createApiKey', target: ({ apiKey }) => targetOf(apiKey) },
);

/** The entry of an unbound key belongs to no organization. */
function targetOf({ id, organization }: ApiKey): AuditTarget {
  return { type: 'ApiKey', id, organizationId: organization?.id ?? null };
}

/** The expiry of a key that the calling key makes. @throws ForbiddenError when that one expires before. */
async function boundedExpiry(
  { em, actor }: Pick<OperationContext, 'em' | 'actor'>,
  wanted: Date | undefined,
): Promise<Date | undefined> {
  const maker = await em.findOne(ApiKey, { id: actor.keyId });
  const latest = maker?.expiresAt ?? undefined;
  if (latest && wanted && wanted > latest)
    throw new ForbiddenError(`a key cannot outlive the key that creates it, which expires at ${latest.toISOString()}`);
  return wanted ?? latest;
}

/** The keys of one user are created one after the other, and none while their account is being deleted. */
async function lockMaker(em: EntityManager, userId: UserId): Promise<void> {
  if (!(await lockUser(em, userId))) throw unauthenticated();
}

/** Whoever ends the membership waits for this transaction, and revokes the key that it creates. */
async function lockMembership(
  em: EntityManager,
  { userId, organizationId }: { userId: UserId; organizationId: OrganizationId },
): Promise<void> {
  const membership = await em.findOne(
    Membership,
    { organization: organizationId, user: userId },
    { lockMode: LockMode.PESSIMISTIC_READ },
  );
  if (!membership) throw notFound('organization');
}

/**
 * Creates and stores a key, for a caller who has been authorized. Part of the caller's transaction.
 * @throws ConflictError at the bound of active keys.
 */
export async function issueApiKey(
  { em, now, newId }: Pick<OperationContext, 'em' | 'now' | 'newId'>,
  given: {
    readonly userId: UserId;
    /** Null for an unbound key. */
    readonly organizationId: OrganizationId | null;
    readonly name: string;
    readonly scopes: readonly Scope[];
    readonly expiresAt?: Date | undefined;
  },
): Promise<CreatedApiKey> {
  await lockMaker(em, given.userId);
  await refuseTooMany(em, given, now());
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

/**
 * Likewise, a key that can do what the calling one can, and expires with it.
 * @throws ConflictError at the bound of active keys.
 */
export async function issueApiKeyLike(
  context: OperationContext,
  given: { readonly userId: UserId; readonly organizationId: OrganizationId; readonly name: string },
): Promise<CreatedApiKey> {
  const expiresAt = await boundedExpiry(context, undefined);
  return issueApiKey(context, { ...given, scopes: [...context.actor.scopes], expiresAt });
}

async function refuseTooMany(
  em: EntityManager,
  { userId, organizationId }: { userId: UserId; organizationId: OrganizationId | null },
  at: Date,
): Promise<void> {
  const active = await em.count(ApiKey, {
    user: userId,
    organization: organizationId,
    revokedAt: null,
    $or: [{ expiresAt: null }, { expiresAt: { $gt: at } }],
  });
  if (active < MAX_ACTIVE_KEYS) return;
  const whose = organizationId === null ? 'that are bound to no organization' : 'in an organization';
  throw new ConflictError(
    'LIMIT_REACHED',
    `a user has at most ${MAX_ACTIVE_KEYS} active API keys ${whose}; revoke one first`,
  );
}

/** Changes what a key is called; what it may do never changes. */
export const renameApiKey = write(
  async (context, { apiKeyId, name }: RenameApiKeyInput) => {
    const key = await loadApiKey(context, apiKeyId);
    key.rename(name);
    return key;
  },
  { access: WRITE_API_KEYS, operation: 'renameApiKey', target: targetOf },
);

/**
 * Revokes a key, which may be the calling one: no request that begins after the answer is accepted with it.
 * @throws NotFoundError when it is unknown, revoked already, of another organization, or of another member and the caller is no admin.
 */
export const revokeApiKey = guarded(
  WRITE_API_KEYS,
  async (context: OperationContext, input: RevokeApiKeyInput): Promise<ApiKey> => {
    const key = await markRevoked(context, input);
    context.notifier.publish(apiKeyTopic(key.id));
    return key;
  },
);

const markRevoked = write(
  async (context, { apiKeyId }: RevokeApiKeyInput) => {
    const key = await loadApiKey(context, apiKeyId);
    key.revoke(context.now());
    return key;
  },
  { access: WRITE_API_KEYS, operation: 'revokeApiKey', target: targetOf, endsRightsOf: ({ user }) => [user.id] },
);

async function loadApiKey({ em, actor }: OperationContext, id: ApiKeyId): Promise<ApiKey> {
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
 * Revokes the keys of a member who leaves the organization. The unbound ones stay, but no longer reach this one.
 * @returns all that reach less than before. Part of the caller's transaction.
 */
export async function revokeKeysOfMember(
  em: EntityManager,
  member: { organizationId: OrganizationId; userId: UserId },
  at: Date,
): Promise<string[]> {
  const revoked = await revokeKeys(em, member, at);
  return [...revoked, ...(await unboundKeysOf(em, [member.userId]))];
}

/**
 * Revokes all keys of an organization that ends. The unbound keys of those who were its members stay, but no longer reach it.
 * @returns all that reach less than before. Part of the caller's transaction.
 */
export async function revokeKeysOfOrganization(
  em: EntityManager,
  { organizationId, memberIds }: { organizationId: OrganizationId; memberIds: readonly string[] },
  at: Date,
): Promise<string[]> {
  const revoked = await revokeKeys(em, { organizationId }, at);
  return [...revoked, ...(await unboundKeysOf(em, memberIds))];
}

/**
 * The keys that the caller may see, newest first unless ordered otherwise: those of the organization they act in (all of them for an administrator, their own for a
 * member), and with an unbound key their own unbound ones. `organizationId` leaves the latter out. Revoked ones too when asked.
 * @throws ValidationError (400) when another organization is asked for than the one that the caller acts in.
 */
export const listApiKeys = guarded(
  READ_API_KEYS,
  async (
    context: OperationContext,
    list: ApiKeyList,
    page: PageArguments,
    selected?: Columns<ApiKeyRow>,
  ): Promise<CountedPage<ApiKeyRow>> => {
    if (list.organizationId !== undefined) requireOrganization(context.actor, list.organizationId);
    return {
      page: await pageOfApiKeys(context, list, page, selected),
      total: () => countApiKeys(context, list),
    };
  },
);

/** Those of the ids that the caller may see, revoked ones included. A key may always see itself. */
export async function readApiKeys(
  context: OperationContext,
  ids: readonly ApiKeyId[],
  selected?: Columns<ApiKeyRow>,
): Promise<ApiKeyRow[]> {
  const { actor } = context;
  if (ids.some((id) => id !== actor.keyId)) requireScope(actor, 'api_keys.read');
  return findApiKeys(context, ids, selected);
}
