import DataLoader from 'dataloader';
import { type ExpressionBuilder, type RawBuilder, sql } from 'kysely';
import { jsonBuildObject } from 'kysely/helpers/postgres';
import type { ApiKeyId, UserId } from '../../core/ids.ts';
import type { ActingOrganization, Scope } from '../../core/access.ts';
import { type Readable, prepared, queriesOn } from '../../core/postgres/reading/queries.ts';
import { POSITION, type Replicas } from '../../core/postgres/health/replicas.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import { type ApiKeyTables, LAST_USED_PRECISION, hashApiKey } from '../../domains/api-keys/public.ts';
import type { OrganizationTables } from '../../domains/organizations/public.ts';

/** A key, its user, and the organizations that it can act in. For a bound key that is only its own organization. */
export interface KnownKey {
  readonly keyId: ApiKeyId;
  /** Why the key is refused; null for a valid key. */
  readonly refusal: 'key_revoked' | 'key_expired' | null;
  readonly userId: UserId;
  readonly scopes: ReadonlySet<Scope>;
  readonly isBound: boolean;
  /** Whether `lastUsedAt` is more than a minute old. */
  readonly isStale: boolean;
  readonly organizations: readonly Required<ActingOrganization>[];
  /** WAL position of the primary; null when a replica answered, because the primary is unreachable. */
  readonly position?: number | null | undefined;
}

/** Finds a key; undefined for an unknown key. */
export type FindKey = (key: string) => Promise<KnownKey | undefined>;

/** Finds a key by its text, or by the id in a sign-in cookie. */
export interface ApiKeyLookup {
  readonly byKey: FindKey;
  readonly byId: FindKey;
}

const db = queriesOn<ApiKeyTables & OrganizationTables>();

interface Wanted {
  readonly wanted: readonly string[];
  readonly at: Date;
}
type ValueOf = <Name extends keyof Wanted>(name: Name) => RawBuilder<Wanted[Name]>;
type Tables = Readable<ApiKeyTables & OrganizationTables>;
/** An expression builder for the row of a key. */
type OfKey = ExpressionBuilder<Tables & { k: Tables['api_key'] }, 'k'>;

const findKeys = (by: 'hash' | 'id', withPosition: boolean) =>
  prepared<Wanted>()((value) => {
    const keys = db
      .selectFrom('api_key as k')
      .select(['k.id as keyId', 'k.user_id as userId'])
      .select((eb) => [
        sql<string>`encode(${eb.ref('k.hash')}, 'hex')`.as('hash'),
        // As JSON, because the driver parses PostgreSQL arrays slowly, character by character.
        sql<readonly Scope[]>`to_json(${eb.ref('k.scopes')})`.as('scopes'),
        refusalOf(eb, value).as('refusal'),
        eb('k.organization_id', 'is not', null).$castTo<boolean>().as('isBound'),
        isStale(eb, value).as('isStale'),
        organizationsOf(eb).as('organizations'),
      ])
      .where((eb) =>
        by === 'hash'
          ? eb('k.hash', '=', sql<Buffer>`any(${value('wanted')}::bytea[])`)
          : eb('k.id', '=', sql<string>`any(${value('wanted')}::uuid[])`),
      );
    return withPosition ? keys.select(sql<number | null>`${sql.raw(POSITION)}`.as('position')) : keys;
  });

const refusalOf = (eb: OfKey, value: ValueOf) =>
  eb
    .case()
    .when('k.revoked_at', 'is not', null)
    .then(sql.lit('key_revoked' as const))
    .when(sql<boolean>`k.expires_at <= ${value('at')}::timestamptz`)
    .then(sql.lit('key_expired' as const))
    .end();

const isStale = (eb: OfKey, value: ValueOf) =>
  eb
    .or([
      eb('k.last_used_at', 'is', null),
      eb('k.last_used_at', '<', sql<string>`${value('at')}::timestamptz - ${LAST_USED_PRECISION}`),
    ])
    .$castTo<boolean>();

const organizationsOf = (eb: OfKey) =>
  eb
    .selectFrom('membership as m')
    .innerJoin('organization as o', 'o.id', 'm.organization_id')
    .select((inner) => {
      const organization = jsonBuildObject({
        id: inner.ref('o.id'),
        name: inner.ref('o.name'),
        slug: inner.ref('o.slug'),
        number: inner.ref('o.number'),
        role: inner.ref('m.role'),
        subscriptions: inner.ref('o.subscriptions'),
      });
      return sql<KnownKey['organizations']>`coalesce(json_agg(${organization}), '[]')`.as('found');
    })
    .whereRef('m.user_id', '=', 'k.user_id')
    .where((inner) =>
      inner.or([inner('k.organization_id', 'is', null), inner('o.id', '=', inner.ref('k.organization_id'))]),
    )
    .$asScalar()
    .$notNull();

/**
 * Looks up the key of every request without a cache, so that a revoked key is refused at once in every process. Requests that arrive in one
 * iteration of the event loop share a statement, which is sent after the last of them has arrived, so its result is current for all.
 */
export function createKeys({
  sql: reader,
  replicas,
  now,
}: {
  readonly sql: Sql;
  readonly replicas: Replicas | undefined;
  readonly now: () => Date;
}): ApiKeyLookup {
  const findByHash = findKeys('hash', replicas !== undefined);
  const findById = findKeys('id', replicas !== undefined);

  async function findAll(keys: readonly string[]): Promise<(KnownKey | undefined)[]> {
    const hashes = new Map([...new Set(keys)].map((key) => [key, hashApiKey(key).toString('hex')]));
    const rows = await reader.all(findByHash({ wanted: [...hashes.values()].map((hash) => `\\x${hash}`), at: now() }));
    const known = new Map(rows.map((row) => [row.hash, toKnownKey(row)]));
    return keys.map((key) => known.get(hashes.get(key) ?? ''));
  }

  async function findAllById(ids: readonly string[]): Promise<(KnownKey | undefined)[]> {
    const rows = await reader.all(findById({ wanted: [...new Set(ids)], at: now() }));
    const known = new Map(rows.map((row) => [row.keyId, toKnownKey(row)]));
    return ids.map((id) => known.get(id));
  }

  const options = { cache: false, maxBatchSize: 1000, batchScheduleFn: (send: () => void) => void setImmediate(send) };
  const byKey = new DataLoader(findAll, options);
  const byId = new DataLoader(findAllById, options);
  return { byKey: (key) => byKey.load(key), byId: (id) => byId.load(id) };
}

type KeyRow = Omit<KnownKey, 'scopes'> & { readonly scopes: readonly Scope[]; readonly hash: string };

function toKnownKey({ scopes, ...row }: KeyRow): KnownKey {
  return { ...row, scopes: new Set(scopes) };
}
