import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import type { Scope } from '../../core/access.ts';
import { limitReached } from '../../core/errors.ts';
import type { ApiKeyId, OrganizationId, UserId } from '../../core/ids.ts';
import type { Readable } from '../../core/postgres/reading/queries.ts';
import { ApiKey, type ApiKeyTables } from '../api-keys/public.ts';
import { lockUser } from '../users/public.ts';
import { OAuthGrant } from './entity.ts';

/** Grants: what a person has allowed a client. Each is a row of `api_key`, so that it ends like a key. */

/** Maximum of active grants of a person in an organization. */
const MAX_ACTIVE_GRANTS = 100;

export interface NewGrant {
  readonly id: ApiKeyId;
  readonly userId: UserId;
  readonly organizationId: OrganizationId;
  readonly scopes: readonly Scope[];
  readonly clientId: string;
  readonly clientName: string;
  readonly clientHost: string | null;
  readonly resource: string;
  readonly redirectHost: string | null;
  /** The key that the browser was signed in with; the grant ends with it. */
  readonly signedInWithId: ApiKeyId | null;
  readonly expiresAt: Date;
}

/**
 * Creates a grant, in the caller's transaction. The caller has checked the rights of the person.
 * @throws ConflictError when the maximum of active grants is reached.
 */
export async function createGrant(em: EntityManager, grant: NewGrant, at: Date): Promise<ApiKey | undefined> {
  const { id, userId, organizationId, clientName, scopes, signedInWithId, expiresAt, ...client } = grant;
  if (!(await lockUser(em, userId))) return undefined;
  // A revocation of the key waits for this transaction, and then also ends the grant.
  const active = { id: signedInWithId ?? id, revokedAt: null };
  const key = signedInWithId ? await em.findOne(ApiKey, active, { lockMode: LockMode.PESSIMISTIC_READ }) : null;
  if (signedInWithId !== null && !key) return undefined;
  const others = { kind: 'OAUTH_GRANT' as const, user: userId, organization: organizationId, revokedAt: null };
  if ((await em.count(ApiKey, { ...others, expiresAt: { $gt: at } })) >= MAX_ACTIVE_GRANTS)
    throw limitReached(
      MAX_ACTIVE_GRANTS,
      `a person has at most ${MAX_ACTIVE_GRANTS} connected apps in an organization; revoke one first`,
    );
  const created = em.create(ApiKey, {
    id,
    kind: 'OAUTH_GRANT',
    user: userId,
    organization: organizationId,
    signedInWith: signedInWithId,
    name: clientName,
    preview: '',
    scopes: [...scopes],
    expiresAt: earlier(expiresAt, key?.expiresAt),
    createdAt: at,
  });
  em.persist([created, em.create(OAuthGrant, { key: created, ...client })]);
  return created;
}

const earlier = (wanted: Date, latest: Date | null | undefined): Date => (latest && latest < wanted ? latest : wanted);

/** Lets a grant last until its new refresh token expires, but never longer than the key that it was made with. */
export async function extendGrant(em: EntityManager, id: ApiKeyId, until: Date): Promise<void> {
  await em
    .getKysely<Readable<ApiKeyTables>>()
    .updateTable('api_key as k')
    .set((eb) => ({
      expires_at: eb.fn<Date>('least', [
        eb.val(until),
        eb.selectFrom('api_key as p').select('p.expires_at').whereRef('p.id', '=', 'k.signed_in_with_id'),
      ]),
    }))
    .where('k.id', '=', id)
    .where('k.revoked_at', 'is', null)
    .execute();
}

/** Ends a grant, in the caller's transaction; only if it is of this person and organization. @returns undefined if there is no such active grant. */
export async function revokeGrant(
  em: EntityManager,
  { id, userId, organizationId }: { id: ApiKeyId; userId?: UserId; organizationId?: OrganizationId },
  at: Date,
): Promise<ApiKey | undefined> {
  const whose = {
    ...(userId !== undefined && { user: userId }),
    ...(organizationId !== undefined && { organization: organizationId }),
  };
  const wanted = { id, kind: 'OAUTH_GRANT' as const, revokedAt: null, ...whose };
  const grant = await em.findOne(ApiKey, wanted, { lockMode: LockMode.PESSIMISTIC_WRITE });
  grant?.revoke(at);
  return grant ?? undefined;
}
