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
  type Page,
  type PageArguments,
  PagePlan,
  type PageShape,
  type PageValues,
  inOrder,
  orderingsBy,
  paged,
} from '../../core/postgres/reading/keyset.ts';
import {
  type Readable,
  type RowOf,
  type ValueOf,
  anyOf,
  columns,
  preparedByShape,
  queriesOn,
} from '../../core/postgres/reading/queries.ts';
import { WORK } from '../../core/work-budget.ts';
import { ID_CURSORS } from '../session-events/public.ts';
import { callerOf } from '../sessions/public.ts';
import { MAX_PAGE } from './input.ts';
import { readableEntries } from './policy.ts';

const db = queriesOn<FeedTables>();

export type FeedEntryRow = Omit<
  RowOf<Readable<FeedTables>['feed_entry']>,
  'id' | 'readerId' | 'recordedAt' | 'position'
> & { readonly id: number };

const COLUMNS = ['organizationId', 'id', 'key', 'createdAt', 'type', 'subjectType', 'subjectId', 'data'] as const;

/** The types that the caller can see, and when the entries were created. */
export interface FeedConditions {
  readonly types: readonly FeedType[];
  readonly createdFrom?: string | null | undefined;
  readonly createdBefore?: string | null | undefined;
  /** Of the entries about another state of a session, only those about these states. */
  readonly sessionStates?: readonly string[] | null | undefined;
}

/** The order of the commits. Cursors are the ids that REST uses. */
const ORDERINGS = orderingsBy<FeedEntryRow>({
  name: () => 'FEED_ENTRY',
  keys: [{ property: 'id', sql: 'e.id', type: 'bigint' }],
  prefix: ['e.organization_id'],
  form: ID_CURSORS,
});

/** The parameters of the queries. */
interface Given extends FeedConditions {
  readonly organizationId: OrganizationId;
  readonly userId: UserId;
}
type Value = ValueOf<Given>;

/** Conditions that can be absent. Then they are not in the statement: a plan for all values could not leave them out. */
const CONDITIONS = {
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

/**
 * A page, with the head of the feed and whether entries have no number yet, in the same snapshot. Without entries it has a row of nulls. A
 * bounded number of ids is looked at, from that of the nearest entry on, because entries of a rare type are far from each other: `until` is the
 * last one, and `isStopped` whether there are entries beyond it.
 */
const pages = preparedByShape<Given & PageValues, Shape & { readonly page: PageShape }>()((
  value,
  { page, ...shape },
) => {
  const ordering = ORDERINGS[page.direction];
  const isAscending = (page.direction === 'ASC') !== page.backward;
  const [sign, upTo, beyond] = isAscending ? (['+', '<=', '>'] as const) : (['-', '>=', '<'] as const);
  const numbered = db
    .selectFrom('feed_entry as e')
    .select('e.id')
    .where('e.organization_id', '=', sql<OrganizationId>`${value('organizationId')}`)
    .where('e.id', 'is not', null);
  const nearest = inOrder(numbered, ordering, page, value).limit(sql.lit(1));
  const head = db
    .selectFrom('feed_stream as s')
    .select('s.last_id')
    .where('s.organization_id', '=', sql<string>`${value('organizationId')}`);
  const range = db.selectNoFrom((eb) => [
    eb.exists(unnumbered(value('organizationId'))).as('isDue'),
    sql<number>`coalesce(${head}, 0)`.as('head'),
    sql<number>`${nearest} ${sql.raw(sign)} ${sql.lit(WORK.feedEntries - 1)}`.as('until'),
  ]);
  // Not `exists`, for which PostgreSQL can read all entries.
  const other = inOrder(numbered, ordering, page, value)
    .where('e.id', beyond, sql<number>`range.until`)
    .limit(sql.lit(1));
  const looked = db
    .selectFrom(range.as('range'))
    .selectAll()
    .select(sql<boolean>`${other} is not null`.as('isStopped'));
  const entries = entriesOf(value, shape)
    .select(columns('e', COLUMNS))
    .where('e.id', upTo, sql<number>`looked.until`);
  return db
    .selectFrom(looked.as('looked'))
    .leftJoinLateral(sql<object>`${paged(entries, ordering, page, value)}`.as<'page'>(sql`page`), (join) =>
      join.onTrue(),
    )
    .select(['looked.isDue', 'looked.head', 'looked.until', 'looked.isStopped'])
    .select(COLUMNS.map((name) => sql.ref(`page.${name}`).as(name)))
    .orderBy(sql.ref('page.id'), isAscending ? 'asc' : 'desc')
    .$castTo<PageRow>();
});

interface PageRow extends Partial<FeedEntryRow> {
  readonly isDue: boolean;
  readonly head: number;
  readonly until: number | null;
  readonly isStopped: boolean;
}

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
  readonly page: Page<FeedEntryRow>;
  /** The last number of the feed. All entries up to it were visible. */
  readonly head: number;
}

/** What a list of entries is asked for. */
export interface FeedList extends FeedConditions {
  readonly page: PageArguments;
  readonly direction?: 'ASC' | 'DESC';
}

/** A page of the entries that the caller can read. New entries are numbered first. */
export async function findFeedEntries(
  { actor, em, sql: reader }: FeedReader,
  { page: asked, direction = 'ASC', ...conditions }: FeedList,
): Promise<FoundEntries> {
  const { role, ...caller } = callerOf(actor);
  const plan = new PagePlan(ORDERINGS[direction], asked, MAX_PAGE);
  const shape = { role, conditions: conditionsOf(conditions), page: plan.shape };
  const statement = pages(shape, { ...caller, ...conditions, ...plan.values });
  const read = async (from: Sql) => {
    const found = await from.all(statement);
    const [first] = found;
    // A row with an id has all columns, and those of the range.
    const rows = first?.id == null ? [] : (found as FeedEntryRow[]);
    const stop = first?.isStopped === true ? String(first.until) : undefined;
    return { page: plan.toPage({ rows, isCut: false }, stop), head: first?.head ?? 0, isDue: first?.isDue === true };
  };
  try {
    const found = await read(reader.primary);
    if (!found.isDue) return found;
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
const unnumbered = (organizationId: RawBuilder<unknown>) =>
  db
    .selectFrom('feed_entry as u')
    .select('u.key')
    .where('u.organization_id', '=', sql<string>`${organizationId}`)
    .where('u.id', 'is', null);

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
