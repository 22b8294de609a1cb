import type { EntityManager } from '@mikro-orm/postgresql';
import { ConflictError, notFound } from '../../core/errors.ts';
import { type CountedPage, type PageArguments, keyset } from '../../core/keyset.ts';
import {
  type AuditTarget,
  type OperationContext,
  type Role,
  requireAdmin,
  requireScope,
  write,
} from '../../core/operation.ts';
import { type Timestamp, toIsoString } from '../../core/sql.ts';
import { Membership, Organization } from './entity.ts';
import type { CreateOrganizationInput, UpdateOrganizationInput } from './input.ts';
import { firstFreeSlug, slugFromName } from './slug.ts';

/** Any constant will do: organizations are created one after the other, so that a generated slug that is free is still free at the insert. */
const SLUG_LOCK = 2_207_831_554;

export interface OrganizationRow extends Pick<Organization, 'id' | 'number' | 'name' | 'slug' | 'logoUrl'> {
  readonly createdAt: Timestamp;
  readonly updatedAt: Timestamp;
}

export interface MemberRow {
  readonly organizationId: string;
  readonly userId: string;
  readonly email: string | null;
  readonly name: string | null;
  readonly userCreatedAt: Timestamp;
  readonly role: Role;
  readonly createdAt: Timestamp;
}

/** Holds the organization until the transaction ends: what may exist only so many times in it is created one after the other. */
export async function lockOrganization(em: EntityManager, organizationId: string): Promise<void> {
  // NO KEY: rows that merely refer to the organization may be inserted meanwhile.
  await em.execute('select 1 from organization where id = ? for no key update', [organizationId]);
}

/**
 * Creates an organization and makes the caller its administrator. Without a slug one is made from the name, with a number when taken.
 * @throws ConflictError when the given slug is taken.
 */
export const createOrganization = write(
  async (context, input: CreateOrganizationInput): Promise<Organization> => {
    const { em, actor, now, newId, settings } = context;
    requireScope(actor, 'organizations.write');
    await em.execute('select pg_advisory_xact_lock(?)', [SLUG_LOCK]);
    const at = now();
    const organization = em.create(Organization, {
      id: newId(),
      name: input.name,
      slug: input.slug ?? (await generateSlug(em, input.name)),
      logoUrl: null,
      subscriptions: settings.defaultSubscriptions,
      createdAt: at,
      updatedAt: at,
    });
    em.create(Membership, { organization, user: actor.userId, role: 'admin', createdAt: at });
    return organization;
  },
  {
    operation: 'createOrganization',
    target: targetOf,
    conflicts: {
      organization_slug_unique: ({ slug }) =>
        new ConflictError(
          slug === undefined
            ? 'the one made from the name was taken at the same moment; try again'
            : `${slug} is taken by another organization; choose another slug`,
          ['slug'],
        ),
    },
  },
);

/** The entry belongs to the organization that was made or changed. */
function targetOf({ id }: Organization): AuditTarget {
  return { type: 'Organization', id, organizationId: id };
}

async function generateSlug(em: EntityManager, name: string): Promise<string | null> {
  const base = slugFromName(name);
  if (base === undefined) return null;
  const rows = await em.execute<{ slug: string }[]>('select slug from organization where starts_with(slug, ?)', [
    base.slice(0, 90),
  ]);
  return firstFreeSlug(base, new Set(rows.map(({ slug }) => slug)));
}

/** Changes name and logo of the caller's organization. An id of another organization is not found. */
export const updateOrganization = write(
  async ({ em, actor, now }, { organizationId, ...changes }: UpdateOrganizationInput) => {
    requireScope(actor, 'organizations.write');
    if (organizationId !== actor.organization?.id) throw notFound('organization');
    requireAdmin(actor);
    const organization = await em.findOneOrFail(
      Organization,
      { id: organizationId },
      { failHandler: () => notFound('organization') },
    );
    if (Object.values(changes).some((value) => value !== undefined)) organization.update(changes, now());
    return organization;
  },
  { operation: 'updateOrganization', target: targetOf },
);

