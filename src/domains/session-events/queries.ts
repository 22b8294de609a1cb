import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import { keysOf } from '../../core/keys-of.ts';
import type { OrganizationId, SessionId, UserId } from '../../core/ids.ts';
import {
  type Page,
  type PageArguments,
  PagePlan,
  type PageShape,
  type PageValues,
  orderingsBy,
  paged,
} from '../../core/postgres/reading/keyset.ts';
import { counted } from '../../core/postgres/reading/counts.ts';
import type { Role } from '../../core/access.ts';
import type { OperationContext } from '../../core/operation.ts';
import {
  type Readable,
  type RowOf,
  type ValueOf,
  anyOf,
  listOf,
  preparedByShape,
  queriesOn,
  snake,
} from '../../core/postgres/reading/queries.ts';
import { pagesByParent } from '../../core/postgres/reading/pages.ts';
import { WORK } from '../../core/work-budget.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import { type Columns, withColumns } from '../../core/postgres/reading/columns.ts';
import { type SessionTables, callerOf, foreignSession, readableBy, recordPrivateReads } from '../sessions/public.ts';
import { ID_CURSORS } from './cursor.ts';
import type { SessionEventTables } from './entity.ts';
import { foldAll } from './fold-store.ts';
import { MAX_PAGE, type SessionEventFilter } from './input.ts';
import { hasPhrases } from './search-windows.ts';

/**
 * Reads events for both APIs and for live tails. One statement finds the sessions that the caller can read and returns a page of the events of
 * each.
 */

const db = queriesOn<SessionEventTables & SessionTables>();

/** An event. A row has the selected columns only; without a selection it has all. `eventData` is the recorded JSON text. */
export type SessionEventRow = Omit<
  RowOf<Readable<SessionEventTables>['session_event']>,
  'eventData' | 'organizationId'
> & { readonly eventData: string };

const COLUMNS = ['id', 'sessionId', 'createdAt', 'eventType', 'messageId', 'provider', 'eventData'] as const;
/** With what an event does not have in REST. */
export const ALL_COLUMNS = [...COLUMNS, 'isSuperseded'] as const;

/** The order of recording. Cursors are the ids that REST uses. */
export const EVENT_ORDERINGS = orderingsBy<Pick<SessionEventRow, 'id'>>({
  name: () => 'SESSION_EVENT',
  keys: [{ property: 'id', sql: 'e.id', type: 'bigint' }],
  prefix: ['e.session_id'],
  form: ID_CURSORS,
});

export interface SessionEventList {
  readonly filter?: SessionEventFilter;
  readonly page: PageArguments;
  /** When absent, by ascending id. */
  readonly direction?: 'ASC' | 'DESC';
  readonly selected?: Columns<SessionEventRow>;
  /** As in `PageOptions`. */
  readonly maxBytes?: number;
  /** As in `PageOptions`. */
  readonly isAnswered?: boolean;
  /** Whether the reading has an audit log entry of its own. */
  readonly isAudited?: boolean;
}

/** The parameters of the queries. */
interface Given extends SessionEventFilter {
  readonly sessionIds: readonly SessionId[];
  readonly organizationId: OrganizationId;
  readonly userId: UserId;
}
type Value = ValueOf<Given>;

/** `isFine` is that of `isError: false`. */
type Condition = keyof SessionEventFilter | 'isFine';

/** What failed in the failed entries of a session. */
const failedIn = (value: Value, sessionId: RawBuilder<string>) =>
  sql`select generate_series(lower(r), upper(r) - 1) from session_entry as n, unnest(n.failed_events) as r where n.session_id = ${sessionId} and n.organization_id = ${value('organizationId')}::uuid and n.is_failed`;

const isFound =
  (name: 'text' | 'search') =>
  (value: Value, sessionId: RawBuilder<string>): RawBuilder<SqlBool> =>
    sql`e.id = any(array(select t.event_id from session_text as t where t.session_id = ${sessionId} and t.organization_id = ${value('organizationId')}::uuid and ${hasPhrases(sql`t.document`, value(name))}))`;

type Conditions = Readonly<Record<Condition, (value: Value, sessionId: RawBuilder<string>) => RawBuilder<SqlBool>>>;
const CONDITIONS: Conditions = {
  eventTypes: (value) => sql`e.event_type = any(${value('eventTypes')}::text[])`,
  providers: (value) => sql`e.provider = any(${value('providers')}::text[])`,
  messageId: (value) => sql`e.message_id = ${value('messageId')}::uuid`,
  delivery: (value) => sql`e.event_data ->> 'delivery' = ${value('delivery')}`,
  itemIds: (value) => sql`e.event_data ->> 'itemId' = any(${value('itemIds')}::text[])`,
  scope: (value) => sql`e.event_data -> 'scope' ->> 'kind' = ${value('scope')}`,
  isError: (value, sessionId) => sql`e.id = any(array(${failedIn(value, sessionId)}))`,
  isFine: (value, sessionId) => sql`e.id not in (${failedIn(value, sessionId)})`,
  createdFrom: (value) => sql`e.created_at >= ${value('createdFrom')}::timestamptz`,
  createdBefore: (value) => sql`e.created_at < ${value('createdBefore')}::timestamptz`,
  // The events that were found are few, so that they are read by their ids.
  text: isFound('text'),
  search: isFound('search'),
};

