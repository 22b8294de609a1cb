import type { EntityManager } from '@mikro-orm/postgresql';
import { isDeepStrictEqual } from 'node:util';
import { type RawBuilder, sql } from 'kysely';
import type { OrganizationId, SessionId } from '../../core/ids.ts';
import type { PauseAfter } from '../../core/background-loop.ts';
import { type Readable, listOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import { WORK } from '../../core/work-budget.ts';
import type { SessionTables } from '../sessions/public.ts';
import type { EventData } from './event-data.ts';
import type { SessionEventTables } from './entity.ts';
import type { ChangedEvent } from './redaction-queries.ts';
import { FormatMemory } from './formats/format-memory.ts';
import { MAX_SEARCHED, searchedText, wordsOf } from './search-text.ts';
import { usageOf } from './totals.ts';

/**
 * Indexes the texts of sessions, behind their recording: appending only notes that a session has new events. Repeated or concurrent runs
 * write the same.
 */

const SESSIONS = 20;
const EVENTS = 500;
/** A session with more event types is not a reason to offer more. */
const MAX_EVENT_TYPES = 100;

type Tables = Readable<SessionEventTables & SessionTables>;
const db = queriesOn<SessionEventTables & SessionTables>();
const tablesOf = (em: EntityManager) => em.getKysely<Tables>();

interface Pending {
  readonly sessionId: SessionId;
  readonly organizationId: OrganizationId;
  readonly indexedId: number;
  readonly version: string | null;
}

type SessionPlace = Pick<Pending, 'sessionId' | 'organizationId'>;

interface Indexing {
  readonly signal?: AbortSignal;
  /** Called after each session, of which at most {@link EVENTS} events are indexed at once. */
  readonly pauseAfter?: PauseAfter;
}

/** Indexes new events of some sessions. @returns how many sessions were found; 0 when everything is indexed. */
export async function indexSessions(em: EntityManager, { signal, pauseAfter }: Indexing = {}): Promise<number> {
  const pending: Pending[] = await tablesOf(em.fork())
    .selectFrom('session_search')
    .select(['session_id as sessionId', 'organization_id as organizationId', 'indexed_id as indexedId', 'version'])
    .where('version', 'is not', null)
    .limit(SESSIONS)
    .execute();
  for (const session of pending) {
    if (signal?.aborted) break;
    const began = performance.now();
    await em.fork().transactional((inner) => indexEvents(inner, session));
    await pauseAfter?.(performance.now() - began, signal);
  }
  return pending.length;
}

const MAX_COUNTED = 100_000;

/** How many sessions have texts that are not indexed, at most 100,000. */
export async function countUnindexed(reader: Sql): Promise<number> {
  const pending = db.selectFrom('session_search').select('session_id').where('version', 'is not', null);
  const row = await reader.first(
    db
      .selectFrom(pending.limit(sql.lit(MAX_COUNTED)).as('pending'))
      .select(({ fn }) => fn.countAll<number>().as('count')),
  );
  return row?.count ?? 0;
}

interface Row {
  readonly item: string;
  readonly eventId: number;
  readonly createdAt: string;
  readonly text: string;
}

async function indexEvents(
  em: EntityManager,
  { sessionId, organizationId, indexedId, version }: Pending,
): Promise<void> {
  const tables = tablesOf(em);
  const stream = tables
    .selectFrom('session_stream as h')
    .where('h.session_id', '=', sessionId)
    .where('h.organization_id', '=', organizationId);
  // A deletion waits for the lock, and so finds what is written here.
  const session = await tables
    .selectFrom('session')
    .select(['title', 'created_at as createdAt'])
    .select(stream.select(sql<boolean>`h.command_memory is not null`.as('isOfRun')).as('isOfRun'))
    .select(stream.select('h.last_id').as('lastId'))
    .where('id', '=', sessionId)
    .where('organization_id', '=', organizationId)
    .forKeyShare()
    .executeTakeFirst();
  if (!session) return;
  const { isOfRun, lastId } = session;
  const events = await tables
    .selectFrom('session_event')
    .select(['id', 'created_at as createdAt', 'event_type as eventType', sql<string>`event_data::text`.as('eventData')])
    .select('is_superseded as isSuperseded')
    .where('session_id', '=', sessionId)
    .where('id', '>', indexedId)
    // A limit would not keep PostgreSQL from sorting all that follow, if it takes the session for a short one.
    .where('id', '<=', indexedId + EVENTS)
    .orderBy('id')
    .execute();
  const title = { item: 'title', eventId: 0, createdAt: session.createdAt, text: session.title };
  const place = { sessionId, organizationId };
  await storeTexts(em, place, [title, ...(await rowsOf(em, place, events))]);
  if (isOfRun === true) await deleteSuperseded(em, place);
  // Of these ids, some may be pruned.
  const until = Math.min(indexedId + EVENTS, lastId ?? indexedId);
  const isComplete = until >= (lastId ?? 0);
  const { models, tools, failedTools } = await namesIn(events);
  await tables
    .updateTable('session_search')
    .set({
      event_types: withNames(
        'event_types',
        events.map(({ eventType }) => eventType),
        MAX_EVENT_TYPES,
      ),
      models: withNames('models', models),
      tools: withNames('tools', tools),
      failed_tools: withNames('failed_tools', failedTools),
      indexed_id: sql<number>`greatest(indexed_id, ${until}::bigint)`,
      // Another version was noted meanwhile: there is more to index.
      version: isComplete ? sql<string | null>`nullif(version, ${version}::uuid)` : sql<string | null>`version`,
    })
    .where('session_id', '=', sessionId)
    .where('organization_id', '=', organizationId)
    .execute();
}

interface IndexedEvent {
  readonly id: number;
  readonly createdAt: string;
  readonly eventData: string;
  readonly isSuperseded: boolean | null;
}

/** The last text of each item. */
async function rowsOf(em: EntityManager, place: SessionPlace, events: readonly IndexedEvent[]): Promise<Iterable<Row>> {
  const rows = new Map<string, Row>();
  const shown = events.filter(({ isSuperseded }) => isSuperseded !== true);
  const open = shown.some(({ eventData }) => eventData.includes('"delta":"')) ? await openTexts(em, place) : undefined;
  for (const { id, createdAt, eventData } of shown) {
    const found = searchedText(id, JSON.parse(eventData) as EventData, open);
    if (found) rows.set(found.item, { ...found, eventId: id, createdAt });
  }
  return rows.values();
}

/** The texts so far of messages that have not ended, by item: an agent that was ended has not repeated them as a whole. */
async function openTexts(
  em: EntityManager,
  { sessionId, organizationId }: SessionPlace,
): Promise<ReadonlyMap<string, string>> {
  const row = await tablesOf(em)
    .selectFrom('session_stream')
    .select(['format_memory as memory', 'command_memory as ofCommand'])
    .where('session_id', '=', sessionId)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst();
  return new Map(
    [row?.memory, row?.ofCommand].flatMap((memory) => [...FormatMemory.parse(memory).endsOf(MAX_SEARCHED)]),
  );
}

/** A list of names with more names. */
function withNames(
  column: (typeof NAME_LISTS)[number],
  names: readonly string[],
  max: number = WORK.sessionNames,
): RawBuilder<string[] | null> {
  const [stored, given] = [sql.ref(column), listOf('text', [...new Set(names)])];
  if (names.length === 0) return sql`${stored}`;
  return sql`case when ${given} <@ ${stored} then ${stored}
    else (array(select distinct t from unnest(${stored} || ${given}) as t order by t))[1:${sql.lit(max)}] end`;
}

/** The names that the sums of usage have. */
async function namesIn(events: readonly { readonly eventData: string }[]) {
  const sums = (await usageOf(events.map(({ eventData }) => ({ eventData }))))?.sums ?? [];
  const called = sums.flatMap(({ tool, toolErrors }) => (tool === undefined ? [] : [{ tool, toolErrors }]));
  return {
    models: sums.flatMap(({ model }) => model ?? []),
    tools: called.map(({ tool }) => tool),
    failedTools: called.flatMap(({ tool, toolErrors }) => (toolErrors ? [tool] : [])),
  };
}

async function storeTexts(
  em: EntityManager,
  { sessionId, organizationId }: SessionPlace,
  rows: readonly Row[],
): Promise<void> {
  // Sorted, so that two processes wait for each other in one order.
  const sorted = rows
    .map(({ text, ...row }) => ({ ...row, words: wordsOf(text) }))
    .toSorted((one, other) => (one.item < other.item ? -1 : 1));
  const given = sql<{ item: string; event_id: number; created_at: string; words: string }>`unnest(
    ${listOf(
      'text',
      sorted.map(({ item }) => item),
    )},
    ${listOf(
      'bigint',
      sorted.map(({ eventId }) => eventId),
    )},
    ${listOf(
      'timestamptz',
      sorted.map(({ createdAt }) => createdAt),
    )},
    ${listOf(
      'text',
      sorted.map(({ words }) => words),
    )})`;
  await tablesOf(em)
    .insertInto('session_text')
    .columns(['session_id', 'item', 'organization_id', 'event_id', 'created_at', 'document'])
    .expression((eb) =>
      eb
        .selectFrom(given.as<'g'>(sql`g(item, event_id, created_at, words)`))
        .select([
          sql<SessionId>`${sessionId}::uuid`.as('session_id'),
          'g.item',
          sql<OrganizationId>`${organizationId}::uuid`.as('organization_id'),
          'g.event_id',
          'g.created_at',
          sql<string>`to_tsvector('simple', g.words)`.as('document'),
        ]),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['session_id', 'item', 'organization_id'])
        .doUpdateSet({
          event_id: sql<number>`excluded.event_id`,
          created_at: sql<string>`excluded.created_at`,
          document: sql<string>`excluded.document`,
        })
        // A text of a later event of the same item stays.
        .whereRef('session_text.event_id', '<=', sql.ref<number>('excluded.event_id')),
    )
    .execute();
}

