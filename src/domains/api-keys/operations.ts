import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import {
  ConflictError,
  ForbiddenError,
  NotFoundError,
  invalid,
  notFound,
  unauthenticated,
  limitReached,
} from '../../core/errors.ts';
import type { Asked } from '../../core/postgres/reading/lists.ts';
import { type CredentialKind, type Scope, requireOrganization, requireScopes } from '../../core/access.ts';
import { type OperationContext, defineOperation, unchanged } from '../../core/operation.ts';
import { type AuditTarget, type NewAuditEntry, auditEntry, newValues, recordAudits } from '../../core/audit.ts';
import type { ApiKeyId, OrganizationId, UserId } from '../../core/ids.ts';
import { enumValues, wording } from '../../core/text/wording.ts';
import type { Columns } from '../../core/postgres/reading/columns.ts';
import { Membership } from '../organizations/public.ts';
import { lockUser } from '../users/public.ts';
import { ApiKey } from './entity.ts';
import { type ApiKeyFilter, createApiKeyInput, renameApiKeyInput, revokeApiKeyInput } from './input.ts';
import { withinPolicy } from './key-policy.ts';
import { generateApiKey, hashApiKey, previewApiKey } from './key-format.ts';
import {
  type Ownership,
  READ_API_KEYS,
  REVOCABLE,
  UNBLOCK_API_KEYS,
  WRITE_API_KEYS,
  isOfMember,
  isReached,
  limitingKey,
  requireScopesOf,
} from './policy.ts';
import {
  API_KEYS,
  type ApiKeyOrderField,
  type ApiKeyRow,
  blockKeys,
  revokeKeys,
  unblockKey,
  unboundKeysOf,
} from './queries.ts';
import { endSignInsOfOnly, endSignInsWith, publishRevocation } from './sign-ins.ts';

/** Maximum of active keys (not revoked, not expired) that one user has in each organization, and of their active unbound keys. */
export const MAX_ACTIVE_KEYS = 25;

/** A new key with its secret. The secret is not stored. */
export interface CreatedApiKey {
  readonly apiKey: ApiKey;
  readonly key: string;
}

/** By default, the new key expires together with the calling key. */
export const createApiKey = defineOperation({
  name: 'createApiKey',
  description:
    'Creates an API key of the caller: bound to the organization that the request acts in, bound to `organizationId`, or unbound. The new key never has more rights than the calling key. A user has at most 25 active keys in an organization and 25 active unbound keys.',
  access: WRITE_API_KEYS,
  input: createApiKeyInput,
  errors: [NotFoundError, ConflictError],
  run: async (context, { organizationId, allOrganizations, ...input }): Promise<CreatedApiKey> => {
    const { actor, em } = context;
    const isOfServiceAccount = actor.isServiceAccount === true;
    const boundTo = allOrganizations ? null : (organizationId ?? requireOrganization(actor).id);
    if (actor.isBound && boundTo !== actor.organization?.id)
      throw new ForbiddenError('a key that is bound to an organization can create keys only for that organization');
    const expiresAt = await requireNotStronger(context, input);
    await lockOwner(em, actor.userId);
    if (boundTo === null && actor.organization?.role === 'viewer') throw new ForbiddenError('viewers have bound keys');
    if (boundTo !== null) {
      const member = { userId: actor.userId, organizationId: boundTo };
      const { role } = isOfServiceAccount ? requireOrganization(actor) : await lockMembership(em, member);
      requireScopesOf(role, input.scopes);
    }
    const owner = { userId: actor.userId, createdBy: actor.userId, isOfServiceAccount, organizationId: boundTo };
    const created = await issueAllowed(context, { ...input, ...owner, expiresAt }, input.expiresAt);
    await recordUnboundKey(em, created.apiKey, (target) => auditEntry(context, 'createApiKey', target));
    return created;
  },
  target: ({ apiKey }) => createdTarget(apiKey),
});

/**
 * Checks that a new key is not stronger than the calling one.
 * @returns its expiry. @throws ForbiddenError for a scope that the calling key lacks, and for a later expiry.
 */
