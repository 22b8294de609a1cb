import { type Compilable, type Expression, type RawBuilder, type SqlBool, sql } from 'kysely';
import { counted } from '../core/postgres/reading/counts.ts';
import { queriesOn } from '../core/postgres/reading/queries.ts';
import type { Sql } from '../core/postgres/reading/sql.ts';
import type { ApiKeyTables } from '../domains/api-keys/public.ts';
import type { IdentityTables } from '../domains/identities/public.ts';
import type { OrganizationTables } from '../domains/organizations/public.ts';
import type { SessionTables } from '../domains/sessions/public.ts';
import type { UserTables } from '../domains/users/public.ts';

/** Lists of the command line: all organizations, newest first, in constant memory. */

const db = queriesOn<ApiKeyTables & IdentityTables & OrganizationTables & SessionTables & UserTables>();

const BATCH = 1_000;

/** The position of a list: after this row. */
interface Position {
  readonly id: string;
  readonly createdAt: string;
}

async function* pages<Row extends object>(
  reader: Sql,
  queryAfter: (position: Position | undefined) => Compilable<Row & { readonly position: Position }>,
): AsyncGenerator<Row> {
  let position: Position | undefined;
  for (;;) {
    const rows = await reader.all(queryAfter(position));
    // A copy without the position, which is internal.
    for (const { position: reached, ...row } of rows) {
      position = reached;
      yield row as unknown as Row;
    }
    if (rows.length < BATCH) return;
  }
}

const positionOf = (alias: string): RawBuilder<Position> =>
  sql`json_build_object('id', ${sql.ref(`${alias}.id`)}, 'createdAt', ${sql.ref(`${alias}.created_at`)})`;

const after = (alias: string, position: Position | undefined): Expression<SqlBool> =>
  position
    ? sql<SqlBool>`(${sql.ref(`${alias}.created_at`)}, ${sql.ref(`${alias}.id`)}) < (${position.createdAt}::timestamptz, ${position.id}::uuid)`
    : sql<SqlBool>`true`;

const isInOrganization = (slug: RawBuilder<string>, organization: string | undefined): Expression<SqlBool> =>
  organization === undefined ? sql<SqlBool>`true` : sql<SqlBool>`${slug} = ${organization}`;

export interface KeyListOptions {
  readonly organization?: string | undefined;
  readonly email?: string | undefined;
  /** Whether to include revoked and expired keys. */
  readonly all?: boolean | undefined;
  readonly at: Date;
}

export function listKeys(reader: Sql, { organization, email, all, at }: KeyListOptions) {
  const isActive = sql<SqlBool>`k.revoked_at is null and (k.expires_at is null or k.expires_at > ${at})`;
  return pages(reader, (position) =>
    db
      .selectFrom('api_key as k')
      .innerJoin('user_account as u', 'u.id', 'k.user_id')
      .leftJoin('organization as o', 'o.id', 'k.organization_id')
      .select(['k.id as keyId', 'k.preview', 'k.name', 'u.email', 'o.slug as organization', 'k.scopes'])
      .select(['k.created_at as createdAt', 'k.last_used_at as lastUsedAt', 'k.expires_at as expiresAt'])
      .select(['k.revoked_at as revokedAt', positionOf('k').as('position')])
      .where('k.kind', '=', 'KEY')
      .where(isInOrganization(sql`o.slug`, organization))
      .where(email === undefined ? sql<SqlBool>`true` : sql<SqlBool>`u.email = ${email.toLowerCase()}`)
      .where(all ? sql<SqlBool>`true` : isActive)
      .where(after('k', position))
      .orderBy('k.created_at', 'desc')
      .orderBy('k.id', 'desc')
      .limit(BATCH),
  );
}

export const listIdentities = (reader: Sql, email: string | undefined) =>
  pages(reader, (position) =>
    db
      .selectFrom('identity as i')
      .innerJoin('user_account as u', 'u.id', 'i.user_id')
      .select(['u.id as userId', 'u.email', 'i.issuer', 'i.subject', 'i.created_at as createdAt'])
      .select(['i.last_signed_in_at as lastSignedInAt', positionOf('i').as('position')])
      .where(email === undefined ? sql<SqlBool>`true` : sql<SqlBool>`u.email = ${email.toLowerCase()}`)
      .where(after('i', position))
      .orderBy('i.created_at', 'desc')
      .orderBy('i.id', 'desc')
      .limit(BATCH),
  );

export const findOrganization = (reader: Sql, slug: string) =>
  reader.first(db.selectFrom('organization').select(['id', 'number']).where('slug', '=', slug));

export const listOrganizations = (reader: Sql) =>
  pages(reader, (position) =>
    db
      .selectFrom('organization as o')
      .select(['o.id as organizationId', 'o.slug', 'o.name', 'o.subscriptions', 'o.created_at as createdAt'])
      .select((eb) => [
        counted(eb.selectFrom('membership as m').whereRef('m.organization_id', '=', 'o.id')).as('members'),
        positionOf('o').as('position'),
      ])
      .where(after('o', position))
      .orderBy('o.created_at', 'desc')
      .orderBy('o.id', 'desc')
      .limit(BATCH),
  );

export function listUsers(reader: Sql, organization: string | undefined) {
  const memberships = sql<Record<string, string>>`(select coalesce(json_object_agg(coalesce(o.slug, o.id::text), m.role
    order by o.slug), '{}') from membership m join organization o on o.id = m.organization_id where m.user_id = u.id)`;
  const isMember = sql<SqlBool>`exists (select 1 from membership m join organization o on o.id = m.organization_id
    where m.user_id = u.id and o.slug = ${organization})`;
  return pages(reader, (position) =>
    db
      .selectFrom('user_account as u')
      .select(['u.id as userId', 'u.email', 'u.name', memberships.as('organizations'), 'u.created_at as createdAt'])
      .select(positionOf('u').as('position'))
      .where('u.service_organization_id', 'is', null)
      .where(organization === undefined ? sql<SqlBool>`true` : isMember)
      .where(after('u', position))
      .orderBy('u.created_at', 'desc')
      .orderBy('u.id', 'desc')
      .limit(BATCH),
  );
}

export const listSessions = (reader: Sql, organization: string | undefined) =>
  pages(reader, (position) =>
    db
      .selectFrom('session as s')
      .innerJoin('organization as o', 'o.id', 's.organization_id')
      .leftJoin('user_account as u', 'u.id', 's.creator_id')
      .select(['s.id as sessionId', 'o.slug as organization', 's.title', 's.state', 's.visibility'])
      .select(['u.email as creator', 's.created_at as createdAt', positionOf('s').as('position')])
      .where(isInOrganization(sql`o.slug`, organization))
      .where(after('s', position))
      .orderBy('s.created_at', 'desc')
      .orderBy('s.id', 'desc')
      .limit(BATCH),
  );
