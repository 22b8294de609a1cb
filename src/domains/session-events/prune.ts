import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { operatorEntry, recordAudit } from '../../core/audit.ts';
import { NotFoundError } from '../../core/errors.ts';
import type { OrganizationId, SessionId } from '../../core/ids.ts';
import type { WorkContext } from '../../core/operation.ts';
import type { Readable } from '../../core/postgres/reading/queries.ts';
import type { OrganizationTables } from '../organizations/public.ts';
import { type SessionTables, requireNotHeld, sessionNotFound, sessionTopic } from '../sessions/public.ts';
import type { SessionEventTables } from './entity.ts';
import { pruneEntries } from './changed-entries.ts';
import { foldAll } from './fold-store.ts';
import { deleteTexts } from './search-index.ts';

/** The events to delete: of all sessions, of one organization, or of one session. */
export interface Retention {
  /** Deletes events up to the first event that was stored at this time or later. The time that a runner gave does not count. When undefined, deletes all events that are stored now. */
  readonly before?: Date | undefined;
  readonly sessionId?: SessionId | undefined;
  /** Slug of an organization. */
  readonly organization?: string | undefined;
}

export interface PruneOptions {
  /** Only counts the events. */
  readonly isDryRun?: boolean;
  /** Stops the operation between two batches. */
  readonly signal?: AbortSignal | undefined;
}

export interface PrunedEvents {
  readonly sessions: number;
  readonly events: number;
}

type Context = Pick<WorkContext, 'em' | 'sql' | 'now' | 'newId' | 'notifier'>;

const SESSIONS = 200;
const EVENTS = 5_000;

const tablesOf = (em: EntityManager) =>
  em.getKysely<Readable<SessionEventTables & SessionTables & OrganizationTables>>();

/**
 * Deletes the oldest events of sessions, for the operator of the gateway. The remaining events of a session have no
 * gaps: the first event that was stored at `before` or later stays, and so do all events after it. Sessions, their next ids and the batch ids stay, so that a repeated import stores
 * nothing twice. Held sessions keep their events. When interrupted, it can be run again and continues.
 * @throws NotFoundError when the session or organization does not exist, ConflictError when the session is held.
 */
export async function pruneSessionEvents(
  context: Context,
  retention: Retention,
  { isDryRun = false, signal }: PruneOptions = {},
): Promise<PrunedEvents> {
  await requireScope(context.em, retention);
  let [sessions, events] = [0, 0];
  for (let after: string | undefined; ;) {
    signal?.throwIfAborted();
    const found = await findOldest(context.em.fork(), retention, after);
    for (const session of found) {
      const count = isDryRun ? session.end - session.first : await deleteOldest(context, session, signal);
      if (count > 0) sessions += 1;
      events += count;
    }
    after = found.at(-1)?.id;
    if (after === undefined) return { sessions, events };
  }
}

async function requireScope(em: EntityManager, { sessionId, organization }: Retention): Promise<void> {
  const tables = tablesOf(em);
  if (sessionId !== undefined) {
    const session = tables.selectFrom('session').select('held_at as heldAt').where('id', '=', sessionId);
    const found = await session.executeTakeFirst();
    if (!found) throw sessionNotFound();
    requireNotHeld(found);
  }
  if (organization !== undefined) {
    const named = tables.selectFrom('organization').select('id').where('slug', '=', organization);
    if (!(await named.executeTakeFirst())) throw new NotFoundError(`organization ${organization} not found`);
  }
}

interface OldestEvents {
  readonly id: SessionId;
  readonly organizationId: OrganizationId;
  readonly first: number;
  /** The first id that is not deleted. */
  readonly end: number;
}

/** Events of earlier versions have only the time that the runner gave. */
const storedAt = (alias: 'e' | 'k') =>
  sql<string>`coalesce(${sql.ref(`${alias}.stored_at`)}, ${sql.ref(`${alias}.created_at`)})`;

/** The next sessions whose first event is old enough. For each session one lookup by the primary key reads the first event. */
function findOldest(em: EntityManager, retention: Retention, after: string | undefined): Promise<OldestEvents[]> {
  const { before, sessionId, organization } = retention;
  const tables = tablesOf(em);
  let query = tables
    .selectFrom('session as s')
    .innerJoinLateral(
      (eb) =>
        eb
          .selectFrom('session_event as e')
          .select(['e.id', storedAt('e').as('stored_at')])
          .whereRef('e.session_id', '=', 's.id')
          .whereRef('e.organization_id', '=', 's.organization_id')
          .orderBy('e.id')
          .limit(1)
          .as('oldest'),
      (join) => join.onTrue(),
    )
    .select(['s.id', 's.organization_id as organizationId', 'oldest.id as first'])
    .select((eb) => {
      const ofSession = eb
        .selectFrom('session_event as k')
        .whereRef('k.session_id', '=', 's.id')
        .whereRef('k.organization_id', '=', 's.organization_id');
      const end = ofSession.select(sql<number>`max(k.id) + 1`.as('end'));
      const at = sql<string>`${before?.toISOString()}::timestamptz`;
      const young = ofSession.select('k.id').where(storedAt('k'), '>=', at).orderBy('k.id').limit(1);
      return (before === undefined ? eb.parens(end) : eb.fn.coalesce(young, end)).$castTo<number>().as('end');
    })
    .where('s.held_at', 'is', null)
    .orderBy('s.id')
    .limit(SESSIONS);
  if (before !== undefined)
    query = query.where('oldest.stored_at', '<', sql<string>`${before.toISOString()}::timestamptz`);
  if (after !== undefined) query = query.where('s.id', '>', after);
  if (sessionId !== undefined) query = query.where('s.id', '=', sessionId);
  if (organization !== undefined) {
    const ids = tables.selectFrom('organization').select('id').where('slug', '=', organization);
    query = query.where('s.organization_id', '=', ids);
  }
  return query.execute();
}

/** Deletes from the oldest event on, each batch in its own transaction. The first batch also writes the audit log entry. @returns how many. */
async function deleteOldest(context: Context, session: OldestEvents, signal: AbortSignal | undefined): Promise<number> {
  const { id, organizationId, first, end } = session;
  let deleted = 0;
  // The turns of those that stay keep their numbers.
  await foldAll(context.sql, [id], { signal });
  for (let start = first; start < end; start += EVENTS) {
    signal?.throwIfAborted();
    const stop = Math.min(start + EVENTS, end);
    const count = await context.em.fork().transactional(async (em) => {
      if (await isHeldOrGone(em, session)) return 0;
      const { numDeletedRows } = await tablesOf(em)
        .deleteFrom('session_event')
        .where('session_id', '=', id)
        .where('id', '>=', start)
        .where('id', '<', stop)
        .executeTakeFirstOrThrow();
      await deleteTexts(em, id, start, stop);
      await pruneEntries(em, { sessionId: id, organizationId, until: stop });
      const entry = operatorEntry(context, 'pruneSessionEvents', { type: 'Session', id, organizationId });
      if (start === first) await recordAudit(em, entry);
      return Number(numDeletedRows);
    });
    if (count === 0) break;
    context.notifier.publish(sessionTopic(id));
    deleted += count;
  }
  return deleted;
}

/** A hold waits for the lock, an append does not. */
async function isHeldOrGone(em: EntityManager, { id, organizationId }: OldestEvents): Promise<boolean> {
  const session = await tablesOf(em)
    .selectFrom('session')
    .select('held_at as heldAt')
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .forKeyShare()
    .executeTakeFirst();
  return session?.heldAt !== null;
}
