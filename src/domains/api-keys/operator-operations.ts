import { LockMode } from '@mikro-orm/postgresql';
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
    const unrevoked = { id: apiKeyId, revokedAt: null };
    const key = await transaction.findOne(ApiKey, unrevoked, { lockMode: LockMode.PESSIMISTIC_WRITE });
    if (!key) throw notFound('API key');
    key.revoke(now());
    await endSignInsWith(transaction, key.id, now());
    const organizationId = key.organization?.id;
    const target = { type: 'ApiKey' as const, id: key.id, organizationId, label: key.label() };
    await recordAudit(transaction, operatorEntry({ now, newId }, 'revokeApiKey', target));
    return key.user.id;
  });
  await settleChanges(sql, [userId]);
  await publishRevocation(context, apiKeyId.toLowerCase());
}