const namesOf = ({ isError, ...filter }: SessionEventFilter): Condition[] =>
  keysOf(CONDITIONS).filter((name) => {
    if (name === 'isError' || name === 'isFine') return isError === (name === 'isError');
    return filter[name] != null;
  });

/** Entries are asked for errors, so that none is left to fold. */
async function readerFor(
  { actor, sql: reader }: OperationContext,
  { isError }: SessionEventFilter,
  sessionIds: readonly SessionId[],
): Promise<Sql> {
  if (isError == null) return reader;
  await foldAll(reader, sessionIds, { caller: callerOf(actor) });
  return reader.primary;
}

/** With one session PostgreSQL selects the partition of its events while planning, with several while executing. */
const theOnly = (value: Value) => sql<string>`(${value('sessionIds')}::uuid[])[1]`;

/** The sessions with the given ids that the caller can read. */
function readableSessions(role: Role, value: Value, isOne: boolean) {
  const caller = { organizationId: value('organizationId'), userId: value('userId'), role };
  return db
    .selectFrom('session as s')
    .where('s.id', '=', isOne ? theOnly(value) : anyOf('uuid', value('sessionIds')))
    .where(within(readableBy(caller), 's'));
}

/** The events of one session that meet the conditions. */
function eventsOf(sessionId: RawBuilder<string>, conditions: readonly Condition[], value: Value) {
  const events = db
    .selectFrom('session_event as e')
    .where('e.session_id', '=', sessionId)
    .where('e.organization_id', '=', sql<OrganizationId>`${value('organizationId')}::uuid`);
  return conditions.reduce((found, name) => found.where(CONDITIONS[name](value, sessionId)), events);
}

/** Only a transaction needs the cast, for which PostgreSQL copies the data several times: elsewhere JSON is read as text. */
const selectionOf = (name: keyof SessionEventRow, isText: boolean) =>
  name === 'eventData' && isText ? sql`e.event_data::text`.as(name) : sql.ref(`e.${snake(name)}`).as(name);

/** All columns of an event. */
export const selectedOfEvents = (isText: boolean) => ALL_COLUMNS.map((name) => selectionOf(name, isText));

interface Shape {
  readonly role: Role;
  /** Whether the page is of one session, whose id is already known. */
  readonly isOne: boolean;
  /** Whether the data is cast to text. */
  readonly isText: boolean;
  readonly conditions: readonly Condition[];
  readonly names: readonly (keyof SessionEventRow)[];
  /** Whether it is asked which sessions are private ones of somebody else. */
  readonly isRecorded: boolean;
  readonly page: PageShape;
}

const pages = preparedByShape<Given & PageValues, Shape>()((value, shape) => {
  const { role, isOne, isText, conditions, names } = shape;
  const events = eventsOf(isOne ? theOnly(value) : sql<string>`s.id`, conditions, value).select(
    names.map((name) => selectionOf(name, isText)),
  );
  const page = paged(events, EVENT_ORDERINGS[shape.page.direction], shape.page, value);
  // A single session's id is set in the rows: they have a place for it, which says whether it is a private one of somebody else.
  const sessionId = isOne ? foreignSession(value('userId')) : sql.ref('s.id');
  const foreign = isOne ? [] : [foreignSession(value('userId')).as('foreignId')];
  // The outer join returns one row of nulls for a session without matching events, and no row for a session that does not exist.
  return readableSessions(role, value, isOne)
    .leftJoinLateral(sql<object>`${page}`.as<'page'>(sql`page`), (join) => join.onTrue())
    .select([...names.map((name) => sql.ref(`page.${name}`).as(name as string)), sessionId.as('sessionId')])
    .select(shape.isRecorded ? foreign : [])
    .$castTo<PageRow>();
});

/** A row of a page. For a session without events all other columns are null. */
type PageRow = Omit<SessionEventRow, 'sessionId'> & { sessionId: SessionId; foreignId?: SessionId | null };

