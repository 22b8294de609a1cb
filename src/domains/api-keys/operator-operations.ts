import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { SCOPES_OF_PEOPLE, type Scope } from '../../core/access.ts';
import { operatorEntry, recordAudit } from '../../core/audit.ts';
import { settleChanges } from '../../core/authority.ts';
import { notFound } from '../../core/errors.ts';
import type { ApiKeyId } from '../../core/ids.ts';
import type { WorkContext } from '../../core/operation.ts';
import { ApiKey } from './entity.ts';
import { endSignInsWith, publishRevocation } from './sign-ins.ts';

/**
 * Revokes any key, for the operator of the gateway. Once the promise resolves, no change made with the key can be committed.
 * @throws NotFoundError when the key is unknown or already revoked.
 */
export async function revokeAnyApiKey(context: WorkContext, apiKeyId: ApiKeyId): Promise<void> {
  const { em, sql, now, newId } = context;
  const userId = await em.transactional(async (transaction) => {
    const key = await lockedKey(transaction, { id: apiKeyId });
    key.revoke(now());
    await endSignInsWith(transaction, key.id, now());
    await recordAudit(transaction, operatorEntry({ now, newId }, 'revokeApiKey', targetOf(key)));
    return key.user.id;
  });
  await settleChanges(sql, [userId]);
  await publishRevocation(context, apiKeyId.toLowerCase());
}

/**
 * Adds scopes to a secret key, by default all of this version: a key that was created with all scopes has none that came later.
 * @throws NotFoundError when the key is unknown or revoked, or is no secret key.
 */
export async function extendApiKey(
  { em, now, newId }: WorkContext,
  { keyId, scopes = SCOPES_OF_PEOPLE }: { readonly keyId: ApiKeyId; readonly scopes?: readonly Scope[] | undefined },
): Promise<{ keyId: ApiKeyId; scopes: readonly Scope[]; added: readonly Scope[] }> {
  return em.transactional(async (transaction) => {
    const key = await lockedKey(transaction, { id: keyId, kind: 'KEY' });
    const added = key.extend(scopes);
    if (added.length > 0) {
      const target = { ...targetOf(key), changedFields: ['scopes'], detail: added.join(', ') };
      await recordAudit(transaction, operatorEntry({ now, newId }, 'extendApiKey', target));
    }
    return { keyId: key.id, scopes: key.scopes, added };
  });
}

/** @throws NotFoundError when it is unknown or revoked. */
async function lockedKey(em: EntityManager, wanted: { id: ApiKeyId; kind?: 'KEY' }): Promise<ApiKey> {
  const key = await em.findOne(ApiKey, { ...wanted, revokedAt: null }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (!key) throw notFound('API key');
  return key;
}

const targetOf = (key: ApiKey) => ({
  type: 'ApiKey' as const,
  id: key.id,
  organizationId: key.organization?.id,
  label: key.label(),
});
