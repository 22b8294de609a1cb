import type { EntityManager } from '@mikro-orm/postgresql';
import { type RawBuilder, sql } from 'kysely';
import type { ApiKeyId, OrganizationId, UserId } from '../../core/ids.ts';
import { groupBy } from '../../core/arrays.ts';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import { defineList } from '../../core/postgres/reading/lists.ts';
import type { CredentialKind } from '../../core/access.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type Readable, type RowOf, anyOf, asRow, prepared, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import type { OrganizationTables } from '../organizations/public.ts';
import { API_KEY_COLUMNS, type ApiKey, type ApiKeyTables } from './entity.ts';
import type { ApiKeyFilter } from './input.ts';
import { isReached, limitingKey, reachedBy } from './policy.ts';
import { ForbiddenError, notFound } from '../../core/errors.ts';

const db = queriesOn<ApiKeyTables & OrganizationTables>();

/** A credential without its hash. A row has the selected columns only; without a selection it has all of these. */
export type ApiKeyRow = Omit<RowOf<Readable<ApiKeyTables>['api_key']>, (typeof HIDDEN)[number]>;
const HIDDEN = ['hash', 'providerSession', 'idToken'] as const;

const SHOWN = API_KEY_COLUMNS.filter((name): name is keyof ApiKeyRow => !HIDDEN.some((hidden) => hidden === name));

export type ApiKeyOrderField = 'CREATED_AT' | 'NAME';

interface ApiKeyConditions extends Omit<ApiKeyFilter, 'includeRevoked'> {
  readonly kind?: CredentialKind;
  /** Only those that expire later. */
  readonly openAt?: string;
  readonly isActive?: true;
}

/** Each credential once for each organization in which it acts, and an unbound one also for none. */
const LISTED = db
  .selectFrom('api_key')
  .selectAll()
  .select('organization_id as acts_in')
  .where('organization_id', 'is not', null)
  .unionAll(
    db
      .selectFrom('membership as m')
      .innerJoin('api_key as u', 'u.user_id', 'm.user_id')
      .selectAll('u')
      .select('m.organization_id as acts_in')
      .where('u.organization_id', 'is', null),
  )
  .unionAll(
    db
      .selectFrom('api_key')
      .selectAll()
      .select(sql<OrganizationId | null>`null::uuid`.as('acts_in'))
      .where('organization_id', 'is', null),
  );

/** The credentials that the caller can see. */
export const API_KEYS = defineList<ApiKeyRow, ApiKeyConditions, ApiKeyOrderField>()(db.selectFrom(LISTED.as('k')), {
  name: 'API_KEY',
  alias: 'k',
  columns: SHOWN,
  reach: ({ actor }) => reachedBy(actor),
  filter: ({ oneOf, containing, between }) => ({
    kind: { inText: (kind) => sql`k.kind = ${sql.lit(kind)}` },
    openAt: (at) => sql`k.expires_at > ${at}::timestamptz`,
    isActive: { inText: () => sql`k.revoked_at is null` },
    isBound: { inText: (isBound) => sql`k.organization_id is ${sql.raw(isBound ? 'not null' : 'null')}` },
    ownerIds: oneOf('userId', 'uuid'),
    userIds: oneOf('userId', 'uuid'),
    search: containing('name'),
    ...between('created', 'createdAt'),
  }),
  orders: { CREATED_AT: { createdAt: 'timestamptz' }, NAME: { name: 'text' } },
  otherwise: { field: 'CREATED_AT', direction: 'DESC' },
});

/** The row of a key that was just written. */
export function apiKeyRow(key: ApiKey): ApiKeyRow {
  const { user, organization, signedInWith, createdBy, ...properties } = key;
  const ids = {
    userId: user.id,
    organizationId: organization?.id,
    signedInWithId: signedInWith?.id,
    createdById: createdBy?.id,
  };
  return asRow({ ...properties, ...ids }, SHOWN);
}

/** Minimum time between two writes of `lastUsedAt`, so that not every request writes. */
export const LAST_USED_PRECISION = sql.raw(`interval '1 minute'`);

