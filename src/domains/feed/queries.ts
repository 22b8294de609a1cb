import type { EntityManager } from '@mikro-orm/postgresql';
import { type RawBuilder, sql } from 'kysely';
import { type FeedTables, type FeedType, numberFeed } from '../../core/feed.ts';
import { isDatabaseAway } from '../../core/postgres/failures.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import type { OrganizationId, UserId } from '../../core/ids.ts';
import { keysOf } from '../../core/keys-of.ts';
import type { Role } from '../../core/access.ts';
import type { OperationContext } from '../../core/operation.ts';
import { counted } from '../../core/postgres/reading/counts.ts';
import {
  type Readable,
  type RowOf,
  type ValueOf,
  anyOf,
  columns,
  preparedByShape,
  queriesOn,
} from '../../core/postgres/reading/queries.ts';
import { callerOf } from '../sessions/public.ts';
import { MAX_PAGE } from './input.ts';
import { readableEntries } from './policy.ts';

const db = queriesOn<FeedTables>();

/** An entry of the feed. */
export type FeedEntryRow = Omit<
  RowOf<Readable<FeedTables>['feed_entry']>,
  'id' | 'readerId' | 'key' | 'recordedAt' | 'position'
> & { readonly id: number };

/** An entry as REST shows it, and messages to webhooks. */
export function feedEntryOf({ id, type, createdAt, subjectType, subjectId, data }: FeedEntryRow) {
  return { id, type, createdAt, subjectType, subjectId, data };
}

const COLUMNS = ['organizationId', 'id', 'createdAt', 'type', 'subjectType', 'subjectId', 'data'] as const;

/** The types that the caller can see, and when the entries were created. */
export interface FeedConditions {
  readonly types: readonly FeedType[];
  readonly createdFrom?: string | null | undefined;
  readonly createdBefore?: string | null | undefined;
  /** Of the entries about another state of a session, only those about these states. */
  readonly sessionStates?: readonly string[] | null | undefined;
}

/** Entries between two ids, both exclusive, from the start or from the end; at most {@link MAX_PAGE} and one more. */
export interface FeedWindow {
  readonly after?: number | null | undefined;
  readonly before?: number | null | undefined;
  readonly limit: number;
  readonly isBackward?: boolean;
}

/** The parameters of the queries. */
interface Given extends FeedConditions, Partial<FeedWindow> {
  readonly organizationId: OrganizationId;
  readonly userId: UserId;
}
type Value = ValueOf<Given>;

/** Conditions that can be absent. Then they are not in the statement: a plan for all values could not leave them out. */
const CONDITIONS = {
  after: (value) => sql<boolean>`e.id > ${value('after')}::bigint`,
  before: (value) => sql<boolean>`e.id < ${value('before')}::bigint`,
  createdFrom: (value) => sql<boolean>`e.created_at >= ${value('createdFrom')}::timestamptz`,
  createdBefore: (value) => sql<boolean>`e.created_at < ${value('createdBefore')}::timestamptz`,
  sessionStates: (value) =>
    sql<boolean>`(e.type <> 'session.state_changed' or e.data->>'state' = any(${value('sessionStates')}::text[]))`,
} as const satisfies Partial<Record<keyof Given, (value: Value) => RawBuilder<boolean>>>;

const conditionsOf = (given: Partial<Given>) => keysOf(CONDITIONS).filter((name) => given[name] != null);

interface Shape {
  readonly role: Role;
  readonly conditions: readonly (keyof typeof CONDITIONS)[];
}

/** The numbered entries that the caller can read and that meet the conditions. */
function entriesOf(value: Value, { role, conditions }: Shape) {
  const caller = { organizationId: value('organizationId'), userId: value('userId'), role };
  const entries = db
    .selectFrom('feed_entry as e')
    .where(readableEntries(caller))
    .where('e.id', 'is not', null)
    .where('e.type', '=', anyOf('text', value('types')));
  return conditions.reduce((found, name) => found.where(CONDITIONS[name](value)), entries);
}

/** Limits in the text of a page, because PostgreSQL expects a variable limit to return a tenth of the rows. Most pages are short. */
const LONGEST = [201, MAX_PAGE + 1] as const;

interface PageShape extends Shape {
  readonly direction: 'asc' | 'desc';
  readonly longest: number;
}

