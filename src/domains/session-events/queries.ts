import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import { invalid } from '../../core/errors.ts';
import { keysOf } from '../../core/keys-of.ts';
import type { OrganizationId, SessionId, UserId } from '../../core/ids.ts';
import { type PageArguments, isBackward } from '../../core/postgres/reading/keyset.ts';
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
import { readByParent } from '../../core/postgres/reading/pages.ts';
import type { PageRows } from '../../core/postgres/reading/sql.ts';
import { WORK } from '../../core/work-budget.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import { type Columns, withColumns } from '../../core/postgres/reading/columns.ts';
import { type SessionTables, callerOf, readableBy } from '../sessions/public.ts';
import { relayCursorId } from './cursor.ts';
import type { SessionEventTables } from './entity.ts';
import { MAX_PAGE, type SessionEventFilter } from './input.ts';
import { hasPhrases } from './search-phrases.ts';

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

/** Selects events between two ids, both exclusive, from the start or from the end. */
export interface SessionEventWindow {
  readonly after?: number | null | undefined;
  readonly before?: number | null | undefined;
  readonly limit: number;
  readonly backward?: boolean;
  /** The page ends with the event that reaches this many bytes instead of the usual maximum. */
  readonly maxBytes?: number;
  /** As in `PageOptions`. */
  readonly isAnswered?: boolean;
}

export interface SessionEventSlice {
  /** In ascending order. */
  readonly events: readonly SessionEventRow[];
  /** Whether the page has as many events as its limit, or was cut at its maximum size before further events. */
  readonly isFull: boolean;
}

/** The parameters of the queries. */
interface Given extends SessionEventFilter {
  readonly sessionIds: readonly SessionId[];
  readonly organizationId: OrganizationId;
  readonly userId: UserId;
  readonly after?: number | null | undefined;
  readonly before?: number | null | undefined;
  readonly limit?: number;
}
type Value = ValueOf<Given>;

type Condition = Exclude<keyof Given, 'sessionIds' | 'organizationId' | 'userId' | 'limit'>;

/** Data is searched as text before it is read as JSON, because most of it has neither word. */
const REPORTS_ERROR = sql`(e.event_data::text ~* 'error|fail' and coalesce(
    e.event_data -> 'toolResult' ->> 'status' = 'error' or coalesce(e.event_data -> 'event' ->> 'event', e.event_data ->> 'type') ~* 'error|fail', false))`;

type Conditions = Readonly<Record<Condition, (value: Value, sessionId: RawBuilder<string>) => RawBuilder<SqlBool>>>;
const CONDITIONS: Conditions = {
  eventTypes: (value) => sql`e.event_type = any(${value('eventTypes')}::text[])`,
  providers: (value) => sql`e.provider = any(${value('providers')}::text[])`,
  messageId: (value) => sql`e.message_id = ${value('messageId')}::uuid`,
  delivery: (value) => sql`e.event_data ->> 'delivery' = ${value('delivery')}`,
  itemIds: (value) => sql`e.event_data ->> 'itemId' = any(${value('itemIds')}::text[])`,
  scope: (value) => sql`e.event_data -> 'scope' ->> 'kind' = ${value('scope')}`,
  isError: (value) => sql`${REPORTS_ERROR} = ${value('isError')}::boolean`,
  createdFrom: (value) => sql`e.created_at >= ${value('createdFrom')}::timestamptz`,
  createdBefore: (value) => sql`e.created_at < ${value('createdBefore')}::timestamptz`,
  // The events that were found are few, so that they are read by their ids.
  text: (value, sessionId) =>
    sql`e.id = any(array(select t.event_id from session_text as t where t.session_id = ${sessionId} and t.organization_id = ${value('organizationId')}::uuid and ${hasPhrases(sql`t.document`, value('text'))}))`,
  after: (value) => sql`e.id > ${value('after')}::bigint`,
  before: (value) => sql`e.id < ${value('before')}::bigint`,
};

const namesOf = (given: Partial<Given>) =>
  keysOf(CONDITIONS).filter((name) => given[name] !== undefined && given[name] !== null);

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

/**
 * No page has more events. PostgreSQL expects a variable limit to return a tenth of the rows. With this constant below it, that is not a
 * tenth of a long session, and PostgreSQL plans the statement once instead of at each execution, which takes a quarter of the time of a page.
 */
const MAX_ROWS = MAX_PAGE + 1;

interface PageShape {
  readonly role: Role;
  readonly direction: 'asc' | 'desc';
  /** Whether the page is of one session, whose id is already known. */
  readonly isOne: boolean;
  /** Whether the data is cast to text. */
  readonly isText: boolean;
  readonly conditions: readonly Condition[];
  readonly names: readonly (keyof SessionEventRow)[];
  readonly isAnswered: boolean;
}

const pages = preparedByShape<Given, PageShape>()((value, shape) => {
  const { role, direction, isOne, isText, isAnswered, conditions, names } = shape;
  const maxRows = isAnswered ? MAX_ROWS : WORK.wholeOutlineEvents;
  const events = eventsOf(isOne ? theOnly(value) : sql<string>`s.id`, conditions, value)
    .select(names.map((name) => selectionOf(name, isText)))
    .orderBy('e.session_id', direction)
    .orderBy('e.id', direction);
  const page = db
    .selectFrom(events.limit(sql.lit(maxRows)).as('longest'))
    .selectAll('longest')
    .limit(sql<number>`${value('limit')}`);
  const selection = names.map((name) => sql.ref(`page.${name}`).as(name as string));
  if (!isOne) selection.push(sql.ref('s.id').as('sessionId'));
  // The outer join returns one row of nulls for a session without matching events, and no row for a session that does not exist.
  return readableSessions(role, value, isOne)
    .leftJoinLateral(sql<object>`${page}`.as<'page'>(sql`page`), (join) => join.onTrue())
    .select(selection)
    .$castTo<PageRow>();
});