/** Indexes the title of a session, in the transaction that changes it. */
export const indexTitle = (
  em: EntityManager,
  session: SessionPlace,
  { title, createdAt }: { readonly title: string; readonly createdAt: Date },
): Promise<void> =>
  storeTexts(em, session, [{ item: 'title', eventId: 0, createdAt: createdAt.toISOString(), text: title }]);

/**
 * Replaces the indexed texts of events whose data was changed. They are found by their keys alone, whatever is known of the session when the
 * statement is planned. An item that an event no longer has becomes empty.
 */
export async function indexAgain(
  em: EntityManager,
  session: SessionPlace,
  events: readonly ChangedEvent[],
): Promise<void> {
  const rows = new Map<string, Row>();
  const open = new Set<string>();
  for (const { id, createdAt, before, eventData } of events) {
    const [old, found] = [before, eventData].map((json) => searchedText(id, JSON.parse(json) as EventData));
    if (old) rows.set(old.item, { item: old.item, text: '', eventId: id, createdAt });
    if (found) rows.set(found.item, { ...found, eventId: id, createdAt });
    const part = old ? undefined : searchedText(id, JSON.parse(before) as EventData, { get: () => 'a part' });
    if (part) open.add(part.item);
  }
  if (open.size > 0)
    await sql`delete from session_text as t where t.session_id = ${session.sessionId}::uuid
      and t.organization_id = ${session.organizationId}::uuid and t.item = any(${listOf('text', [...open])})
      and not exists (select from session_event as e where e.session_id = ${session.sessionId}::uuid
        and e.organization_id = ${session.organizationId}::uuid and e.id = t.event_id and e.event_data ->> 'accumulatedText' <> '')`.execute(
      tablesOf(em),
    );
  await storeTexts(em, session, [...rows.values()]);
}