export async function requireNotStronger(
  context: OperationContext,
  input: { readonly scopes: readonly Scope[]; readonly expiresAt?: Date | undefined },
): Promise<Date | undefined> {
  const excess = input.scopes.filter((scope) => !context.actor.scopes.has(scope));
  if (excess.length > 0)
    throw new ForbiddenError(wording`scopes: a key cannot give scopes that it does not have: ${enumValues(excess)}`);
  if (input.expiresAt && input.expiresAt <= context.now())
    throw invalid('expiresAt', 'must be in the future', 'TOO_SMALL');
  return boundedExpiry(context, input.expiresAt);
}

/** Records a new unbound key in the audit log of each organization in which it acts, in the caller's transaction. */
export async function recordUnboundKey(
  em: EntityManager,
  key: ApiKey,
  entryOf: (target: AuditTarget) => NewAuditEntry,
): Promise<void> {
  if (key.organization != null) return;
  const memberships = await em.find(Membership, { user: key.user });
  const target = createdTarget(key);
  await recordAudits(
    em,
    memberships.map(({ organization }) => entryOf({ ...target, organizationId: organization.id })),
  );
}

/** The audit log entry of an unbound key belongs to no organization. */
export function targetOf(key: ApiKey): AuditTarget {
  return { type: 'ApiKey', id: key.id, organizationId: key.organization?.id ?? null, label: key.label() };
}

/** The same for a new key, with what it may do and until when. */
export function createdTarget(key: ApiKey): AuditTarget {
  const given = { scopes: key.scopes.join(' '), expiresAt: key.expiresAt?.toISOString() ?? null };
  return { ...targetOf(key), detail: newValues(given, ['scopes', 'expiresAt']) };
}

/** The expiry of a new key. @throws ForbiddenError when the calling key expires earlier than was asked for. */
async function boundedExpiry(
  { em, actor }: Pick<OperationContext, 'em' | 'actor'>,
  wanted: Date | undefined,
): Promise<Date | undefined> {
  const makerId = limitingKey(actor);
  const maker = makerId === null ? null : await em.findOne(ApiKey, { id: makerId });
  const latest = maker?.expiresAt ?? undefined;
  if (latest && wanted && wanted > latest)
    throw new ForbiddenError(
      `expiresAt: must not be later than the expiry of the calling key, ${latest.toISOString()}`,
    );
  return wanted ?? latest;
}

/** Locks the account, so that its keys are created one at a time and never while it is being deleted. */
async function lockOwner(em: EntityManager, userId: UserId): Promise<void> {
  if (!(await lockUser(em, userId))) throw unauthenticated();
}

/** Locks the membership. An operation that ends it waits for this transaction, and then also revokes the new key. */
async function lockMembership(
  em: EntityManager,
  { userId, organizationId }: { userId: UserId; organizationId: OrganizationId },
): Promise<Membership> {
  const membership = await em.findOne(
    Membership,
    { organization: organizationId, user: userId },
    { lockMode: LockMode.PESSIMISTIC_READ },
  );
  if (!membership) throw notFound('organization');
  return membership;
}