/** Returns a function that loads a page of events for each of the given sessions; a session that the caller cannot read has none. */
export function slicesOf(
  { actor, sql: reader }: OperationContext,
  filter: SessionEventFilter,
  { backward = false, maxBytes, isAnswered = true, ...window }: SessionEventWindow,
  asked?: Columns<SessionEventRow>,
): LoadBatch<SessionId, SessionEventSlice> {
  const { role, ...caller } = callerOf(actor);
  // The id of the session is already known.
  const names = withColumns<SessionEventRow>(asked, COLUMNS, 'id').filter((name) => name !== 'sessionId');
  const conditions = namesOf({ ...filter, ...window });
  const direction = backward ? 'desc' : 'asc';
  const readPages = async (sessionIds: readonly SessionId[]) => {
    const [only] = sessionIds.length === 1 ? sessionIds : [];
    const shape = {
      role,
      direction,
      isOne: only !== undefined,
      isText: reader.isTransaction,
      conditions,
      names,
      isAnswered,
    } as const;
    const statement = pages(shape, { ...filter, ...window, ...caller, sessionIds });
    const read = await reader.page(statement, { maxBytes, isJson: true, isAnswered });
    if (only !== undefined) for (const row of read.rows) row.sessionId = only;
    return read;
  };
  return async (sessionIds) => {
    const found = await readByParent(sessionIds, readPages, ({ sessionId }) => sessionId);
    return new Map(Array.from(found, ([id, read]) => [id, toSlice(read, backward, window.limit)]));
  };
}

/** A row of a page. For a session without events all other columns are null. `sessionId` is not selected for a single session. */
type PageRow = Omit<SessionEventRow, 'sessionId'> & { sessionId: SessionId };

function toSlice({ rows, isCut }: PageRows<PageRow>, backward: boolean, limit: number): SessionEventSlice {
  const events = rows[0]?.id === null ? [] : rows;
  return { events: backward ? events.toReversed() : events, isFull: isCut || events.length === limit };
}

/** Whether the session exists, for callers who could read it before. */
export async function isPresent({ sql: reader }: OperationContext, sessionId: SessionId): Promise<boolean> {
  const row = db.selectFrom('session').select('id').where('id', '=', sessionId);
  return (await reader.primary.first(row)) !== undefined;
}

/** A page of the events of one session; undefined when the caller cannot read the session. */
export async function findSlice(
  context: OperationContext,
  sessionId: SessionId,
  filter: SessionEventFilter,
  window: SessionEventWindow,
): Promise<SessionEventSlice | undefined> {
  return (await slicesOf(context, filter, window)([sessionId])).get(sessionId);
}

const counts = preparedByShape<
  Given,
  { readonly role: Role; readonly isOne: boolean; readonly conditions: readonly Condition[] }
>()((value, { role, isOne, conditions }) => {
  const count = counted(eventsOf(isOne ? theOnly(value) : sql<string>`s.id`, conditions, value));
  return readableSessions(role, value, isOne).select(['s.id', count.as('count')]);
});

/** How many events of each session meet the filter. A session that the caller cannot read has no count. */
export function countsOf(
  { actor, sql: reader }: OperationContext,
  filter: SessionEventFilter,
): LoadBatch<SessionId, number> {
  const { role, ...caller } = callerOf(actor);
  const conditions = namesOf(filter);
  return async (sessionIds) => {
    const shape = { role, isOne: sessionIds.length === 1, conditions };
    const rows = await reader.all(counts(shape, { ...filter, ...caller, sessionIds }));
    return new Map(rows.map(({ id, count }) => [id, count ?? 0]));
  };
}

/** The events with these keys. Events of sessions that the caller cannot read are left out. */
export async function findEvents(
  { actor, sql: reader }: OperationContext,
  places: readonly { readonly sessionId: SessionId; readonly id: number }[],
  asked?: Columns<SessionEventRow>,
): Promise<SessionEventRow[]> {
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
      .select(names.map((name) => selectionOf(name, true))),
  );
  // The selected columns have the names of the row's properties.
  return rows as unknown as SessionEventRow[];
}

/** Converts Relay arguments to a window; cursors are event ids. The limit is one more than the page size, to detect whether more follow. */
export function windowOf(page: PageArguments, defaultSize: number): { window: SessionEventWindow; size: number } {
  const backward = isBackward(page);
  const size = page.last ?? page.first ?? defaultSize;
  const [code, limit] = size > MAX_PAGE ? (['TOO_LARGE', MAX_PAGE] as const) : (['TOO_SMALL', 1] as const);
  if (size < 1 || size > MAX_PAGE)
    throw invalid(backward ? 'last' : 'first', `must be from 1 to ${MAX_PAGE}`, code, limit);
  return {
    window: {
      after: relayCursorId(page.after, 'after'),
      before: relayCursorId(page.before, 'before'),
      limit: size + 1,
      backward,
    },
    size,
  };
}
