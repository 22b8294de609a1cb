import { endServiceAccounts } from '../users/public.ts';
import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { OrganizationId, UserId } from '../../core/ids.ts';
import type { WorkContext } from '../../core/operation.ts';
import { type Readable, anyOf } from '../../core/postgres/reading/queries.ts';
import { Organization, type OrganizationTables } from './entity.ts';
import { lockOrganization } from './lock.ts';

/** Parts of the deletion of accounts and organizations. Every function runs in the caller's transaction. */

const tablesOf = (em: EntityManager) => em.getKysely<Readable<OrganizationTables>>();

/** The organizations with other members in which this user is the only administrator. */
const administeredBy = (em: EntityManager, userId: UserId) =>
  tablesOf(em)
    .selectFrom('membership as m')
    .innerJoin('organization as o', 'o.id', 'm.organization_id')
    .where('m.user_id', '=', userId)
    .where('m.role', '=', 'admin')
    .where((eb) => {
      const others = eb
        .selectFrom('membership as a')
        .select('a.user_id')
        .whereRef('a.organization_id', '=', 'o.id')
        .whereRef('a.user_id', '<>', 'm.user_id');
      const administrators = others.where('a.role', '=', 'admin');
      return eb.exists(others).and(eb.not(eb.exists(administrators)));
    });

/** The organizations that have no other members, which are deleted with the account. */
export async function organizationsOnlyOf(em: EntityManager, userId: UserId): Promise<OrganizationId[]> {
  const found = await tablesOf(em)
    .selectFrom('membership as m')
    .select('m.organization_id as id')
    .where('m.user_id', '=', userId)
    .where((eb) => {
      const others = eb
        .selectFrom('membership as a')
        .select('a.user_id')
        .whereRef('a.organization_id', '=', 'm.organization_id')
        .whereRef('a.user_id', '<>', 'm.user_id');
      return eb.not(eb.exists(others));
    })
    .execute();
  return found.map(({ id }) => id);
}

/** Those organizations that the user has created; at most 10, by time of creation. */
export const organizationsAdministeredBy = (
  em: EntityManager,
  userId: UserId,
): Promise<{ id: OrganizationId; name: string }[]> =>
  administeredBy(em, userId)
    .select(['o.id', 'o.name'])
    .where('o.creator_id', '=', userId)
    .orderBy('o.created_at')
    .orderBy('o.id')
    .limit(10)
    .execute();

/**
 * Makes the longest member the administrator of each organization that the user has not created but is the only administrator of, so that
 * nobody can be held by making them one. The organizations are locked.
 * @returns the new administrators.
 */
export async function handOverOrganizations(
  { em, now }: Pick<WorkContext, 'em' | 'now'>,
  userId: UserId,
): Promise<{ organizationId: OrganizationId; userId: UserId }[]> {
  const held = await administeredBy(em, userId)
    .select('o.id')
    .where((eb) => eb.or([eb('o.creator_id', 'is', null), eb('o.creator_id', '<>', userId)]))
    .execute();
  const heirs = [];
  for (const { id: organizationId } of held) {
    const db = tablesOf(em);
    const longest = db
      .selectFrom('membership as a')
      .select('a.user_id')
      .where('a.organization_id', '=', organizationId)
      .where('a.user_id', '<>', userId)
      // A viewer only if there is nobody else.
      .orderBy((eb) => eb('a.role', '=', sql.lit('viewer' as const)))
      .orderBy('a.created_at')
      .orderBy('a.user_id')
      .limit(1);
    const [heir] = await db
      .updateTable('membership')
      .set({ role: 'admin', role_since: now().toISOString() })
      .where('organization_id', '=', organizationId)
      .where('user_id', '=', longest)
      .returning('user_id as userId')
      .execute();
    if (heir) heirs.push({ organizationId, userId: heir.userId });
  }
  return heirs;
}

/** Locks the user's organizations in the order of their ids, so that concurrent deletions cannot deadlock. */
export async function lockOrganizationsOf(em: EntityManager, userId: UserId): Promise<void> {
  const memberships = await tablesOf(em)
    .selectFrom('membership')
    .select('organization_id as id')
    .where('user_id', '=', userId)
    .orderBy('organization_id')
    .execute();
  for (const { id } of memberships) await lockOrganization(em, id);
}

/**
 * Ends the user's memberships, and clears the slug of organizations that have no members left, so that nobody can be added to them.
 * @returns the organizations without members, and the others.
 */
export async function leaveOrganizations(
  em: EntityManager,
  userId: UserId,
): Promise<{ emptied: OrganizationId[]; others: OrganizationId[] }> {
  const db = tablesOf(em);
  const left = await db
    .deleteFrom('membership')
    .where('user_id', '=', userId)
    .returning('organization_id as id')
    .execute();
  if (left.length === 0) return { emptied: [], others: [] };
  const ids = left.map(({ id }) => id);
  const emptied = await db
    .updateTable('organization as o')
    .set({ slug: null })
    .where('o.id', '=', anyOf('uuid', ids))
    .where((eb) => {
      const members = eb.selectFrom('membership as m').select('m.user_id').whereRef('m.organization_id', '=', 'o.id');
      return eb.not(eb.exists(members));
    })
    .returning('o.id')
    .execute();
  const gone = new Set(emptied.map(({ id }) => id));
  await endServiceAccounts(em, [...gone]);
  return { emptied: [...gone], others: ids.filter((id) => !gone.has(id)) };
}

/**
 * Ends all memberships and service accounts of an organization and clears its slug and creator. Nobody can access it then, and nobody owns it.
 * @returns the ids of all who could.
 */
export async function emptyOrganization(em: EntityManager, organizationId: OrganizationId): Promise<UserId[]> {
  const db = tablesOf(em);
  const members = await db
    .deleteFrom('membership')
    .where('organization_id', '=', organizationId)
    .returning('user_id as id')
    .execute();
  await db.updateTable('organization').set({ slug: null, creator_id: null }).where('id', '=', organizationId).execute();
  return [...members.map(({ id }) => id), ...(await endServiceAccounts(em, [organizationId]))];
}

/** Deletes an organization and all rows that refer to it by a cascading foreign key. */
export async function deleteOrganizationRow(em: EntityManager, organizationId: OrganizationId): Promise<void> {
  await em.nativeDelete(Organization, { id: organizationId });
}