/** A page, with the head of the feed and whether entries have no number yet, in the same snapshot. Without entries it has a row of nulls. */
const pages = preparedByShape<Given, PageShape>()((value, { direction, longest: rows, ...shape }) => {
  const longest = entriesOf(value, shape)
    .select(columns('e', COLUMNS))
    .orderBy('e.organization_id', direction)
    .orderBy('e.id', direction)
    .limit(sql.lit(rows));
  const page = db
    .selectFrom(longest.as('longest'))
    .selectAll()
    .limit(sql<number>`${value('limit')}`);
  const head = db
    .selectFrom('feed_stream as s')
    .select('s.last_id')
    .where('s.organization_id', '=', sql<string>`${value('organizationId')}`);
  const state = db.selectNoFrom((eb) => [
    eb.exists(unnumbered(value('organizationId'))).as('isDue'),
    sql<number>`coalesce(${head}, 0)`.as('head'),
  ]);
  return db
    .selectFrom(state.as('state'))
    .leftJoinLateral(sql<object>`${page}`.as<'page'>(sql`page`), (join) => join.onTrue())
    .select(['state.isDue', 'state.head'])
    .select(COLUMNS.map((name) => sql.ref(`page.${name}`).as(name)))
    .orderBy(sql.ref('page.id'), direction)
    .$castTo<Partial<FeedEntryRow> & { readonly isDue: boolean; readonly head: number }>();
});

const byIds = preparedByShape<Given & { readonly ids: readonly number[] }, Shape>()((value, shape) =>
  entriesOf(value, shape)
    .where(sql<boolean>`e.id = any(${value('ids')}::bigint[])`)
    .select(columns('e', COLUMNS))
    .$castTo<FeedEntryRow>(),
);

const counts = preparedByShape<Given, Shape>()((value, shape) =>
  db.selectNoFrom(counted(entriesOf(value, shape)).as('count')),
);

/** Who reads, and where from. */
export type FeedReader = Pick<OperationContext, 'actor' | 'em' | 'sql'>;

export interface FoundEntries {
  /** In ascending order. */
  readonly entries: readonly FeedEntryRow[];
  /** The last number of the feed. All entries up to it were visible. */
  readonly head: number;
}

/** A page of the entries that the caller can read. New entries are numbered first. */
export async function findFeedEntries(
  { actor, em, sql: reader }: FeedReader,
  conditions: FeedConditions,
  window: FeedWindow,
): Promise<FoundEntries> {
  const { role, ...caller } = callerOf(actor);
  const { isBackward = false } = window;
  const values = { ...caller, ...conditions, ...window };
  const direction = isBackward ? 'desc' : 'asc';
  const longest = LONGEST.find((rows) => window.limit <= rows) ?? window.limit;
  const statement = pages({ role, direction, longest, conditions: conditionsOf(values) }, values);
  const read = async (from: Sql) => {
    const [first, ...others] = await from.all(statement);
    const rows = first?.id == null ? [] : [first, ...others];
    // A row with an id has all columns, and two more.
    const entries = rows as FeedEntryRow[];
    return { entries: isBackward ? entries.toReversed() : entries, head: first?.head ?? 0, isDue: first?.isDue };
  };
  try {
    const found = await read(reader.primary);
    if (found.isDue !== true) return found;
    await numberFeed(em, caller.organizationId);
    return await read(reader.primary);
  } catch (error) {
    // A replica still serves what is numbered.
    if (!isDatabaseAway(error) || reader === reader.primary) throw error;
    return read(reader);
  }
}

/** The entries with these ids that the caller can read, in any order. */
export function findFeedEntriesById(
  { actor, sql: reader }: Pick<FeedReader, 'actor' | 'sql'>,
  types: readonly FeedType[],
  ids: readonly number[],
): Promise<FeedEntryRow[]> {
  const { role, ...caller } = callerOf(actor);
  return reader.all(byIds({ role, conditions: [] }, { ...caller, types, ids }));
}

export async function countFeedEntries(
  { actor, sql: reader }: OperationContext,
  conditions: FeedConditions,
): Promise<number> {
  const { role, ...caller } = callerOf(actor);
  const row = await reader.first(counts({ role, conditions: conditionsOf(conditions) }, { ...caller, ...conditions }));
  return row?.count ?? 0;
}

/** The last id of a feed. */
export async function readFeedHead({ actor, sql: reader }: Pick<FeedReader, 'actor' | 'sql'>): Promise<number> {
  const { organizationId } = callerOf(actor);
  const stream = db.selectFrom('feed_stream as s').select('s.last_id as lastId');
  return (await reader.primary.first(stream.where('s.organization_id', '=', organizationId)))?.lastId ?? 0;
}

