import type { EntityManager } from '@mikro-orm/postgresql';
import { type RawBuilder, sql } from 'kysely';
import { publishToFeed } from '../../core/feed.ts';
import { groupBy } from '../../core/arrays.ts';
import type { DeletionJobId, OrganizationId, SessionId, UserId } from '../../core/ids.ts';
import { eraseStoredAnswers } from '../../core/stored-answers.ts';
import { type Readable, anyOf } from '../../core/postgres/reading/queries.ts';
import type { SessionTables } from './entity.ts';

/**
 * The only way to delete sessions, for a person, for retention, and for the deletion of an account or an organization. Every function runs
 * in the caller's transaction.
 */

const tablesOf = (em: EntityManager) => em.getKysely<Readable<SessionTables>>();

/** Selects sessions: one, the expired ones or all of an organization, or the private ones of a user, in one of them or in all. Held ones only with all of an organization. */
export type WhichSessions =
  | { readonly organizationId: OrganizationId; readonly id: SessionId }
  | { readonly organizationId: OrganizationId; readonly unchangedSince: Date }
  | { readonly organizationId: OrganizationId }
  | { readonly privateOf: string; readonly within?: OrganizationId };

/** A condition on the table `session`. */
export function selects(which: WhichSessions): RawBuilder<boolean> {
  if ('privateOf' in which) {
    const ofUser = sql<boolean>`creator_id = ${which.privateOf}::uuid and visibility = 'private' and held_at is null`;
    return which.within === undefined ? ofUser : sql`${ofUser} and organization_id = ${which.within}::uuid`;
  }
  const ofOrganization = sql<boolean>`organization_id = ${which.organizationId}::uuid`;
  if ('id' in which) return sql`${ofOrganization} and id = ${which.id}::uuid and held_at is null`;
  if (!('unchangedSince' in which)) return ofOrganization;
  return sql`${ofOrganization} and greatest(updated_at, last_seen_at) < ${which.unchangedSince}::timestamptz
    and state not in ('queued', 'inProgress') and not is_pinned and held_at is null`;
}

interface Deletion {
  readonly batch: number;
  /** The job of an account or organization that purges them; null for the job `session-purge`, which the caller enqueues. */
  readonly deletionJobId: DeletionJobId | null;
  /** Why, for the feed. Absent without an entry in the feed. */
  readonly reason?: 'requested' | 'retention';
}

export interface DeletedSessions {
  readonly found: number;
  /** Sessions that it has tried to delete. */
  readonly endedSessions: readonly SessionId[];
  /** Those that were deleted. */
  readonly deleted: readonly SessionId[];
  readonly changedOrganizations: readonly OrganizationId[];
}

/** A feed entry that no member reads, only administrators. */
const NOBODY = '00000000-0000-0000-0000-000000000000';

/**
 * Deletes a batch of sessions with everything but what is purged later, in batches: events, texts and batch ids, which are recorded in
 * `deleted_session`.
 */
export async function deleteSessions(
  em: EntityManager,
  which: WhichSessions,
  deletion: Deletion,
): Promise<DeletedSessions> {
  const found = await tablesOf(em)
    .selectFrom('session')
    .select(['id', 'organization_id as organizationId'])
    .where(selects(which))
    .limit(deletion.batch)
    .execute();
  const deleted: SessionId[] = [];
  // In one order, so that no two deletions wait for each other.
  const byOrganization = [...groupBy(found, ({ organizationId }) => organizationId)].toSorted(([one], [other]) =>
    one < other ? -1 : 1,
  );
  for (const [organizationId, theirs] of byOrganization) {
    const ids = theirs.map(({ id }) => id);
    await lockStreams(em, { organizationId, ids });
    for (const id of await deleteRows(em, { organizationId, ids }, which, deletion)) deleted.push(id);
  }
  return {
    found: found.length,
    endedSessions: found.map(({ id }) => id),
    deleted,
    changedOrganizations: byOrganization.map(([id]) => id),
  };
}