/** Creates and stores a key in the caller's transaction. The caller has checked the rights. @throws ConflictError at the maximum of active keys. */
export async function issueApiKey(
  { em, now, newId }: Pick<OperationContext, 'em' | 'now' | 'newId'>,
  given: {
    readonly userId: UserId;
    readonly isOfServiceAccount?: boolean;
    readonly createdBy?: UserId;
    /** Null for an unbound key. */
    readonly organizationId: OrganizationId | null;
    readonly name: string;
    readonly scopes: readonly Scope[];
    readonly expiresAt?: Date | undefined;
  },
): Promise<CreatedApiKey> {
  await lockOwner(em, given.userId);
  await refuseTooMany(em, given, now());
  const key = generateApiKey();
  const apiKey = em.create(ApiKey, {
    id: newId(),
    user: given.userId,
    isOfServiceAccount: given.isOfServiceAccount ?? false,
    createdBy: given.createdBy ?? null,
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

/** The same within the key policy. @throws ValidationError (400) */
export async function issueAllowed(
  context: Pick<OperationContext, 'em' | 'now' | 'newId'>,
  given: Parameters<typeof issueApiKey>[1],
  asked: Date | undefined,
): Promise<CreatedApiKey> {
  const policed = await withinPolicy(context.em, { ...given, at: context.now() }, { ...given, asked });
  return issueApiKey(context, { ...given, expiresAt: policed });
}

/** Gives a key that was never used a new text, which makes the former text invalid. Undefined when it was used or revoked. */
export async function replaceUnusedKey(em: EntityManager, keyId: ApiKeyId): Promise<CreatedApiKey | undefined> {
  const unused = { id: keyId, lastUsedAt: null, revokedAt: null };
  const apiKey = await em.findOne(ApiKey, unused, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (!apiKey) return undefined;
  const key = generateApiKey();
  apiKey.hash = hashApiKey(key);
  apiKey.preview = previewApiKey(key);
  return { apiKey, key };
}

/**
 * Creates and stores a key with the scopes and the expiry of the calling key, in the caller's transaction.
 * @throws ConflictError when the maximum of active keys is reached.
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
  {
    userId,
    organizationId,
    isOfServiceAccount = false,
  }: { userId: UserId; organizationId: OrganizationId | null; isOfServiceAccount?: boolean },
  at: Date,
): Promise<void> {
  const active = await em.count(ApiKey, {
    kind: 'KEY',
    user: userId,
    organization: organizationId,
    revokedAt: null,
    $or: [{ expiresAt: null }, { expiresAt: { $gt: at } }],
  });
  if (active < MAX_ACTIVE_KEYS) return;
  const whose = organizationId === null ? ' that are bound to no organization' : ' in an organization';
  throw limitReached(
    MAX_ACTIVE_KEYS,
    isOfServiceAccount
      ? `a service account has at most ${MAX_ACTIVE_KEYS} active API keys; revoke one first`
      : `a user has at most ${MAX_ACTIVE_KEYS} active API keys${whose}; revoke one first`,
  );
}

export const renameApiKey = defineOperation({
  name: 'renameApiKey',
  description: 'Renames an API key.',
  access: WRITE_API_KEYS,
  input: renameApiKeyInput,
  errors: [NotFoundError],
  run: async (context, { apiKeyId, name }) => {
    const key = await loadApiKey(context, apiKeyId, ['KEY']);
    if (key.name === name) return unchanged(key);
    key.rename(name);
    return key;
  },
  target: targetOf,
});

export const revokeApiKey = defineOperation({
  name: 'revokeApiKey',
  description:
    'Revokes an active API key, or ends the sign-in of a browser or the grant of a client. Every request that begins after the answer is refused with 401. The unbound key of somebody else is blocked instead: it is refused (403) in the organization that the request acts in, and stays valid elsewhere.',
  access: WRITE_API_KEYS,
  input: revokeApiKeyInput,
  errors: [NotFoundError],
  run: async (context, { apiKeyId }) => {
    const { em, actor, now } = context;
    const key = await loadApiKey(context, apiKeyId, REVOCABLE, true);
    if (isOfMember(actor, ownershipOf(key))) {
      const { id } = requireOrganization(actor);
      if (key.isBlockedIn(id)) return unchanged(key);
      await blockKeys(em, id, { keyId: key.id });
      return em.refreshOrFail(key);
    }
    key.revoke(now());
    await endSignInsWith(em, key.id, now());
    return key;
  },
  // Of a key that is only blocked, the entry belongs to the acting organization.
  target: (key) =>
    key.revokedAt == null ? { ...targetOf(key), organizationId: undefined, detail: 'blocked' } : targetOf(key),
  endsRightsOf: ({ user }) => [user.id],
  afterCommit: async (context, key) => {
    await publishRevocation(context, key.id);
    return key;
  },
});

export const unblockApiKey = defineOperation({
  name: 'unblockApiKey',
  description:
    'Lets an unbound API key that was blocked act in the organization again that the request acts in. Its owner must be a member.',
  access: UNBLOCK_API_KEYS,
  input: revokeApiKeyInput,
  errors: [NotFoundError],
  run: async (context, { apiKeyId }) => {
    const { em, actor } = context;
    const { id } = requireOrganization(actor);
    const key = await loadApiKey(context, apiKeyId, ['KEY'], true);
    await unblockKey(em, id, key.id);
    return em.refreshOrFail(key);
  },
  target: (key) => ({ ...targetOf(key), organizationId: undefined }),
});

async function loadApiKey(
  { em, actor }: OperationContext,
  id: ApiKeyId,
  kinds: readonly CredentialKind[],
  alsoOfMembers = false,
): Promise<ApiKey> {
  // The row is locked, so that of two concurrent revocations the second finds the key revoked.
  const wanted = { id, kind: { $in: [...kinds] }, revokedAt: null };
  const key = await em.findOne(ApiKey, wanted, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (!key) throw notFound('API key');
  const owned = ownershipOf(key);
  if (!isReached(actor, owned)) throw notFound('API key');
  const membership = { organization: actor.organization?.id, user: key.user };
  if (isOfMember(actor, owned) && !(alsoOfMembers && (await em.count(Membership, membership)) > 0))
    throw notFound('API key');
  return key;
}

function ownershipOf({ organization, user, kind }: ApiKey): Ownership {
  return { organizationId: organization?.id ?? null, userId: user.id, kind };
}

/**
 * Revokes the keys of a member who leaves the organization, in the caller's transaction. Their unbound keys stay valid,
 * but no longer act in this organization: of somebody who was removed not even after they have come back. Sign-ins without a key end if it
 * was their only one.
 * @returns the ids of all keys that lost rights, unbound keys included.
 */
export async function revokeKeysOfMember(
  em: EntityManager,
  { isRemoved, ...member }: { organizationId: OrganizationId; userId: UserId; isRemoved: boolean },
  at: Date,
): Promise<ApiKeyId[]> {
  const revoked = await revokeKeys(em, member, at);
  if (isRemoved) await blockKeys(em, member.organizationId, member);
  const ended = await endSignInsOfOnly(em, member, at);
  return [...revoked, ...ended, ...(await unboundKeysOf(em, [member.userId]))];
}

/**
 * Revokes all keys of an organization that is deleted, in the caller's transaction. Unbound keys of its members stay
 * valid, but no longer act in it.
 * @returns the ids of all keys that lost rights, unbound keys included.
 */
export async function revokeKeysOfOrganization(
  em: EntityManager,
  { organizationId, memberIds }: { organizationId: OrganizationId; memberIds: readonly UserId[] },
  at: Date,
): Promise<ApiKeyId[]> {
  const revoked = await revokeKeys(em, { organizationId }, at);
  return [...revoked, ...(await unboundKeysOf(em, memberIds))];
}

/** With `organizationId`, the keys that act in this organization. */
export const listApiKeys = defineOperation({
  name: 'listApiKeys',
  description:
    'API keys of the organization, newest first by default. Administrators see all keys, also unbound ones of members, members only their own.',
  access: READ_API_KEYS,
  run: (
    context,
    { filter, organizationId, ...asked }: Asked<ApiKeyFilter, ApiKeyOrderField> & { organizationId?: OrganizationId },
    selected?: Columns<ApiKeyRow>,
  ) => {
    const { includeRevoked, ...conditions } = filter;
    const listed = {
      ...conditions,
      kind: 'KEY' as const,
      ...(includeRevoked !== true && { isActive: true as const }),
    };
    return API_KEYS.read(context, { ...asked, filter: listed, organizationId }, selected);
  },
});

/** The keys with these ids that the caller can see, revoked keys included. A key can always see itself. */
export async function readApiKeys(
  context: OperationContext,
  ids: readonly ApiKeyId[],
  selected?: Columns<ApiKeyRow>,
): Promise<ApiKeyRow[]> {
  const { actor } = context;
  if (ids.some((id) => id !== actor.keyId && id !== actor.signedInWithId)) requireScopes(actor, ['api_keys.read']);
  return API_KEYS.find(context, ids, selected);
}
