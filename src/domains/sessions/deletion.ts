import type { EntityManager } from '@mikro-orm/postgresql';

import { groupBy } from '../../core/group-by.ts';
import type { StepOutcome } from '../../core/module.ts';
import type { OrganizationId, SessionId, UserId } from '../../core/ids.ts';
import { type Readable, anyOf } from '../../core/postgres/reading/queries.ts';
import type { SessionTables } from './entity.ts';

/** Deletes sessions together with an account or an organization. Every function runs in the caller's transaction. */

const tablesOf = (em: EntityManager) => em.getKysely<Readable<SessionTables>>();

type DeletedSession = NonNullable<StepOutcome['deletedSessions']>[number];

/** Selects sessions: all of an organization, or the private ones of a user. */
type WhoseSessions = { readonly organizationId: OrganizationId } | { readonly privateOf: string };

/**
 * Deletes a batch of sessions with everything except their events, which the caller deletes. The streams are locked first, as appending does: a
 * concurrent append either commits before, so that its events are found, or finds no session.
 */
export async function deleteSessions(em: EntityManager, whose: WhoseSessions, batch: number): Promise<StepOutcome> {
  const tables = tablesOf(em);
  const some = tables.selectFrom('session').select(['id', 'organization_id as organizationId']).limit(batch);
  const sessions =
    'organizationId' in whose
      ? some.where('organization_id', '=', whose.organizationId)
      : some.where('creator_id', '=', whose.privateOf).where('visibility', '=', 'private');
  const found = await sessions.execute();
  if (found.length === 0) return { found: 0 };
  const deletedSessions: DeletedSession[] = [];
  // In one order, so that no two deletions wait for each other.
  const byOrganization = [...groupBy(found, ({ organizationId }) => organizationId)].toSorted(([one], [other]) =>
    one < other ? -1 : 1,
  );
  for (const [organizationId, theirs] of byOrganization) {
    const given = anyOf(
      'uuid',
      theirs.map(({ id }) => id),
    );
    await tables
      .selectFrom('session_stream')
      .select('session_id')
      .where('session_id', '=', given)
      .where('organization_id', '=', organizationId)
      .orderBy('session_id')
      .forUpdate()
      .execute();
    const deletion = tables
      .deleteFrom('session')
      .where('id', '=', given)
      .where('organization_id', '=', organizationId)
      .returning(['id', 'organization_id as organizationId']);
    // A session that was made public in the meantime is not deleted.
    const deleted = 'privateOf' in whose ? deletion.where('visibility', '=', 'private') : deletion;
    for (const session of await deleted.execute()) deletedSessions.push(session);
  }
  return { found: found.length, endedSessions: found.map(({ id }) => id), deletedSessions };
}

/** Removes the creator from a batch of the public sessions of a user. @returns their ids. */
export async function forgetSessionCreator(em: EntityManager, userId: UserId, batch: number): Promise<SessionId[]> {
  const tables = tablesOf(em);
  const some = tables
    .selectFrom('session')
    .select(['organization_id', 'id'])
    .where('creator_id', '=', userId)
    .where('visibility', '=', 'public')
    .limit(batch);
  const forgotten = await tables
    .updateTable('session')
    .set({ creator_id: null })
    .where((eb) => eb(eb.refTuple('organization_id', 'id'), 'in', some.$asTuple('organization_id', 'id')))
    .where('creator_id', '=', userId)
    .where('visibility', '=', 'public')
    .returning('id')
    .execute();
  return forgotten.map(({ id }) => id);
}
