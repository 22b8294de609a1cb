import { sql } from 'kysely';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import type { SessionId } from '../../core/ids.ts';
import { requireAccess } from '../../core/access.ts';
import { type OperationContext, guarded } from '../../core/operation.ts';
import { anyOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import {
  SESSIONS,
  type SessionRow,
  type SessionTables,
  WRITE_SESSIONS,
  callerOf,
  mayChange,
  readableBy,
} from '../sessions/public.ts';
import type { SessionEventTables } from './entity.ts';

/** Numbers of the records that would be deleted together with a session. */
export interface SessionDeletionPreview {
  readonly events: number;
  readonly artifacts: number;
  readonly pullRequests: number;
}

const db = queriesOn<SessionEventTables & SessionTables>();

/** What the deletion of several sessions would delete, and which of them it would refuse. */
export interface SessionsDeletionPreview {
  readonly sessions: number;
  readonly events: number;
  readonly held: readonly SessionRow[];
}

/** Of the sessions that the caller can change. */
export const readSessionsDeletionPreview = guarded(
  WRITE_SESSIONS,
  async (context: OperationContext, ids: readonly SessionId[]): Promise<SessionsDeletionPreview> => {
    const sessions = await SESSIONS.find(context, [...new Set(ids)]);
    const own = sessions.filter((session) => mayChange(context.actor, session, WRITE_SESSIONS));
    const deleted = own.filter(({ heldAt }) => heldAt === null).map(({ id }) => id);
    const previews = await deletionPreviewsOf(context)(deleted);
    const events = [...previews.values()].reduce((sum, preview) => sum + preview.events, 0);
    return { sessions: deleted.length, events, held: own.filter(({ heldAt }) => heldAt !== null) };
  },
);

/** Counts them for sessions that the caller can read, with one statement. Events are not read: their ids have no gaps. */
export function deletionPreviewsOf(context: OperationContext): LoadBatch<SessionId, SessionDeletionPreview> {
  requireAccess(context.actor, WRITE_SESSIONS);
  const oldest = db
    .selectFrom('session_event as e')
    .select('e.id')
    .whereRef('e.session_id', '=', sql.ref<string>('s.id'))
    .whereRef('e.organization_id', '=', sql.ref<string>('s.organization_id'))
    .orderBy('e.id')
    .limit(1);
  const artifacts = db
    .selectFrom('artifact as a')
    .whereRef('a.session_id', '=', sql.ref<string>('s.id'))
    .whereRef('a.organization_id', '=', sql.ref<string>('s.organization_id'));
  const pullRequests = artifacts.innerJoin('pull_request as r', (join) =>
    join.onRef('r.artifact_id', '=', 'a.id').onRef('r.organization_id', '=', 'a.organization_id'),
  );
  return async (sessionIds) => {
    const rows = await context.sql.all(
      db
        .selectFrom('session as s')
        .innerJoin('session_stream as h', (join) =>
          join.onRef('h.session_id', '=', 's.id').onRef('h.organization_id', '=', 's.organization_id'),
        )
        .select([
          's.id as sessionId',
          sql<number>`coalesce(h.last_id + 1 - ${oldest}, 0)::int`.as('events'),
          sql<number>`(${artifacts.select(sql`count(*)`.as('count'))})::int`.as('artifacts'),
          sql<number>`(${pullRequests.select(sql`count(*)`.as('count'))})::int`.as('pullRequests'),
        ])
        .where('s.id', '=', anyOf('uuid', sessionIds))
        .where(within(readableBy(callerOf(context.actor)), 's')),
    );
    return new Map(rows.map(({ sessionId, ...preview }) => [sessionId, preview]));
  };
}