/** Changes the names by which a session is found, in the transaction that redacts it. Two names can become one. */
export async function redactNames(
  em: EntityManager,
  { sessionId, organizationId }: SessionPlace,
  rename: (name: string) => string,
): Promise<void> {
  const row = tablesOf(em)
    .selectFrom('session_search')
    .select(NAME_LISTS)
    .where('session_id', '=', sessionId)
    .where('organization_id', '=', organizationId);
  const known = await row.forUpdate().executeTakeFirst();
  const changed = NAME_LISTS.flatMap((column): [string, RawBuilder<string[]>][] => {
    const names = known?.[column];
    const renamed = names?.map(rename);
    return names && renamed && !isDeepStrictEqual(names, renamed)
      ? [[column, listOf('text', [...new Set(renamed)].toSorted())]]
      : [];
  });
  if (changed.length === 0) return;
  await tablesOf(em)
    .updateTable('session_search')
    .set(Object.fromEntries(changed))
    .where('session_id', '=', sessionId)
    .where('organization_id', '=', organizationId)
    .execute();
}

/** Deletes the texts of events that are superseded since they were indexed. */
async function deleteSuperseded(em: EntityManager, { sessionId, organizationId }: SessionPlace): Promise<void> {
  await sql`delete from session_text as t using session_event as e
    where t.session_id = ${sessionId}::uuid and t.organization_id = ${organizationId}::uuid and e.session_id = ${sessionId}::uuid
      and e.organization_id = ${organizationId}::uuid and e.id = t.event_id and e.is_superseded`.execute(tablesOf(em));
}

const NAME_LISTS = ['event_types', 'models', 'tools', 'failed_tools'] as const;

/** Deletes the indexed texts of a range of events, without its end. */
export async function deleteTexts(em: EntityManager, sessionId: SessionId, from: number, to: number): Promise<void> {
  await tablesOf(em)
    .deleteFrom('session_text')
    .where('session_id', '=', sessionId)
    .where('event_id', '>=', from)
    .where('event_id', '<', to)
    .execute();
}
