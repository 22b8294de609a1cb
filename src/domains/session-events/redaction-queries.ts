import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { OrganizationId, PullRequestId, SessionId } from '../../core/ids.ts';
import { type Readable, anyOf, listOf } from '../../core/postgres/reading/queries.ts';
import { type SessionTables, requireNotHeld, sessionNotFound } from '../sessions/public.ts';
import type { SessionEventTables } from './entity.ts';

/** Reads and writes what a redaction changes, in the transaction of the caller. */

const tablesOf = (em: EntityManager) => em.getKysely<Readable<SessionEventTables & SessionTables>>();

export interface Place {
  readonly organizationId: OrganizationId;
  readonly sessionId: SessionId;
}

/** A batch with as many events ends before it has more bytes for each of them, but has at least one event. */
const BATCH_BYTES = 4 * 1024;

/**
 * Locks the session until the transaction ends: the index of the search, which locks it too, then reads what is written here.
 * @throws NotFoundError if it was deleted meanwhile, ConflictError (409) if it is held.
 */
export async function lockForRedaction(em: EntityManager, { sessionId, organizationId }: Place): Promise<void> {
  const tables = tablesOf(em);
  const session = await tables
    .selectFrom('session')
    .select('held_at as heldAt')
    .where('id', '=', sessionId)
    .where('organization_id', '=', organizationId)
    .forUpdate()
    .executeTakeFirst();
  if (!session) throw sessionNotFound();
  requireNotHeld(session);
}

/** Lines that had other bytes than their events, such as other folders, are those of their events again. @returns whether one had the text */
export async function forgetLineTexts(
  em: EntityManager,
  { sessionId, organizationId }: Place,
  forms: readonly string[] = [],
): Promise<boolean> {
  const tables = tablesOf(em);
  const found = await tables
    .selectFrom('transcript_line')
    .select('line')
    .where('session_id', '=', sessionId)
    .where('organization_id', '=', organizationId)
    .where(sql<boolean>`exists (select from unnest(${listOf('text', forms)}) as f where strpos(text, f) > 0)`)
    .limit(1)
    .executeTakeFirst();
  await tables
    .updateTable('transcript_line')
    .set({ text: null })
    .where('session_id', '=', sessionId)
    .where('organization_id', '=', organizationId)
    .where('text', 'is not', null)
    .where('event_id', 'is not', null)
    .execute();
  return found !== undefined;
}

/** How many events the session has: their ids have no gaps. */
export async function countEvents(em: EntityManager, { sessionId, organizationId }: Place): Promise<number> {
  const row = await tablesOf(em)
    .selectFrom('session_event')
    .select(sql<number>`coalesce(max(id) - min(id) + 1, 0)::int`.as('count'))
    .where('session_id', '=', sessionId)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst();
  return row?.count ?? 0;
}

export interface RedactedEvent {
  readonly id: number;
  readonly createdAt: string;
  readonly eventType: string;
  readonly provider: string;
  readonly eventData: string;
}

/** An event with its data before the redaction too. */
export interface ChangedEvent extends RedactedEvent {
  readonly before: string;
}

/** Selects events: after an id, those that can have the text, or those with the given ids. */
export interface Searched {
  readonly after: number;
  readonly clue: string;
  readonly ids?: readonly number[] | undefined;
  /** Only those with a part of a message or of a line. */
  readonly isPart?: boolean;
  readonly batch: number;
}

/** The next events, by their ids. */
export async function findEvents(
  em: EntityManager,
  { sessionId, organizationId }: Place,
  { after, clue, ids, isPart, batch }: Searched,
): Promise<RedactedEvent[]> {
  const tables = tablesOf(em);
  let next = tables
    .selectFrom('session_event')
    .select(['id', sql<number>`octet_length(event_data::text)`.as('bytes')])
    .where('session_id', '=', sessionId)
    .where('organization_id', '=', organizationId)
    .where('id', '>', after);
  if (ids) next = next.where('id', '=', anyOf('bigint', ids));
  if (clue !== '')
    next = next.where(
      sql<boolean>`(strpos(event_data::text, ${clue}) > 0 or strpos(event_data::text, ${'\\u'}) > 0
        or strpos(concat(event_type, ' ', provider), ${clue}) > 0)`,
    );
  if (isPart)
    next = next.where(
      sql<boolean>`(strpos(event_data::text, '"delta"') > 0 or strpos(event_data::text, '"parts"') > 0)`,
    );
  const found = await next.orderBy('id').limit(batch).execute();
  let bytes = 0;
  const some = found
    .filter(({ bytes: own }, index) => (bytes += own) <= batch * BATCH_BYTES || index === 0)
    .map(({ id }) => id);
  if (some.length === 0) return [];
  return tables
    .selectFrom('session_event')
    .select(['id', 'created_at as createdAt', 'event_type as eventType', 'provider'])
    .select(sql<string>`event_data::text`.as('eventData'))
    .where('session_id', '=', sessionId)
    .where('organization_id', '=', organizationId)
    .where('id', '=', anyOf('bigint', some))
    .orderBy('id')
    .execute();
}

