import { DomainError, invalid } from '../errors.ts';
import { momentOf } from '../ids.ts';
import { uuidsOf } from './global-ids.ts';
import type { GraphQLContext } from './builder.ts';

/** Where the objects of types are stored, to find the type and the organization of an id. */

export interface Stored {
  readonly table: string;
  /** Joins of the table, as `t`. */
  readonly joins?: string;
  /** The column of the id, if it is not `id`. */
  readonly id?: string;
  /** The key of a row that is found by the time in its id, in the column `occurred_at`; by default the id is the key. */
  readonly datedKey?: (moment: string) => string;
  /** The column of the organization; null if no organization has the rows. By default rows of the caller's organizations are looked up. */
  readonly organization?: string | null;
}

export interface Place {
  readonly type: string;
  readonly id: string;
  readonly key: string;
  readonly organizationId: string | null;
}

/** An object by its type and its key within it. */
export interface Candidate {
  readonly typename: string;
  readonly key: string;
}

const tables = new Map<string, Stored>();

export const storedIn = (type: string, stored: Stored): void => void tables.set(type, stored);

const OWN = `with own as (select array_append(array(select organization_id from membership where user_id = $2), $3::uuid) as ids)`;

const MOMENT = '(extract(epoch from t.occurred_at) * 1000)::bigint';
const BY_TIME = '(t.occurred_at, t.id) in (select * from unnest($4::timestamptz[], $1::uuid[]))';

const selectFrom = (type: string, { table, joins = '', id = 'id', datedKey, organization }: Stored): string =>
  `select '${type}' as type, t.${id} as id, ${datedKey?.(MOMENT) ?? `t.${id}::text`} as key, ${organization === undefined ? 't.organization_id' : organization === null ? 'null::uuid' : `t.${organization}`} as "organizationId" from ${table} t ${joins} where ${datedKey ? BY_TIME : `t.${id} = any($1::uuid[])`}` +
  (organization === undefined ? ' and t.organization_id = any((select ids from own)::uuid[])' : '');

let statement: string | undefined;

/** The types of these UUIDs, the one defined last first (a connected app is an API key, too), whether or not the caller may see the objects. */
export async function findPlaces({ actor, sql }: GraphQLContext, ids: readonly string[]): Promise<Place[]> {
  const types = [...tables.keys()];
  statement ??= `${OWN} ${[...tables].map(([type, stored]) => selectFrom(type, stored)).join(' union all ')}`;
  const uuids = uuidsOf(ids);
  const values = [uuids, actor.userId, actor.organization?.id ?? null, uuids.map(momentOf)];
  const places = await sql.query<Place>(statement, values);
  return places.toSorted((one, other) => types.indexOf(other.type) - types.indexOf(one.type));
}

/** More of the caller's organizations are not asked in one look-up. */
const MAX_ORGANIZATIONS = 5;

/**
 * The error for each of these objects that the caller could read in another of their organizations, by its key. Only unbound keys and sign-ins
 * can act there.
 */
export async function errorsElsewhere(
  context: GraphQLContext,
  missing: readonly Candidate[],
  load: (
    inner: GraphQLContext,
    candidates: readonly Candidate[],
  ) => Promise<(candidate: Candidate) => object | undefined>,
): Promise<ReadonlyMap<string, Error>> {
  const errors = new Map<string, Error>();
  const { isBound, kind, organization } = context.actor;
  const ids = missing.flatMap(({ key }) => uuidsOf(key.split(':')));
  if (isBound !== false || kind === 'OAUTH_GRANT' || ids.length === 0) return errors;
  const places = await findPlaces(context, ids);
  const others = new Set(places.flatMap(({ organizationId }) => organizationId ?? []));
  if (organization) others.delete(organization.id);
  for (const other of [...others].slice(0, MAX_ORGANIZATIONS)) {
    const actor = await context.authenticateAgain(other).catch(noRights);
    if (!actor) continue;
    const inOther = new Set(places.flatMap(({ id, organizationId }) => (organizationId === other ? id : [])));
    const there = missing.filter(({ key }) => uuidsOf(key.split(':')).some((id) => inOther.has(id)));
    const found = await load(context.with({ actor }), there);
    for (const each of there)
      if (found(each))
        errors.set(each.key, invalid('', `it is in another of your organizations: send X-Organization-Id: ${other}`));
  }
  return errors;
}

function noRights(error: unknown): undefined {
  if (!(error instanceof DomainError)) throw error;
}