/** The same after the entries that are committed now got their ids. */
export async function readNumberedFeedHead(context: FeedReader): Promise<number> {
  await numberFeed(context.em, callerOf(context.actor).organizationId);
  return readFeedHead(context);
}

/** The entries of an organization without a number. */
function unnumbered(organizationId: RawBuilder<unknown>) {
  return db
    .selectFrom('feed_entry as u')
    .select('u.key')
    .where('u.organization_id', '=', sql<string>`${organizationId}`)
    .where('u.id', 'is', null);
}

/** The heads of feeds, as versions of their topics. */
export async function readFeedVersions(
  { sql: reader }: Pick<OperationContext, 'sql'>,
  ids: readonly OrganizationId[],
): Promise<Map<OrganizationId, string>> {
  // Without an entry, an organization has no row.
  const due = db
    .selectFrom('feed_entry as u')
    .select(['u.organization_id as organizationId', sql<number>`-1::bigint`.as('lastId')])
    .where('u.organization_id', '=', anyOf('uuid', ids))
    .where('u.id', 'is', null)
    .distinct();
  const rows = await reader.all(
    db
      .selectFrom('feed_stream as s')
      .select(['s.organization_id as organizationId', 's.last_id as lastId'])
      .where('s.organization_id', '=', anyOf('uuid', ids))
      .unionAll(due),
  );
  const versions = new Map(ids.map((id) => [id, { lastId: 0, isDue: false }]));
  for (const { organizationId, lastId } of rows) {
    const version = versions.get(organizationId);
    if (version && lastId < 0) version.isDue = true;
    else if (version) version.lastId = lastId;
  }
  return new Map([...versions].map(([id, { lastId, isDue }]) => [id, `${lastId} ${isDue}`]));
}

const tablesOf = (em: EntityManager) => em.getKysely<Readable<FeedTables>>();

/** Deletes a batch of the entries from before a time. @returns how many. */
export async function deleteFeedEntries(em: EntityManager, before: Date, batch: number): Promise<number> {
  const tables = tablesOf(em);
  const some = tables
    .selectFrom('feed_entry')
    .select(['organization_id', 'key'])
    .where('created_at', '<', before.toISOString())
    .orderBy('created_at')
    .limit(batch);
  const { numDeletedRows } = await tables
    .deleteFrom('feed_entry')
    .where((eb) => eb(eb.refTuple('organization_id', 'key'), 'in', some.$asTuple('organization_id', 'key')))
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/** Deletes a batch of the entries of an organization, and with the last ones its stream. @returns how many rows. */
export async function deleteFeedOf(em: EntityManager, organizationId: OrganizationId, batch: number): Promise<number> {
  const tables = tablesOf(em);
  const some = tables.selectFrom('feed_entry').select('key').where('organization_id', '=', organizationId).limit(batch);
  const entries = await tables
    .deleteFrom('feed_entry')
    .where('organization_id', '=', organizationId)
    .where('key', 'in', some)
    .executeTakeFirst();
  const stream = await tables
    .deleteFrom('feed_stream')
    .where('organization_id', '=', organizationId)
    .executeTakeFirst();
  return Number(entries.numDeletedRows + stream.numDeletedRows);
}

/** Removes the id of a user from a batch of the entries about them, and deletes a batch of those that only they could read. @returns how many. */
export async function forgetUserInFeed(em: EntityManager, userId: UserId, batch: number): Promise<number> {
  const tables = tablesOf(em);
  const about = tables
    .selectFrom('feed_entry')
    .select(['organization_id', 'key'])
    .where('subject_type', '=', 'User')
    .where('subject_id', '=', userId)
    .limit(batch);
  const forgotten = await tables
    .updateTable('feed_entry')
    .set({ subject_id: null })
    .where((eb) => eb(eb.refTuple('organization_id', 'key'), 'in', about.$asTuple('organization_id', 'key')))
    .executeTakeFirst();
  const own = tables
    .selectFrom('feed_entry')
    .select(['organization_id', 'key'])
    .where('reader_id', '=', userId)
    .limit(batch);
  const deleted = await tables
    .deleteFrom('feed_entry')
    .where((eb) => eb(eb.refTuple('organization_id', 'key'), 'in', own.$asTuple('organization_id', 'key')))
    .executeTakeFirst();
  return Number(forgotten.numUpdatedRows + deleted.numDeletedRows);
}
