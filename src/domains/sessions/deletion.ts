import type { EntityManager } from '@mikro-orm/postgresql';

import type { StepOutcome } from '../../core/module.ts';
import type { OrganizationId, SessionId, UserId } from '../../core/ids.ts';
import { type Readable, anyOf } from '../../core/postgres/reading/queries.ts';
import type { SessionTables } from './entity.ts';

/** Deletes sessions together with an account or an organization. Every function runs in the caller's transaction. */

const tablesOf = (em: EntityManager) => em.getKysely<Readable<SessionTables>>();

/** Selects sessions: all of an organization, or the private ones of a user. */
type WhoseSessions = { readonly organizationId: OrganizationId } | { readonly privateOf: string };

/**
 * Deletes a batch of sessions with everything except their events, which the caller deletes. The streams are locked first, as appending does: a
 * concurrent append either commits before, so that its events are found, or finds no session.
 */
export async function deleteSessions(em: EntityManager, whose: WhoseSessions, batch: number): Promise<StepOutcome> {
  const tables = tablesOf(em);
  const some = tables.selectFrom('session').select('id').limit(batch);
  const sessions =
    'organizationId' in whose
      ? some.where('organization_id', '=', whose.organizationId)
      : some.where('creator_id', '=', whose.privateOf).where('visibility', '=', 'private');
  const found = (await sessions.execute()).map(({ id }) => id);
  if (found.length === 0) return { found: 0 };
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
  // A session that was made public in the meantime is not deleted.
  const deleted = 'privateOf' in whose ? deletion.where('visibility', '=', 'private') : deletion;
  return { found: found.length, endedSessions: found, deletedSessions: await deleted.execute() };
}

/** Removes the creator from a batch of the public sessions of a user. @returns their ids. */
export async function forgetSessionCreator(em: EntityManager, userId: UserId, batch: number): Promise<SessionId[]> {
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
