import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { ConflictError } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import { lockName } from '../../core/postgres/advisory-lock.ts';
import type { Readable } from '../../core/postgres/reading/queries.ts';
import type { OrganizationTables } from './entity.ts';

/** Maximum number of organizations that a person owns, which are those that they created or administer. */
export const MAX_OWNED_ORGANIZATIONS = 20;

/**
 * Checks that a person can own one more organization, and locks the count until the transaction ends.
 * @throws ConflictError when they own the maximum.
 */
export async function requireRoomToOwn(em: EntityManager, userId: UserId): Promise<void> {
  await lockName(em, `owned organizations of ${userId}`);
  const owned = await em
    .getKysely<Readable<OrganizationTables>>()
    .selectFrom('organization as o')
    .select('o.id')
    .where('o.creator_id', '=', userId)
    .union((db) =>
      db
        .selectFrom('membership as m')
        .select('m.organization_id as id')
        .where('m.user_id', '=', userId)
        .where('m.role', '=', sql.lit('admin')),
    )
    .execute();
  if (owned.length < MAX_OWNED_ORGANIZATIONS) return;
  throw new ConflictError(
    'LIMIT_REACHED',
    `a person can own at most ${MAX_OWNED_ORGANIZATIONS} organizations, as creator or administrator; delete one first, or leave one`,
  );
}