/** Deletes a session that the caller has locked with its stream. */
export async function deleteLockedSession(
  em: EntityManager,
  which: { readonly organizationId: OrganizationId; readonly id: SessionId },
): Promise<void> {
  const { organizationId, id } = which;
  await deleteRows(em, { organizationId, ids: [id] }, which, { deletionJobId: null, reason: 'requested' });
}

interface Found {
  readonly organizationId: OrganizationId;
  readonly ids: readonly SessionId[];
}

/**
 * The streams are locked before the sessions, as appending does: a concurrent append either commits before, so that its events are purged, or
 * finds no session.
 */
async function lockStreams(em: EntityManager, { organizationId, ids }: Found): Promise<void> {
  await tablesOf(em)
    .selectFrom('session_stream')
    .select('session_id')
    .where('session_id', '=', anyOf('uuid', ids))
    .where('organization_id', '=', organizationId)
    .orderBy('session_id')
    .forUpdate()
    .execute();
}

/** Few statements, because the sessions are locked meanwhile. @returns the ids of those that were deleted. */
async function deleteRows(
  em: EntityManager,
  { organizationId, ids }: Found,
  which: WhichSessions,
  { deletionJobId, reason }: Omit<Deletion, 'batch'>,
): Promise<SessionId[]> {
  const rows = await tablesOf(em)
    .with('deleted', (query) =>
      query
        .deleteFrom('session')
        .where('id', '=', anyOf('uuid', ids))
        .where('organization_id', '=', organizationId)
        // One that was changed meanwhile, such as made public or held, is not deleted.
        .where(selects(which))
        .returning(['id', 'creator_id as creatorId', 'visibility']),
    )
    .with('noted', (query) =>
      query
        .insertInto('deleted_session')
        .columns(['session_id', 'organization_id', 'deletion_job_id'])
        .expression((eb) =>
          eb
            .selectFrom('deleted')
            .select([
              'id',
              sql<OrganizationId>`${organizationId}::uuid`.as('organization_id'),
              sql<DeletionJobId | null>`${deletionJobId}::uuid`.as('deletion_job_id'),
            ]),
        ),
    )
    .selectFrom('deleted')
    .select(['id', 'creatorId', 'visibility'])
    .execute();
  if (rows.length === 0) return [];
  const deleted = rows.map(({ id }) => id);
  await eraseStoredAnswers(em, organizationId, deleted);
  for (const { id, creatorId, visibility } of reason === undefined ? [] : rows) {
    const readerId = visibility === 'private' ? (creatorId ?? NOBODY) : null;
    const about = { organizationId, subjectType: 'Session', subjectId: id, readerId } as const;
    publishToFeed(em, { ...about, type: 'session.deleted', data: { reason: reason ?? null } });
  }
  return deleted;
}

/** Removes the creator from a batch of the sessions of a user that stay: public ones, and held ones. @returns their ids. */
export async function forgetSessionCreator(em: EntityManager, userId: UserId, batch: number): Promise<SessionId[]> {
  const tables = tablesOf(em);
  const stays = sql<boolean>`(visibility = 'public' or held_at is not null)`;
  const some = tables
    .selectFrom('session')
    .select(['organization_id', 'id'])
    .where('creator_id', '=', userId)
    .where(stays)
    .limit(batch);
  const forgotten = await tables
    .updateTable('session')
    .set({ creator_id: null })
    .where((eb) => eb(eb.refTuple('organization_id', 'id'), 'in', some.$asTuple('organization_id', 'id')))
    .where('creator_id', '=', userId)
    .where(stays)
    .returning('id')
    .execute();
  return forgotten.map(({ id }) => id);
}

/** Those of the organizations in which an administrator holds a session. They cannot be deleted. */
export async function organizationsWithHeldSessions(
  em: EntityManager,
  organizationIds: readonly OrganizationId[],
): Promise<OrganizationId[]> {
  const held = await tablesOf(em)
    .selectFrom('session')
    .select('organization_id as id')
    .where('organization_id', '=', anyOf('uuid', organizationIds))
    .where('held_at', 'is not', null)
    .groupBy('organization_id')
    .orderBy('organization_id')
    .execute();
  return held.map(({ id }) => id);
}