const noteUse = prepared<{ ids: readonly ApiKeyId[]; at: Date }>()((value) =>
  db
    .updateTable('api_key')
    .set({ last_used_at: value('at') })
    .where('id', '=', sql<string>`any(${value('ids')}::uuid[])`)
    // Repeats the condition of the lookup, so that of concurrent requests only one writes.
    .where((eb) =>
      eb.or([
        eb('last_used_at', 'is', null),
        eb('last_used_at', '<', sql<string>`${value('at')}::timestamptz - ${LAST_USED_PRECISION}`),
      ]),
    ),
);

const beingNoted = new Map<ApiKeyId, Promise<unknown>>();

/** Records that a credential was used, and the key that a browser was signed in with, to the minute. Concurrent requests share one statement. */
export async function noteKeyUse(
  writer: Sql,
  { keyId, signedInWithId }: { readonly keyId: ApiKeyId; readonly signedInWithId: ApiKeyId | null },
  at: Date,
): Promise<void> {
  let noted = beingNoted.get(keyId);
  if (!noted) {
    const ids = signedInWithId === null ? [keyId] : [keyId, signedInWithId];
    noted = writer.all(noteUse({ ids, at })).finally(() => beingNoted.delete(keyId));
    beingNoted.set(keyId, noted);
  }
  await noted;
}

/** Revokes the keys of a user, of an organization, or of a user in an organization, in the caller's transaction. @returns their ids. */
export async function revokeKeys(
  em: EntityManager,
  {
    userId,
    organizationId,
    except,
  }: ({ userId: UserId; organizationId?: OrganizationId } | { userId?: UserId; organizationId: OrganizationId }) & {
    except?: ApiKeyId;
  },
  at: Date,
): Promise<ApiKeyId[]> {
  let revocation = em
    .getKysely<Readable<ApiKeyTables>>()
    .updateTable('api_key')
    .set({ revoked_at: at })
    .where('revoked_at', 'is', null);
  if (userId !== undefined) revocation = revocation.where('user_id', '=', userId);
  if (organizationId !== undefined) revocation = revocation.where('organization_id', '=', organizationId);
  if (except !== undefined) revocation = revocation.where('id', '<>', except);
  return (await revocation.returning('id').execute()).map(({ id }) => id);
}

type Whose = { readonly userId: UserId; readonly kind?: 'SIGN_IN' } | { readonly keyId: ApiKeyId };

/**
 * Ends unbound credentials for an organization, in the caller's transaction: those of a person, or a key with the sign-ins made with it.
 */
export async function blockKeys(em: EntityManager, organizationId: OrganizationId, whose: Whose): Promise<void> {
  await changeBlocks(em, whose, sql`array_append(array_remove(blocked_in, ${organizationId}), ${organizationId})`);
}

/** Lets a key act in an organization again, with the sign-ins made with it. */
export async function unblockKey(em: EntityManager, organizationId: OrganizationId, keyId: ApiKeyId): Promise<void> {
  await changeBlocks(em, { keyId }, sql`array_remove(blocked_in, ${organizationId})`);
}

async function changeBlocks(em: EntityManager, whose: Whose, blockedIn: RawBuilder<OrganizationId[]>): Promise<void> {
  await em
    .getKysely<Readable<ApiKeyTables>>()
    .updateTable('api_key')
    .set({ blocked_in: blockedIn })
    .where('organization_id', 'is', null)
    .where('revoked_at', 'is', null)
    .where((eb) =>
      'userId' in whose
        ? eb.and([eb('user_id', '=', whose.userId), ...(whose.kind ? [eb('kind', '=', whose.kind)] : [])])
        : eb.or([eb('id', '=', whose.keyId), eb('signed_in_with_id', '=', whose.keyId)]),
    )
    .execute();
}

/** The ids of the active unbound keys of the users. */
export async function unboundKeysOf(em: EntityManager, userIds: readonly UserId[]): Promise<ApiKeyId[]> {
  const keys = await em
    .getKysely<Readable<ApiKeyTables>>()
    .selectFrom('api_key')
    .select('id')
    .where('user_id', '=', anyOf('uuid', userIds))
    .where('organization_id', 'is', null)
    .where('revoked_at', 'is', null)
    .execute();
  return keys.map(({ id }) => id);
}

