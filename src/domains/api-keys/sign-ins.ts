import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { SCOPES_OF_PEOPLE } from '../../core/access.ts';
import type { ApiKeyId, OrganizationId, UserId } from '../../core/ids.ts';
import { type OperationContext, defineOperation } from '../../core/operation.ts';
import type { Columns } from '../../core/postgres/reading/columns.ts';
import type { Asked } from '../../core/postgres/reading/lists.ts';
import { type Readable, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import { DAY_MS } from '../../core/text/timestamps.ts';
import type { OrganizationTables } from '../organizations/public.ts';
import type { User } from '../users/public.ts';
import { ApiKey, type ApiKeyTables, apiKeyTopic } from './entity.ts';
import type { ApiKeyFilter } from './input.ts';
import { READ_API_KEYS } from './policy.ts';
import { API_KEYS, type ApiKeyOrderField, type ApiKeyRow, blockKeys, unboundKeysOf } from './queries.ts';

/** Sign-ins of browsers: credentials without a secret, which a cookie names. */

const db = queriesOn<ApiKeyTables>();

/**
 * Creates the sign-in of a browser with a key, in the caller's transaction. It has the rights of the key, and never outlasts it.
 * @returns undefined if the key is revoked.
 */
export async function beginSignIn(
  em: EntityManager,
  { id, keyId, at, expiresAt }: { id: ApiKeyId; keyId: ApiKeyId; at: Date; expiresAt: Date },
): Promise<ApiKey | undefined> {
  // A revocation waits for this transaction, and then also ends the sign-in.
  const key = await em.findOne(ApiKey, { id: keyId, revokedAt: null }, { lockMode: LockMode.PESSIMISTIC_READ });
  if (!key) return undefined;
  const { user, organization, name, preview, scopes, blockedIn } = key;
  const signIn = em.create(ApiKey, {
    id,
    kind: 'SIGN_IN',
    signedInWith: key,
    user,
    organization,
    name,
    preview,
    scopes,
    blockedIn,
    expiresAt: key.expiresAt && key.expiresAt < expiresAt ? key.expiresAt : expiresAt,
    createdAt: at,
  });
  em.persist(signIn);
  return signIn;
}

/** What a sign-in keeps of the session at an identity provider: its id, and the encrypted ID token. */
export interface OfProvider {
  readonly providerSession?: string | null;
  readonly idToken?: string | null;
}

/** Creates the sign-in of a person without a key, in the caller's transaction, which has locked the account. It has all rights of the person. */
export function beginPersonalSignIn(
  em: EntityManager,
  { at, ...given }: { id: ApiKeyId; user: User; name: string; at: Date; expiresAt: Date } & OfProvider,
): void {
  em.persist(
    em.create(ApiKey, { ...given, kind: 'SIGN_IN', preview: '', scopes: [...SCOPES_OF_PEOPLE], createdAt: at }),
  );
}

/** Ends a sign-in, in the caller's transaction. @returns whether it was open. */
export async function endSignIn(em: EntityManager, id: ApiKeyId, at: Date): Promise<boolean> {
  return (await em.nativeUpdate(ApiKey, { id, kind: 'SIGN_IN', revokedAt: null }, { revokedAt: at })) > 0;
}

/** Ends the sign-ins with a key that is revoked, in the caller's transaction. */
export async function endSignInsWith(em: EntityManager, keyId: ApiKeyId, at: Date): Promise<void> {
  await em.nativeUpdate(ApiKey, { signedInWith: keyId, revokedAt: null }, { revokedAt: at });
}

/** Ends the sign-ins without a key of a person who is in no other organization, in the caller's transaction. @returns their ids. */
export async function endSignInsOfOnly(
  em: EntityManager,
  { userId, organizationId }: { userId: UserId; organizationId: OrganizationId },
  at: Date,
): Promise<ApiKeyId[]> {
  const ended = await em
    .getKysely<Readable<ApiKeyTables & OrganizationTables>>()
    .updateTable('api_key')
    .set({ revoked_at: at })
    .where('user_id', '=', userId)
    .where('kind', '=', 'SIGN_IN')
    .where('signed_in_with_id', 'is', null)
    .where('revoked_at', 'is', null)
    .where((eb) => {
      const others = eb.selectFrom('membership').select('user_id').where('user_id', '=', userId);
      return eb.not(eb.exists(others.where('organization_id', '<>', organizationId)));
    })
    .returning('id')
    .execute();
  return ended.map(({ id }) => id);
}

/**
 * Ends the sign-ins and connected apps of a member, in the caller's transaction: those that act in the organization alone, and sign-ins of
 * somebody in no other one; others no longer act here. @returns the ids of all that lost rights.
 */
export async function endSignInsOfMember(
  em: EntityManager,
  member: { readonly userId: UserId; readonly organizationId: OrganizationId },
  at: Date,
): Promise<ApiKeyId[]> {
  const { userId, organizationId } = member;
  const ended = await em
    .getKysely<Readable<ApiKeyTables>>()
    .updateTable('api_key')
    .set({ revoked_at: at })
    .where('user_id', '=', userId)
    .where('organization_id', '=', organizationId)
    .where('kind', '<>', 'KEY')
    .where('revoked_at', 'is', null)
    .returning('id')
    .execute();
  const altogether = await endSignInsOfOnly(em, member, at);
  await blockKeys(em, organizationId, { userId, kind: 'SIGN_IN' });
  return [...ended.map(({ id }) => id), ...altogether, ...(await unboundKeysOf(em, [userId]))];
}

/**
 * Ends the sign-ins of a session at an identity provider, or without one all sign-ins and grants of a person, in the caller's transaction.
 * @returns those that have ended
 */
export async function endProvided(
  em: EntityManager,
  { userId, session }: { readonly userId: UserId | undefined; readonly session: string | undefined },
  at: Date,
): Promise<{ id: ApiKeyId; userId: UserId }[]> {
  let ending = em
    .getKysely<Readable<ApiKeyTables>>()
    .updateTable('api_key')
    .set({ revoked_at: at })
    .where('revoked_at', 'is', null)
    .where('kind', '<>', 'KEY');
  if (userId !== undefined) ending = ending.where('user_id', '=', userId);
  if (session !== undefined) ending = ending.where('provider_session', '=', session);
  return ending.returning(['id', 'user_id as userId']).execute();
}

/** The encrypted ID token of a sign-in, ended or not. */
export const readIdToken = async (reader: Sql, id: ApiKeyId): Promise<string | null | undefined> =>
  (await reader.first(db.selectFrom('api_key').select('id_token as idToken').where('id', '=', id)))?.idToken;

/** Notifies the live streams of a key that was revoked, and of its sign-ins. */
export async function publishRevocation(
  { sql, notifier, now }: Pick<OperationContext, 'sql' | 'notifier' | 'now'>,
  keyId: ApiKeyId,
): Promise<void> {
  const signIns = await sql.all(
    db
      .selectFrom('api_key')
      .select('id')
      .where('signed_in_with_id', '=', keyId)
      .where('expires_at', '>', now().toISOString()),
  );
  for (const id of [keyId, ...signIns.map((signIn) => signIn.id)]) notifier.publish(apiKeyTopic(id));
}

/** Deletes a batch of the credentials of a kind that have expired, when the audit log no longer names them. @returns how many were deleted. */
export const deleteOldCredentials =
  (kind: 'SIGN_IN' | 'OAUTH_GRANT') =>
  async (
    em: EntityManager,
    at: Date,
    batch: number,
    { auditRetentionDays }: { readonly auditRetentionDays: number },
  ): Promise<number> => {
    if (auditRetentionDays === 0) return 0;
    const tables = em.getKysely<Readable<ApiKeyTables>>();
    const old = tables
      .selectFrom('api_key')
      .select('id')
      .where('kind', '=', kind)
      .where('expires_at', '<=', new Date(at.getTime() - auditRetentionDays * DAY_MS).toISOString())
      .limit(batch);
    const { numDeletedRows } = await tables.deleteFrom('api_key').where('id', 'in', old).executeTakeFirst();
    return Number(numDeletedRows);
  };

/** Other people's sign-ins are in no list. */
export const listSignIns = defineOperation({
  name: 'listSignIns',
  description:
    "The caller's sign-ins in browsers: those without an organization, and those with a key of the organization that the request acts in. Only open ones, unless `includeRevoked` is true. `revokeApiKey` ends one.",
  access: READ_API_KEYS,
  run: (context, { filter, ...asked }: Asked<ApiKeyFilter, ApiKeyOrderField>, selected?: Columns<ApiKeyRow>) => {
    const { includeRevoked, ...conditions } = filter;
    const { actor, now } = context;
    const open = includeRevoked ? {} : { isActive: true as const, openAt: now().toISOString() };
    const userIds = (conditions.userIds ?? [actor.userId]).filter((id) => id === actor.userId);
    const own = { ...conditions, ...open, kind: 'SIGN_IN' as const, userIds };
    return API_KEYS.read(context, { ...asked, filter: own }, selected);
  },
});
