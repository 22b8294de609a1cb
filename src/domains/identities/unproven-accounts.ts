import type { EntityManager } from '@mikro-orm/postgresql';
import type { AuditTables } from '../../core/audit.ts';
import type { ApiKeyId, UserId } from '../../core/ids.ts';
import type { Readable } from '../../core/postgres/reading/queries.ts';
import { ApiKey, revokeKeys } from '../api-keys/public.ts';
import { Identity } from './entity.ts';

/**
 * Whether nobody has proved that the account belongs to the owner of its e-mail address. Whoever has the token of an invitation gets such an
 * account, with an unbound key as its first one. The operator's first key of an account is bound, or has an entry of the command line in the
 * audit log. An account with an identity of another issuer is proven, and so is one whose identity the operator has unlinked.
 */
export async function isUnproven(em: EntityManager, userId: UserId): Promise<boolean> {
  if (await hasIdentity(em, userId)) return false;
  const oldest = { createdAt: 'asc', id: 'asc' } as const;
  const first = await em.findOne(ApiKey, { user: userId, kind: 'KEY' }, { orderBy: oldest });
  if (!first || first.organization != null) return false;
  const issued = await em
    .getKysely<Readable<AuditTables>>()
    .selectFrom('audit_entry')
    .select('id')
    .where('source', '=', 'command_line')
    .where((eb) =>
      eb.or([
        eb.and({ target_id: first.id, operation: 'createApiKey' }),
        eb.and({ target_id: userId, operation: 'unlinkIdentities' }),
      ]),
    )
    .limit(1)
    .executeTakeFirst();
  return issued === undefined;
}

/**
 * Revokes again what concurrent requests have created with the keys of such an account. The caller has waited for these requests with
 * `settleChanges`. @returns the ids of what was revoked.
 */
export const revokeLeftovers = (
  em: EntityManager,
  { userId, signInId, at }: { readonly userId: UserId; readonly signInId: ApiKeyId; readonly at: Date },
): Promise<ApiKeyId[]> => revokeKeys(em, { userId, except: signInId }, at);

/** Whether the person of an account signs in with an identity provider. */
export const hasIdentity = async (em: EntityManager, userId: UserId): Promise<boolean> =>
  (await em.count(Identity, { user: userId })) > 0;
