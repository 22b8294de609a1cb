import type { Subscriptions } from '../core/config.ts';
import type { HttpHeaders } from '../core/http.ts';
import { notFound, unauthenticated } from '../core/errors.ts';
import type { ActingOrganization, Actor, Role, Scope } from '../core/operation.ts';
import { POSITION } from '../core/replicas.ts';
import { hashApiKey, isWellFormedApiKey } from '../domains/api-keys/key-format.ts';
import type { Dependencies } from './dependencies.ts';

/** Names the organization to act in, by id or slug. */
export const ORGANIZATION_HEADER = 'X-Organization-Id';

interface KeyRow {
  readonly keyId: string;
  readonly userId: string;
  readonly scopes: Scope[];
  readonly isBound: boolean;
  readonly isStale: boolean;
  readonly organizations: readonly {
    id: string;
    slug: string | null;
    number: number;
    role: Role;
    subscriptions: Subscriptions;
  }[];
  readonly position?: number;
}

// One round trip for the key, its user and the organizations it may act in. A key that is bound to an organization sees that one alone.
const findKey = (more = '') => `
  select k.id as "keyId", k.user_id as "userId", to_json(k.scopes) as scopes, k.organization_id is not null as "isBound",
    (k.last_used_at is null or k.last_used_at < $2::timestamptz - interval '1 minute') as "isStale",
    coalesce((select json_agg(json_build_object('id', o.id, 'slug', o.slug, 'number', o.number, 'role', m.role, 'subscriptions', o.subscriptions))
      from membership m join organization o on o.id = m.organization_id
      where m.user_id = k.user_id and (k.organization_id is null or o.id = k.organization_id)), '[]') as organizations ${more}
  from api_key k where k.hash = $1 and k.revoked_at is null and (k.expires_at is null or k.expires_at > $2)`;
const FIND_KEY = findKey();
const FIND_KEY_AND_POSITION = findKey(`, ${POSITION} as position`);

// The condition is repeated so that of many requests at once only one writes.
const TOUCH_KEY = `update api_key set last_used_at = $2 where id = $1 and (last_used_at is null or last_used_at < $2::timestamptz - interval '1 minute')`;

/**
 * Who calls, from the `Authorization` header alone (RFC 6750, section 2.1). Missing, malformed, unknown, expired and revoked keys look the
 * same; a malformed one costs no query. The key is looked up on every request, so that a revoked one is refused at once in every process.
 * `onKey` runs as soon as the key is known to be good, before anything else is looked at.
 * @throws DomainError 401; NotFoundError when `X-Organization-Id` names none of the user's organizations.
 */
export async function authenticate(
  headers: HttpHeaders,
  { sql, now, replicas, log }: Dependencies,
  onKey?: (keyId: string) => Promise<void>,
): Promise<Actor> {
  const key = /^Bearer +(\S+) *$/i.exec(headers.get('authorization') ?? '')?.[1];
  if (key === undefined || !isWellFormedApiKey(key)) throw unauthenticated();
  const at = now();
  const [row] = await sql.query<KeyRow>(replicas ? FIND_KEY_AND_POSITION : FIND_KEY, [hashApiKey(key), at]);
  // A member who was removed takes the keys of that organization along.
  if (!row || (row.isBound && row.organizations.length === 0)) throw unauthenticated();
  await onKey?.(row.keyId);
  // Nobody is refused for want of it: a database that is full can still be read.
  if (row.isStale)
    await sql
      .query(TOUCH_KEY, [row.keyId, at])
      .catch((error: unknown) => log.warn({ err: error }, 'use of a key not noted'));
  return {
    keyId: row.keyId,
    userId: row.userId,
    scopes: new Set(row.scopes),
    organization: chooseOrganization(row, headers.get(ORGANIZATION_HEADER)),
    position: row.position,
  };
}

/** The key's organization; else the one that the header names; else the user's only one; else none. */
function chooseOrganization({ isBound, organizations }: KeyRow, wanted: string | null): ActingOrganization | undefined {
  if (isBound || !wanted) return organizations.length === 1 ? organizations[0] : undefined;
  // A slug may have the form of an id; the id wins.
  const chosen =
    organizations.find(({ id }) => id === wanted.toLowerCase()) ?? organizations.find(({ slug }) => slug === wanted);
  if (!chosen) throw notFound('organization');
  return chosen;
}
