import DataLoader from 'dataloader';
import type { Subscriptions } from '../core/config.ts';
import type { Role, Scope } from '../core/operation.ts';
import { POSITION, type Replicas } from '../core/replicas.ts';
import type { Sql } from '../core/sql.ts';
import { hashApiKey } from '../domains/api-keys/key-format.ts';

/** A key that is good now, its user, and the organizations it may act in. One that is bound to an organization sees that one alone. */
export interface KnownKey {
  readonly keyId: string;
  readonly userId: string;
  readonly scopes: ReadonlySet<Scope>;
  readonly isBound: boolean;
  /** Whether its use has not been noted for a minute. */
  readonly isStale: boolean;
  readonly organizations: readonly {
    id: string;
    slug: string | null;
    number: number;
    role: Role;
    subscriptions: Subscriptions;
  }[];
  readonly position: number | undefined;
}

/** Finds keys as they are now: undefined when it is unknown, expired or revoked. */
export type FindKey = (key: string) => Promise<KnownKey | undefined>;

type KeyRow = Omit<KnownKey, 'scopes'> & { readonly hash: string; readonly scopes: readonly Scope[] };

// Scopes as JSON: the driver takes an array's text apart in JavaScript, character by character.
const findKeys = (more = '') => `
  select encode(k.hash, 'hex') as hash, k.id as "keyId", k.user_id as "userId", to_json(k.scopes) as scopes, k.organization_id is not null as "isBound",
    (k.last_used_at is null or k.last_used_at < $2::timestamptz - interval '1 minute') as "isStale",
    coalesce((select json_agg(json_build_object('id', o.id, 'slug', o.slug, 'number', o.number, 'role', m.role, 'subscriptions', o.subscriptions))
      from membership m join organization o on o.id = m.organization_id
      where m.user_id = k.user_id and (k.organization_id is null or o.id = k.organization_id)), '[]') as organizations ${more}
  from api_key k where k.hash = any($1::bytea[]) and k.revoked_at is null and (k.expires_at is null or k.expires_at > $2)`;
const FIND_KEYS = findKeys();
const FIND_KEYS_AND_POSITION = findKeys(`, ${POSITION} as position`);

/**
 * Looks keys up for every request, so that a revoked one is refused at once in every process: nothing is remembered. Requests that arrive in
 * one turn of the event loop share a statement, which is sent after the last of them has arrived: what each is told is as fresh as if it
 * had asked alone.
 */
export function createKeys({
  sql,
  replicas,
  now,
}: {
  readonly sql: Sql;
  readonly replicas: Replicas | undefined;
  readonly now: () => Date;
}): FindKey {
  const statement = replicas ? FIND_KEYS_AND_POSITION : FIND_KEYS;

  async function findAll(keys: readonly string[]): Promise<(KnownKey | undefined)[]> {
    const hashes = new Map([...new Set(keys)].map((key) => [key, hashApiKey(key).toString('hex')]));
    const rows = await sql.query<KeyRow>(statement, [[...hashes.values()].map((hash) => `\\x${hash}`), now()]);
    const known = new Map(rows.map(({ hash, scopes, ...row }) => [hash, { ...row, scopes: new Set(scopes) }]));
    return keys.map((key) => known.get(hashes.get(key) ?? ''));
  }

  const loader = new DataLoader<string, KnownKey | undefined>(findAll, {
    cache: false,
    maxBatchSize: 1000,
    batchScheduleFn: (send) => void setImmediate(send),
  });
  return (key) => loader.load(key);
}
