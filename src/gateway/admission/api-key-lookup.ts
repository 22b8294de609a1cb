import DataLoader from 'dataloader';
import { type ExpressionBuilder, type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import { jsonBuildObject } from 'kysely/helpers/postgres';
import type { ApiKeyId, OrganizationId, UserId } from '../../core/ids.ts';
import type { ActingOrganization, CredentialKind, Role, Scope } from '../../core/access.ts';
import { BATCH_PER_TICK } from '../../core/concurrency.ts';
import { type Readable, prepared, queriesOn } from '../../core/postgres/reading/queries.ts';
import { POSITION, type Replicas } from '../../core/postgres/health/replicas.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import { DAY_MS } from '../../core/text/timestamps.ts';
import { type ApiKeyTables, LAST_USED_PRECISION, hashApiKey } from '../../domains/api-keys/public.ts';
import type { IdentityTables } from '../../domains/identities/public.ts';
import type { OAuthTables } from '../../domains/oauth-grants/public.ts';
import type { OrganizationTables } from '../../domains/organizations/public.ts';
import type { UserTables } from '../../domains/users/public.ts';

/** A credential, its user, and the organizations that it can act in. For a bound one that is only its own organization. */
export interface KnownKey {
  readonly keyId: ApiKeyId;
  readonly kind: CredentialKind;
  /** The key that a browser was signed in with; null for others. */
  readonly signedInWithId: ApiKeyId | null;
  /** The address that an access token is for; null for others. */
  readonly resource: string | null;
  /** Why the key is refused; null for a valid key. */
  readonly refusal: 'key_revoked' | 'key_expired' | 'key_asleep' | null;
  readonly userId: UserId;
  readonly isServiceAccount: boolean;
  readonly scopes: ReadonlySet<Scope>;
  readonly isBound: boolean;
  /** Whether `lastUsedAt` is more than a minute old. */
  readonly isStale: boolean;
  readonly organizations: readonly Required<ActingOrganization>[];
  /** Organizations of the user in which the key is refused. */
  readonly blocked: readonly Required<ActingOrganization>[];
  /** WAL position of the primary; null when a replica answered, because the primary is unreachable. */
  readonly position?: number | null | undefined;
}

/** A grant, with the client that has it. */
export interface KnownGrant extends KnownKey {
  readonly clientId: string;
  readonly resource: string;
}

/** Finds a key; undefined for an unknown key. */
export interface ApiKeyLookup {
  readonly byKey: (key: string) => Promise<KnownKey | undefined>;
  /** The grant of an access token; undefined for one that has expired. */
  readonly byAccessToken: (token: string) => Promise<KnownKey | undefined>;
  readonly bySignIn: (id: ApiKeyId) => Promise<KnownKey | undefined>;
  /** A grant, read with the given connection, such as that of a transaction. */
  readonly byGrant: (sql: Pick<Sql, 'first'>, id: ApiKeyId) => Promise<KnownGrant | undefined>;
}

const db = queriesOn<ApiKeyTables & OrganizationTables & UserTables & IdentityTables & OAuthTables>();

interface Wanted {
  readonly wanted: readonly string[];
  readonly at: Date;
  /** Keys of people with an identity who have not signed in since are refused; null refuses none. */
  readonly awakeSince: Date | null;
}
/** A row of the lookup. `wanted` is what it was found by. */
type KeyRow<Known extends KnownKey = KnownKey> = Omit<Known, 'scopes' | 'blocked'> & {
  readonly scopes: readonly Scope[];
  readonly blockedIn: readonly OrganizationId[] | null;
  readonly wanted: string;
};

type ValueOf = <Name extends keyof Wanted>(name: Name) => RawBuilder<Wanted[Name]>;
type Tables = Readable<ApiKeyTables & OrganizationTables & UserTables & IdentityTables & OAuthTables>;
/** An expression builder for the row of a key. */
type OfKey = ExpressionBuilder<Tables & { k: Tables['api_key'] }, 'k'>;

const OF_KEY = { revokedAt: sql.ref<string | null>('k.revoked_at'), scopes: sql.ref<readonly Scope[]>('k.scopes') };

const keys = (value: ValueOf, sleep: boolean, { revokedAt, scopes } = OF_KEY) =>
  db
    .selectFrom('api_key as k')
    .select(['k.id as keyId', 'k.user_id as userId', 'k.is_of_service_account as isServiceAccount'])
    .select('k.kind')
    .select((eb) => [
      // As JSON, because the driver parses PostgreSQL arrays slowly, character by character.
      sql<readonly Scope[]>`to_json(${scopes})`.as('scopes'),
      refusalOf(eb, value, { sleep, revokedAt }).as('refusal'),
      eb('k.organization_id', 'is not', null).$castTo<boolean>().as('isBound'),
      isStale(eb, value).as('isStale'),
      organizationsOf(eb, value).as('organizations'),
      sql<readonly OrganizationId[] | null>`case when k.blocked_in <> '{}' then to_json(k.blocked_in) end`.as(
        'blockedIn',
      ),
    ]);

const NO_SIGN_IN = sql<ApiKeyId | null>`null::uuid`.as('signedInWithId');
const NO_RESOURCE = sql<string | null>`null::text`.as('resource');

/** A client can refresh a grant for some of its scopes only (RFC 6749, section 6). */
const OF_TOKEN = sql<readonly Scope[]>`array(
  select unnest(k.scopes) intersect select unnest(string_to_array(t.payload ->> 'scope', ' ')))`;

const BY = {
  hash: (value: ValueOf, sleep: boolean) =>
    keys(value, sleep)
      .select([NO_SIGN_IN, NO_RESOURCE])
      .select((eb) => sql<string>`'\\x' || encode(${eb.ref('k.hash')}, 'hex')`.as('wanted'))
      .where((eb) => eb('k.hash', '=', sql<Buffer>`any(${value('wanted')}::bytea[])`)),
  token: (value: ValueOf, sleep: boolean) =>
    keys(value, sleep, { ...OF_KEY, scopes: OF_TOKEN })
      .innerJoin('oauth_artifact as t', 't.key_id', 'k.id')
      .innerJoin('oauth_grant as g', 'g.key_id', 'k.id')
      // The key that the person was signed in with is not used with the grant.
      .select([NO_SIGN_IN, 'g.resource'])
      .select((eb) => sql<string>`'\\x' || encode(${eb.ref('t.hash')}, 'hex')`.as('wanted'))
      .where((eb) => eb('t.hash', '=', sql<Buffer>`any(${value('wanted')}::bytea[])`))
      .where('t.kind', '=', sql.lit('AccessToken'))
      .where(sql<boolean>`t.expires_at > ${value('at')}::timestamptz`),
  signIn: (value: ValueOf, sleep: boolean) =>
    // One that has expired or signed out is unknown. A gateway of the version before revokes a key without its sign-ins.
    keys(value, sleep, { ...OF_KEY, revokedAt: sql.ref('p.revoked_at') })
      .leftJoin('api_key as p', 'p.id', 'k.signed_in_with_id')
      .select(['k.signed_in_with_id as signedInWithId', NO_RESOURCE])
      .select('k.id as wanted')
      .where((eb) => eb('k.id', '=', sql<string>`any(${value('wanted')}::uuid[])`))
      .where('k.kind', '=', sql.lit('SIGN_IN'))
      .where(sql<boolean>`k.expires_at > ${value('at')}::timestamptz`)
      .where((eb) => eb.or([eb('k.revoked_at', 'is', null), eb('p.revoked_at', 'is not', null)])),
};

const findKeys = (by: keyof typeof BY, withPosition: boolean, sleep: boolean) =>
  prepared<Wanted>()((value) => {
    const found: SelectQueryBuilder<Tables, never, KeyRow> = BY[by](value, sleep);
    return withPosition ? found.select(sql<number | null>`${sql.raw(POSITION)}`.as('position')) : found;
  });

const findGrant = (sleep: boolean) =>
  prepared<Wanted>()((value): SelectQueryBuilder<Tables, never, KeyRow<KnownGrant>> =>
    keys(value, sleep)
      .innerJoin('oauth_grant as g', 'g.key_id', 'k.id')
      .select([NO_SIGN_IN, 'g.resource', 'g.client_id as clientId', 'k.id as wanted'])
      .where((eb) => eb('k.id', '=', sql<string>`any(${value('wanted')}::uuid[])`)),
  );

const isAsleep = (eb: OfKey, value: ValueOf) => {
  const last = eb
    .selectFrom('identity as i')
    .select((inner) => inner.fn.max('i.last_signed_in_at').as('at'))
    .whereRef('i.user_id', '=', 'k.user_id');
  // A sign-in with a key sleeps like the key.
  return sql<boolean>`((k.kind <> 'SIGN_IN' or k.signed_in_with_id is not null) and ${last} < ${value('awakeSince')}::timestamptz)`;
};

const refusalOf = (
  eb: OfKey,
  value: ValueOf,
  { sleep, revokedAt }: { readonly sleep: boolean; readonly revokedAt: RawBuilder<string | null> },
) => {
  const refusal = eb
    .case()
    .when(sql<boolean>`${revokedAt} is not null`)
    .then(sql.lit('key_revoked' as const))
    .when(sql<boolean>`k.expires_at <= ${value('at')}::timestamptz`)
    .then(sql.lit('key_expired' as const));
  // Only with the setting, so that the lookup costs nothing without it.
  return sleep
    ? refusal
        .when(isAsleep(eb, value))
        .then(sql.lit('key_asleep' as const))
        .end()
    : refusal.end();
};

const isStale = (eb: OfKey, value: ValueOf) =>
  eb
    .or([
      eb('k.last_used_at', 'is', null),
      eb('k.last_used_at', '<', sql<string>`${value('at')}::timestamptz - ${LAST_USED_PRECISION}`),
    ])
    .$castTo<boolean>();

/** The organizations of a person, or of a service account. Only one of the subqueries is executed. */
const organizationsOf = (eb: OfKey, value: ValueOf) =>
  eb
    .case()
    .when('k.is_of_service_account', '=', sql.lit(false))
    .then(ofPerson(eb, value))
    .else(ofServiceAccount(eb, value))
    .end()
    .$notNull();

/** By the key policy. */
const isAged = (value: ValueOf) =>
  sql<
    boolean | null
  >`k.kind = 'KEY' and k.created_at < ${value('at')}::timestamptz - o.key_max_days * interval '1 day'`;

const found = (role: RawBuilder<Role | null>, value: ValueOf) => {
  const organization = jsonBuildObject({
    id: sql.ref('o.id'),
    name: sql.ref('o.name'),
    slug: sql.ref('o.slug'),
    number: sql.ref('o.number'),
    role,
    subscriptions: sql.ref('o.subscriptions'),
    isAged: isAged(value),
  });
  return sql<KnownKey['organizations']>`coalesce(json_agg(${organization}), '[]')`.as('found');
};

const ofServiceAccount = (eb: OfKey, value: ValueOf) =>
  eb
    .selectFrom('user_account as a')
    .innerJoin('organization as o', 'o.id', 'a.service_organization_id')
    .select(found(sql.ref('a.service_role'), value))
    .whereRef('a.id', '=', 'k.user_id')
    .where('a.service_deleted_at', 'is', null)
    .$asScalar()
    .$notNull();

const ofPerson = (eb: OfKey, value: ValueOf) =>
  eb
    .selectFrom('membership as m')
    .innerJoin('organization as o', 'o.id', 'm.organization_id')
    .select(found(sql.ref('m.role'), value))
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
  sleepAfterDays = 0,
}: {
  readonly sql: Sql;
  readonly replicas: Replicas | undefined;
  readonly now: () => Date;
  /** Days without a sign-in after which the keys of a person with an identity are refused; 0 for never. */
  readonly sleepAfterDays?: number;
}): ApiKeyLookup {
  const awakeSince = () => (sleepAfterDays === 0 ? null : new Date(now().getTime() - sleepAfterDays * DAY_MS));
  const options = { ...BATCH_PER_TICK, maxBatchSize: 1000 };

  /** `wantedOf` converts what callers know of a key to a parameter of the statement. */
  function lookup(by: keyof typeof BY, wantedOf: (given: string) => string = (id) => id) {
    const find = findKeys(by, replicas !== undefined, sleepAfterDays > 0);
    const loader = new DataLoader(async (given: readonly string[]) => {
      const wanted = given.map(wantedOf);
      const rows = await reader.all(find({ wanted: [...new Set(wanted)], at: now(), awakeSince: awakeSince() }));
      const known = new Map(rows.map((row) => [row.wanted, toKnownKey(row)]));
      return wanted.map((each) => known.get(each));
    }, options);
    return (given: string) => loader.load(given);
  }

  const findOfGrant = findGrant(sleepAfterDays > 0);
  const hashed = (secret: string) => `\\x${hashApiKey(secret).toString('hex')}`;
  return {
    byKey: lookup('hash', hashed),
    byAccessToken: lookup('token', hashed),
    bySignIn: lookup('signIn'),
    byGrant: async (given, id) => {
      const row = await given.first(findOfGrant({ wanted: [id], at: now(), awakeSince: awakeSince() }));
      return row && toKnownKey(row);
    },
  };
}

const NONE: KnownKey['blocked'] = [];

function toKnownKey<Row extends Pick<KeyRow, 'scopes' | 'blockedIn' | 'organizations'>>({ scopes, ...row }: Row) {
  const known = { ...row, scopes: new Set(scopes), blocked: NONE };
  const { blockedIn, organizations } = row;
  if (!blockedIn && !organizations.some((each) => each.isAged)) return known;
  const isBlocked = ({ id, isAged: isOld }: ActingOrganization) => isOld === true || blockedIn?.includes(id) === true;
  const open = organizations.filter((each) => !isBlocked(each));
  return { ...known, organizations: open, blocked: organizations.filter(isBlocked) };
}
