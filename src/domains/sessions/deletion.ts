import type { EntityManager } from '@mikro-orm/postgresql';

import type { OrganizationId, UserId } from '../../core/ids.ts';
import { type Readable, anyOf } from '../../core/postgres/queries.ts';
import type { SessionTables } from './entity.ts';

/** How sessions go with an account or an organization. Each part runs in the caller's transaction. */

const tablesOf = (em: EntityManager) => em.getKysely<Readable<SessionTables>>();

/** Which sessions: by organization, or those that somebody keeps for themselves. */
export type WhoseSessions = { readonly organizationId: OrganizationId } | { readonly privateOf: string };

/**
 * Deletes a batch of sessions with all but their events, which the caller sees to. Their streams are locked first, as whoever appends does: what is
 * being appended comes before, and is found with the events, or finds no session.
 * @returns the ids that were found, and those of them that were deleted.
 */
export async function deleteSessions(
  em: EntityManager,
  whose: WhoseSessions,
  batch: number,
): Promise<{ found: string[]; deleted: { id: string; organizationId: OrganizationId }[] }> {
  const tables = tablesOf(em);
  const some = tables.selectFrom('session').select('id').limit(batch);
  const sessions =
    'organizationId' in whose
      ? some.where('organization_id', '=', whose.organizationId)
      : some.where('creator_id', '=', whose.privateOf).where('visibility', '=', 'private');
  const found = (await sessions.execute()).map(({ id }) => id);
  if (found.length === 0) return { found, deleted: [] };
  const given = anyOf('uuid', found);
  await tables
    .selectFrom('session_stream')
    .select('session_id')
    .where('session_id', '=', given)
    .orderBy('session_id')
    .forUpdate()
    .execute();
  const deletion = tables
    .deleteFrom('session')
    .where('id', '=', given)
    .returning(['id', 'organization_id as organizationId']);
  // One that was made public meanwhile stays.
  const deleted = 'privateOf' in whose ? deletion.where('visibility', '=', 'private') : deletion;
  return { found, deleted: await deleted.execute() };
}

/** A batch of the public sessions of a user no longer say whose they were. @returns their ids. */
export async function forgetSessionCreator(em: EntityManager, userId: UserId, batch: number): Promise<string[]> {
  const tables = tablesOf(em);
  const some = tables
    .selectFrom('session')
    .select('id')
    .where('creator_id', '=', userId)
    .where('visibility', '=', 'public')
    .limit(batch);
  const forgotten = await tables
    .updateTable('session')
    .set({ creator_id: null })
    .where('id', 'in', some)
    .where('creator_id', '=', userId)
    .where('visibility', '=', 'public')
    .returning('id')
    .execute();
  return forgotten.map(({ id }) => id);
}