const ORGANIZATION_COLUMNS = `o.id, o.number, o.name, o.slug, o.logo_url as "logoUrl", o.created_at as "createdAt", o.updated_at as "updatedAt"`;

/** Those of the ids that are organizations of the caller; a key that belongs to one organization sees that one alone. */
export async function readOrganizations(context: OperationContext, ids: readonly string[]): Promise<OrganizationRow[]> {
  return context.sql.query<OrganizationRow>(
    `select ${ORGANIZATION_COLUMNS} from organization o join membership m on m.organization_id = o.id
      where m.user_id = $1 and o.id = any($2) and o.id = coalesce((select organization_id from api_key where id = $3), o.id)`,
    [context.actor.userId, ids, context.actor.keyId],
  );
}

/** The organizations of the user $1 that the key $2 reaches. */
const REACHED = `organization o join membership m on m.organization_id = o.id
  where m.user_id = $1 and o.id = coalesce((select organization_id from api_key where id = $2), o.id)`;

/** The organizations of the caller, by time of creation. */
export async function listOrganizations(
  context: OperationContext,
  page: PageArguments,
): Promise<CountedPage<OrganizationRow>> {
  const values: unknown[] = [context.actor.userId, context.actor.keyId];
  const query = keyset<OrganizationRow>(
    {
      name: 'ORGANIZATION',
      direction: 'ASC',
      columns: [
        { sql: 'o.created_at', type: 'timestamptz', of: (row) => toIsoString(row.createdAt) },
        { sql: 'o.id', type: 'uuid', of: (row) => row.id },
      ],
    },
    page,
    values,
  );
  const rows = await context.sql.query<OrganizationRow>(
    `select ${ORGANIZATION_COLUMNS} from ${REACHED} and ${query.where} order by ${query.orderBy} limit $${values.push(query.limit)}`,
    values,
  );
  return { page: query.toPage(rows), total: () => countOrganizations(context) };
}

async function countOrganizations({ actor, sql }: OperationContext): Promise<number> {
  const [row] = await sql.query<{ count: number }>(`select count(*)::int as count from ${REACHED}`, [
    actor.userId,
    actor.keyId,
  ]);
  return row?.count ?? 0;
}

/** How many members each of the organizations has. */
export async function countMembers(
  context: OperationContext,
  organizationIds: readonly string[],
): Promise<Map<string, number>> {
  const rows = await context.sql.query<{ id: string; count: number }>(
    'select organization_id as id, count(*)::int as count from membership where organization_id = any($1) group by organization_id',
    [organizationIds],
  );
  return new Map(rows.map(({ id, count }) => [id, count]));
}

const MEMBER_COLUMNS = `m.organization_id as "organizationId", u.id as "userId", u.email, u.name, u.created_at as "userCreatedAt", m.role, m.created_at as "createdAt"`;

/** The members of an organization, by time of joining. The caller has reached the organization, so may see who else is in it. */
export async function listMembers(
  context: OperationContext,
  organizationId: string,
  page: PageArguments,
): Promise<CountedPage<MemberRow>> {
  const values: unknown[] = [organizationId];
  const query = keyset<MemberRow>(
    {
      name: 'MEMBER',
      direction: 'ASC',
      columns: [
        { sql: 'm.created_at', type: 'timestamptz', of: (row) => toIsoString(row.createdAt) },
        { sql: 'u.id', type: 'uuid', of: (row) => row.userId },
      ],
    },
    page,
    values,
  );
  const rows = await context.sql.query<MemberRow>(
    `select ${MEMBER_COLUMNS} from membership m join user_account u on u.id = m.user_id
      where m.organization_id = $1 and ${query.where} order by ${query.orderBy} limit $${values.push(query.limit)}`,
    values,
  );
  return {
    page: query.toPage(rows),
    total: async () => (await countMembers(context, [organizationId])).get(organizationId) ?? 0,
  };
}