/** Returns a function that loads a page of events for each of the given sessions; a session that the caller cannot read has none. */
export function pagesOfEvents(
  context: OperationContext,
  { filter = {}, page, direction = 'ASC', selected, maxBytes, isAnswered = true, isAudited = false }: SessionEventList,
): LoadBatch<SessionId, Page<SessionEventRow>> {
  const { role, ...caller } = callerOf(context.actor);
  const plan = new PagePlan<SessionEventRow>(
    EVENT_ORDERINGS[direction],
    page,
    isAnswered ? MAX_PAGE : WORK.wholeOutlineEvents,
  );
  // The id of the session is already known.
  const names = withColumns<SessionEventRow>(selected, COLUMNS, 'id').filter((name) => name !== 'sessionId');
  const conditions = namesOf(filter);
  // Ids alone are only counted.
  const isRecorded = !isAudited && role === 'admin' && names.length > 1;
  const read = async (sessionIds: readonly SessionId[]) => {
    const reader = await readerFor(context, filter, sessionIds);
    const [only] = sessionIds.length === 1 ? sessionIds : [];
    const isOne = only !== undefined;
    const shape = { role, isOne, isText: reader.isTransaction, conditions, names, isRecorded, page: plan.shape };
    const statement = pages(shape, { ...filter, ...plan.values, ...caller, sessionIds });
    const found = await reader.page(statement, { maxBytes, isJson: true, isAnswered });
    if (isRecorded)
      await recordPrivateReads(
        context,
        found.rows.flatMap(({ sessionId, foreignId }) => (isOne ? sessionId : foreignId) ?? []),
      );
    if (isOne) for (const row of found.rows) row.sessionId = only;
    return found;
  };
  const ofSession = {
    read,
    parentOf: ({ sessionId }: PageRow) => sessionId,
    isListed: ({ id }: PageRow) => id !== null,
  };
  return (sessionIds) => pagesByParent(plan, sessionIds, ofSession);
}

/** Whether the session exists, for callers who could read it before. */
export async function isPresent({ sql: reader }: OperationContext, sessionId: SessionId): Promise<boolean> {
  const row = db.selectFrom('session').select('id').where('id', '=', sessionId);
  return (await reader.primary.first(row)) !== undefined;
}

/** A page of the events of one session; undefined when the caller cannot read the session. */
export const pageOfEvents = async (
  context: OperationContext,
  sessionId: SessionId,
  list: SessionEventList,
): Promise<Page<SessionEventRow> | undefined> => (await pagesOfEvents(context, list)([sessionId])).get(sessionId);

const counts = preparedByShape<
  Given,
  { readonly role: Role; readonly isOne: boolean; readonly conditions: readonly Condition[] }
>()((value, { role, isOne, conditions }) => {
  const count = counted(eventsOf(isOne ? theOnly(value) : sql<string>`s.id`, conditions, value));
  return readableSessions(role, value, isOne).select(['s.id', count.as('count')]);
});

/** How many events of each session meet the filter. A session that the caller cannot read has no count. */
export function countsOf(context: OperationContext, filter: SessionEventFilter): LoadBatch<SessionId, number> {
  const { role, ...caller } = callerOf(context.actor);
  const conditions = namesOf(filter);
  return async (sessionIds) => {
    const reader = await readerFor(context, filter, sessionIds);
    const shape = { role, isOne: sessionIds.length === 1, conditions };
    const rows = await reader.all(counts(shape, { ...filter, ...caller, sessionIds }));
    return new Map(rows.map(({ id, count }) => [id, count ?? 0]));
  };
}

/** The events with these keys. Events of sessions that the caller cannot read are left out. */
export async function findEvents(
  context: OperationContext,
  places: readonly { readonly sessionId: SessionId; readonly id: number }[],
  asked?: Columns<SessionEventRow>,
): Promise<SessionEventRow[]> {
  const { actor, sql: reader } = context;
  const names = withColumns<SessionEventRow>(asked, COLUMNS, 'id', 'sessionId');
  const sessionIds = places.map(({ sessionId }) => sessionId);
  const ids = places.map(({ id }) => id);
  const wanted = sql<{
    session_id: string;
    id: number;
  }>`unnest(${listOf('uuid', sessionIds)}, ${listOf('bigint', ids)})`;
  const rows = await reader.all(
    db
      .selectFrom(wanted.as<'k'>(sql`k(session_id, id)`))
      .innerJoin('session_event as e', (join) =>
        join.onRef('e.session_id', '=', 'k.session_id').onRef('e.id', '=', 'k.id'),
      )
      .innerJoin('session as s', (join) =>
        join.onRef('s.id', '=', 'e.session_id').onRef('s.organization_id', '=', 'e.organization_id'),
      )
      .where(within(readableBy(callerOf(actor)), 's'))
      .select(names.map((name) => selectionOf(name, true)))
      .select(foreignSession(sql`${actor.userId}`).as('foreignId')),
  );
  // The selected columns have the names of the row's properties.
  const found = rows as unknown as (SessionEventRow & { foreignId: SessionId | null })[];
  await recordPrivateReads(
    context,
    found.flatMap(({ foreignId }) => foreignId ?? []),
  );
  return found;
}