/** The last events with a part of a text, the last first. */
export function findLastParts(
  em: EntityManager,
  { sessionId, organizationId }: Place,
  { itemId, after, before, batch }: { itemId: string; after: number; before: number; batch: number },
): Promise<RedactedEvent[]> {
  return tablesOf(em)
    .selectFrom('session_event')
    .select(['id', 'created_at as createdAt', 'event_type as eventType', 'provider'])
    .select(sql<string>`event_data::text`.as('eventData'))
    .where('session_id', '=', sessionId)
    .where('organization_id', '=', organizationId)
    .where('id', '>', after)
    .where('id', '<', before)
    .where(sql<boolean>`strpos(event_data::text, '"delta":"') > 0 and event_data ->> 'itemId' = ${itemId}`)
    .orderBy('id', 'desc')
    .limit(batch)
    .execute();
}

/** Readers who see this load again what they have. */
export async function noteRedaction(em: EntityManager, { sessionId, organizationId }: Place, at: Date): Promise<void> {
  await tablesOf(em)
    .updateTable('session')
    .set({ redacted_at: at, updated_at: at })
    .where('id', '=', sessionId)
    .where('organization_id', '=', organizationId)
    .execute();
}

export async function writeEvents(
  em: EntityManager,
  { sessionId, organizationId }: Place,
  events: readonly RedactedEvent[],
): Promise<void> {
  const ids = listOf(
    'bigint',
    events.map(({ id }) => id),
  );
  const texts = (name: 'eventData' | 'eventType' | 'provider') =>
    listOf(
      'text',
      events.map((event) => event[name]),
    );
  await sql`update session_event as e set event_data = n.data::json, event_type = n.type, provider = n.provider
    from unnest(${ids}, ${texts('eventData')}, ${texts('eventType')}, ${texts('provider')}) as n(id, data, type, provider)
    where e.session_id = ${sessionId}::uuid and e.organization_id = ${organizationId}::uuid and e.id = n.id`.execute(
    tablesOf(em),
  );
}

export interface RedactedPullRequest {
  readonly id: PullRequestId;
  readonly title: string;
  readonly sourceBranch: string;
  readonly baseBranch: string;
  readonly agent: string;
  readonly diff: string;
}

/** The next pull requests of a session that can have the text. */
export async function findPullRequests(
  em: EntityManager,
  { sessionId, organizationId }: Place,
  after: string,
  clue: string,
): Promise<RedactedPullRequest[]> {
  const tables = tablesOf(em);
  return tables
    .selectFrom('pull_request as r')
    .innerJoin('artifact as a', (join) =>
      join.onRef('a.id', '=', 'r.artifact_id').onRef('a.organization_id', '=', 'r.organization_id'),
    )
    .select(['r.id', 'r.title', 'r.source_branch as sourceBranch', 'r.base_branch as baseBranch', 'r.agent'])
    .select(sql<string>`r.diff ->> 'data'`.as('diff'))
    .where('a.session_id', '=', sessionId)
    .where('a.organization_id', '=', organizationId)
    .where('r.organization_id', '=', organizationId)
    .where('r.id', '>', after as PullRequestId)
    .where(
      sql<boolean>`strpos(concat_ws(' ', r.title, r.source_branch, r.base_branch, r.agent, r.diff ->> 'data'), ${clue}) > 0`,
    )
    .orderBy('r.id')
    .limit(10)
    .execute();
}

export async function writePullRequest(
  em: EntityManager,
  { organizationId }: Place,
  { id, diff, title, sourceBranch, baseBranch, agent }: RedactedPullRequest,
): Promise<void> {
  await tablesOf(em)
    .updateTable('pull_request')
    .set({ title, source_branch: sourceBranch, base_branch: baseBranch, agent })
    .set({ diff: sql`jsonb_set(diff, '{data}', to_jsonb(${diff}::text))` })
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .execute();
}
