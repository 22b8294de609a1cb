import { ForbiddenError, notFound } from '../../core/errors.ts';
import type { ApiKeyId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { isWithin } from '../../core/postgres/reading/reach.ts';
import { prepared, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { OrganizationTables } from '../organizations/public.ts';
import type { ApiKeyTables } from './entity.ts';
import { limitingKey, reachedBy } from './policy.ts';

const db = queriesOn<ApiKeyTables & OrganizationTables>();

const findKey = prepared<{ id: ApiKeyId }>()((value) =>
  db
    .selectFrom('api_key')
    .select(['user_id as userId', 'organization_id as organizationId', 'kind', 'expires_at as expiresAt'])
    .where('id', '=', value('id')),
);

/**
 * Checks that a stored answer about a key, which can contain its secret, can be replayed to the caller.
 * @throws NotFoundError for a key that the caller cannot see; ForbiddenError for the creation of a key with more rights
 * than the calling key.
 */
export async function requireStillReached(
  { sql, actor }: OperationContext,
  keyId: ApiKeyId,
  operation: string,
): Promise<void> {
  const key = await sql.primary.first(findKey({ id: keyId }));
  if (!key) return;
  if (key.userId !== actor.userId && !isWithin(reachedBy(actor), key)) throw notFound('API key');
  if (!['createApiKey', 'createServiceAccountApiKey'].includes(operation)) return;
  const isWider = actor.isBound === true && key.organizationId !== actor.organization?.id;
  const makerId = limitingKey(actor);
  const own = makerId === null ? undefined : await sql.primary.first(findKey({ id: makerId }));
  const latest = own?.expiresAt ?? null;
  const isLonger = latest !== null && (key.expiresAt === null || Date.parse(key.expiresAt) > Date.parse(latest));
  if (isWider || isLonger)
    throw new ForbiddenError('Idempotency-Key: the stored answer is an API key with more rights than the calling key');
}
