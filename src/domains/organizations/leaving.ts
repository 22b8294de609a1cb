import type { EntityManager } from '@mikro-orm/postgresql';

import type { OrganizationId, UserId } from '../../core/ids.ts';
import { type Readable, anyOf } from '../../core/postgres/queries.ts';
import { Organization, type OrganizationTables } from './entity.ts';
import { lockOrganization } from './lock.ts';

/** How the deletion of an account leaves organizations. Each part runs in the caller's transaction. */

const tablesOf = (em: EntityManager) => em.getKysely<Readable<OrganizationTables>>();

/** The organizations that have other members and this user as their only administrator; at most 10, by time of creation. */
export function organizationsAdministeredBy(
  em: EntityManager,
  userId: UserId,
): Promise<{ id: string; name: string }[]> {
  return tablesOf(em)
    .selectFrom('membership as m')
    .innerJoin('organization as o', 'o.id', 'm.organization_id')
    .select(['o.id', 'o.name'])
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
    })
    .orderBy('o.created_at')
    .orderBy('o.id')
    .limit(10)
    .execute();
}

/** Locks the user's organizations, in the order of their ids, so that two deletions do not wait for each other. */
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
 * Ends the user's memberships.
 * @returns the organizations that have no member any more, and the others. Without a slug nobody can be added to the former by name either.
 */
export async function leaveOrganizations(
  em: EntityManager,
  userId: UserId,
): Promise<{ emptied: string[]; others: string[] }> {
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
  return { emptied: [...gone], others: ids.filter((id) => !gone.has(id)) };
}

/**
 * Ends all memberships of an organization, which from then on nobody reaches, by its slug or otherwise. It counts no longer among those that a
 * person owns.
 * @returns whose memberships these were.
 */
export async function emptyOrganization(em: EntityManager, organizationId: OrganizationId): Promise<string[]> {
  const db = tablesOf(em);
  const members = await db
    .deleteFrom('membership')
    .where('organization_id', '=', organizationId)
    .returning('user_id as id')
    .execute();
  await db.updateTable('organization').set({ slug: null, creator_id: null }).where('id', '=', organizationId).execute();
  return members.map(({ id }) => id);
}

/** Deletes an organization with all that refers to it by a foreign key that cascades. */
export async function deleteOrganizationRow(em: EntityManager, organizationId: OrganizationId): Promise<void> {
  await em.nativeDelete(Organization, { id: organizationId });
}