/** A version of the current rights of each key, which changes with them. Revoked and expired keys are left out. */
export async function readKeyVersions(
  { sql: reader, now }: Pick<OperationContext, 'sql' | 'now'>,
  ids: readonly ApiKeyId[],
): Promise<Map<ApiKeyId, string>> {
  const memberships = sql<string>`(select string_agg(m.organization_id || m.role, ' ' order by m.organization_id) from (select organization_id, role from membership where user_id = k.user_id union all select service_organization_id, service_role from user_account where id = k.user_id and service_deleted_at is null and k.is_of_service_account) m)`;
  const rows = await reader.all(
    db
      .selectFrom('api_key as k')
      .select(['k.id', sql<string>`concat_ws(' ', k.organization_id, ${memberships}, k.blocked_in)`.as('version')])
      .where('k.id', '=', anyOf('uuid', ids))
      .where('k.revoked_at', 'is', null)
      .where(sql<boolean>`(k.expires_at is null or k.expires_at > ${now()})`),
  );
  return new Map(rows.map(({ id, version }) => [id, version]));
}

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
  { sql: reader, actor }: OperationContext,
  keyId: ApiKeyId,
  operation: string,
): Promise<void> {
  const key = await reader.primary.first(findKey({ id: keyId }));
  if (!key) return;
  if (key.userId !== actor.userId && !isReached(actor, key)) throw notFound('API key');
  if (!['createApiKey', 'createServiceAccountApiKey'].includes(operation)) return;
  const isWider = actor.isBound === true && key.organizationId !== actor.organization?.id;
  const makerId = limitingKey(actor);
  const own = makerId === null ? undefined : await reader.primary.first(findKey({ id: makerId }));
  const latest = own?.expiresAt ?? null;
  const isLonger = latest !== null && (key.expiresAt === null || Date.parse(key.expiresAt) > Date.parse(latest));
  if (isWider || isLonger)
    throw new ForbiddenError('Idempotency-Key: the stored answer is an API key with more rights than the calling key');
}

const actsIn = (organizationId: OrganizationId) =>
  sql<boolean>`(k.organization_id is null or k.organization_id = ${organizationId})`;

/** When each of these people last used a credential that acts in the organization. */
export const lastUsesOf =
  ({ sql: reader }: Pick<OperationContext, 'sql'>, organizationId: OrganizationId): LoadBatch<UserId, string> =>
  async (userIds) => {
    const rows = await reader.all(
      db
        .selectFrom('api_key as k')
        .select(['k.user_id as userId', ({ fn }) => fn.max('k.last_used_at').as('at')])
        .where('k.user_id', '=', anyOf('uuid', userIds))
        .where(actsIn(organizationId))
        .groupBy('k.user_id'),
    );
    return new Map(rows.flatMap(({ userId, at }) => (at === null ? [] : [[userId, at] as const])));
  };

/** A sign-in or a connected app of a member, as administrators see it. */
export type MemberCredential = Pick<ApiKeyRow, 'name' | 'createdAt' | 'lastUsedAt' | 'expiresAt'>;

/** The open credentials of a kind of each of these people that act in the organization. */
export const credentialsOf =
  (
    { sql: reader, now }: Pick<OperationContext, 'sql' | 'now'>,
    organizationId: OrganizationId,
    kind: 'SIGN_IN' | 'OAUTH_GRANT',
  ): LoadBatch<UserId, readonly MemberCredential[]> =>
  async (userIds) => {
    const rows = await reader.all(
      db
        .selectFrom('api_key as k')
        .select(['k.user_id as userId', 'k.name', 'k.created_at as createdAt', 'k.last_used_at as lastUsedAt'])
        .select('k.expires_at as expiresAt')
        .where('k.user_id', '=', anyOf('uuid', userIds))
        .where('k.kind', '=', kind)
        .where('k.revoked_at', 'is', null)
        .where('k.expires_at', '>', now().toISOString())
        .where(actsIn(organizationId))
        .where(sql<boolean>`${organizationId} <> all(k.blocked_in)`)
        .orderBy('k.created_at', 'desc')
        .limit(1000),
    );
    return groupBy(rows, ({ userId }) => userId);
  };
