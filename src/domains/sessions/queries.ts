import { type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import { keysOf } from '../../core/keys-of.ts';
import { counted, readCount } from '../../core/postgres/reading/counts.ts';
import type { OrganizationId, SessionId, UserId } from '../../core/ids.ts';
import {
  type Order,
  type Page,
  type PageArguments,
  type PageShape,
  type PageValues,
  orderingBy,
  paged,
  planPage,
} from '../../core/postgres/reading/keyset.ts';
import type { Actor, Role } from '../../core/access.ts';
import type { OperationContext } from '../../core/operation.ts';
import type { NamedRow } from '../../core/postgres/reading/names.ts';
import {
  type Readable,
  type RowOf,
  type ValueOf,
  anyOf,
  contains,
  preparedByShape,
  queriesOn,
  snake,
} from '../../core/postgres/reading/queries.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import { type Columns, withColumns } from '../../core/postgres/reading/columns.ts';
import { SESSION_COLUMNS, type SessionTables } from './entity.ts';
import type { AgentFilter, SessionFilter } from './input.ts';
import { type McpServerViewer, visibleMcpServers } from './mcp-servers.ts';
import { callerOf, readableBy } from './policy.ts';

const db = queriesOn<SessionTables>();
type Tables = Readable<SessionTables>;

/** A row has the selected columns only; without a selection it has all columns. */
export type SessionRow = Omit<RowOf<Tables['session']>, 'htmlUrl'>;

export const sessionColumns = (asked: Columns<SessionRow>, ...always: (keyof SessionRow)[]) =>
  withColumns<SessionRow>(asked, SESSION_COLUMNS, 'id', ...always);

/** Columns of the session `s`. `mcpServers` contains only the connections that the caller can see. The names are the properties of a row. */
export const selectionOf = (names: readonly (keyof SessionRow)[], viewer: McpServerViewer) =>
  names.map((name) => (name === 'mcpServers' ? visibleMcpServers(viewer) : sql.ref(`s.${snake(name)}`)).as(name));

interface CallerIds {
  readonly organizationId: OrganizationId;
  readonly userId: UserId;
}

/** The caller in a prepared query: the ids are values, and the role is a part of its shape. */
const callerIn = (value: ValueOf<CallerIds>, role: Role) => ({
  organizationId: value('organizationId'),
  userId: value('userId'),
  role,
});

const sessionsById = preparedByShape<
  CallerIds & { readonly ids: readonly SessionId[] },
  { readonly role: Role; readonly names: readonly (keyof SessionRow)[] }
>()((value, { role, names }) => {
  const caller = callerIn(value, role);
  return db
    .selectFrom('session as s')
    .select(selectionOf(names, caller))
    .where('s.id', '=', anyOf('uuid', value('ids')))
    .where(within(readableBy(caller), 's'))
    .$castTo<SessionRow>();
});

/** The sessions with these ids that the caller can read, in any order. */
export async function findSessions(
  { actor, sql: reader }: OperationContext,
  ids: readonly SessionId[],
  asked?: Columns<SessionRow>,
): Promise<SessionRow[]> {
  const { role, ...caller } = callerOf(actor);
  return reader.all(sessionsById({ role, names: sessionColumns(asked) }, { ...caller, ids }));
}

export type SessionOrderField = 'CREATED_AT' | 'UPDATED_AT' | 'LAST_SEEN_AT';

const ORDERED_BY = {
  name: 'SESSION',
  prefix: 's.',
  columns: {
    CREATED_AT: { property: 'createdAt', type: 'timestamptz' },
    UPDATED_AT: { property: 'updatedAt', type: 'timestamptz' },
    LAST_SEEN_AT: { property: 'lastSeenAt', type: 'timestamptz' },
  },
} as const;

export interface SessionList {
  readonly filter: SessionFilter;
  readonly order: Order<SessionOrderField>;
  readonly page: PageArguments;
  readonly columns?: Columns<SessionRow>;
}

/** The column and the column type of each condition with several values. */
const LISTS = {
  states: ['state', 'text'],
  sessionTypes: ['session_type', 'text'],
  modes: ['mode', 'text'],
  visibilities: ['visibility', 'text'],
  projectIds: ['project_id', 'text'],
  creatorIds: ['creator_id', 'uuid'],
  agents: ['agent', 'text'],
} as const satisfies Partial<Record<keyof SessionFilter, readonly [string, string]>>;

/** The parameters of a list query: the caller and the conditions. */
type Listed = SessionFilter & CallerIds;
type Value = ValueOf<Listed>;
type Condition = keyof SessionFilter;

const namesIn = (filter: SessionFilter): Condition[] =>
  CONDITIONS.filter((name) => filter[name] != null && filter[name] !== '');
const CONDITIONS = [
  ...keysOf(LISTS),
  'isPinned',
  'title',
  'createdFrom',
  'createdBefore',
] as const satisfies readonly Condition[];

function conditionOf(name: Condition, value: Value): RawBuilder<SqlBool> {
  const given = value(name);
  switch (name) {
    case 'isPinned':
      return sql`s.is_pinned = ${given}`;
    case 'title':
      return contains(sql`s.title`, given);
    case 'createdFrom':
      return sql`s.created_at >= ${given}`;
    case 'createdBefore':
      return sql`s.created_at < ${given}`;
    default: {
      const [column, type] = LISTS[name];
      return sql`${sql.ref(`s.${column}`)} = any(${given}::${sql.raw(type)}[])`;
    }
  }
}

interface ListShape {
  readonly role: Role;
  readonly conditions: readonly Condition[];
}

function sessionsOf<Row>(
  query: SelectQueryBuilder<Tables & { s: Tables['session'] }, 's', Row>,
  value: Value,
  { role, conditions }: ListShape,
): typeof query {
  return conditions.reduce(
    (found, name) => found.where(conditionOf(name, value)),
    query.where(within(readableBy(callerIn(value, role)), 's')),
  );
}

interface SelectedListShape extends ListShape {
  readonly names: readonly (keyof SessionRow)[];
}

function selectedSessionsOf(value: Value, { names, ...shape }: SelectedListShape) {
  const selection = selectionOf(names, callerIn(value, shape.role));
  return sessionsOf(db.selectFrom('session as s').select(selection).$castTo<SessionRow>(), value, shape);
}

const sessionPages = preparedByShape<Listed & PageValues, SelectedListShape & { readonly page: PageShape }>()(
  (value, { page, ...shape }) => paged(selectedSessionsOf(value, shape), page, value),
);

/** A page of the sessions that the caller can read. */
export async function pageOfSessions(
  { actor, sql: reader }: OperationContext,
  { filter, order, page, columns: asked }: SessionList,
): Promise<Page<SessionRow>> {
  const { role, ...caller } = callerOf(actor);
  const ordering = orderingBy<SessionRow, SessionOrderField>(ORDERED_BY, order);
  const plan = planPage(ordering, page);
  const names = sessionColumns(asked, ordering.property);
  const shape = { role, conditions: namesIn(filter), names, page: plan.shape };
  return plan.toPage(await reader.page(sessionPages(shape, { ...filter, ...caller, ...plan.values })));
}

const sessionCounts = preparedByShape<Listed, ListShape>()((value, shape) =>
  counted(sessionsOf(db.selectFrom('session as s'), value, shape)),
);

export async function countSessions({ actor, sql: reader }: OperationContext, filter: SessionFilter): Promise<number> {
  const { role, ...caller } = callerOf(actor);
  return readCount(reader, sessionCounts({ role, conditions: namesIn(filter) }, { ...filter, ...caller }));
}

/** The agents of the sessions that the caller can read, with repetitions. */
export function agentsOf(actor: Actor, filter: AgentFilter) {
  return db
    .selectFrom('session as s')
    .select('s.agent as name')
    .where(within(readableBy(callerOf(actor)), 's'))
    .where((eb) => eb.and(createdWithin(filter)))
    .where('s.agent', 'is not', null)
    .$castTo<NamedRow>();
}

/** The conditions for the time when the session `s` was created, each of which can be absent. */
export function createdWithin({
  createdFrom,
  createdBefore,
}: Pick<AgentFilter, 'createdFrom' | 'createdBefore'>): RawBuilder<boolean>[] {
  return [
    ...(createdFrom == null ? [] : [sql<boolean>`s.created_at >= ${createdFrom}`]),
    ...(createdBefore == null ? [] : [sql<boolean>`s.created_at < ${createdBefore}`]),
  ];
}

/** The head of the event stream of a session; undefined when the caller cannot read the session. */
export async function findStreamHead({ actor, sql: reader }: OperationContext, sessionId: SessionId) {
  return reader.first(
    db
      .selectFrom('session as s')
      .innerJoin('session_stream as h', (join) =>
        join.onRef('h.session_id', '=', 's.id').onRef('h.organization_id', '=', 's.organization_id'),
      )
      .select(['s.state', 'h.last_id as lastId'])
      .where('s.id', '=', sessionId)
      .where(within(readableBy(callerOf(actor)), 's')),
  );
}

const changedSessions = preparedByShape<
  CallerIds & { readonly since: Date; readonly followed: readonly SessionId[] },
  { readonly role: Role; readonly limit: number }
>()((value, { role, limit }) =>
  db
    .selectFrom('session as s')
    .select(['s.id', 's.updated_at as updatedAt'])
    .where('s.organization_id', '=', sql<OrganizationId>`${value('organizationId')}`)
    .where(
      sql<SqlBool>`(${within(readableBy(callerIn(value, role)), 's')} or s.id = ${anyOf('uuid', value('followed'))})`,
    )
    .where('s.updated_at', '>', sql<string>`${value('since')}::timestamptz`)
    .orderBy('s.updated_at', 'desc')
    .limit(limit),
);

/**
 * The sessions that changed after `since`, with the time of the last change, in that order: those that the caller can read, and the given
 * ones, which the caller could read before.
 */
export async function findSessionChanges(
  { actor, sql: reader }: OperationContext,
  since: Date,
  limit: number,
  followed: readonly SessionId[] = [],
): Promise<Pick<SessionRow, 'id' | 'updatedAt'>[]> {
  const { role, ...caller } = callerOf(actor);
  const rows = await reader.all(changedSessions({ role, limit }, { ...caller, since, followed }));
  return rows.toReversed();
}

const latestSessions = preparedByShape<Listed, SelectedListShape & { readonly limit: number }>()(
  (value, { limit, ...shape }) => selectedSessionsOf(value, shape).orderBy('s.updated_at', 'desc').limit(limit),
);

/** The sessions that meet the filter and changed last, in the order of their last change. */
export async function findLatestSessions(
  { actor, sql: reader }: OperationContext,
  { filter, limit }: { readonly filter: SessionFilter; readonly limit: number },
  asked: Columns<SessionRow>,
): Promise<SessionRow[]> {
  const { role, ...caller } = callerOf(actor);
  const shape = { role, conditions: namesIn(filter), names: sessionColumns(asked), limit };
  return (await reader.all(latestSessions(shape, { ...filter, ...caller }))).toReversed();
}

const matchingSessions = preparedByShape<Listed & { readonly ids: readonly SessionId[] }, SelectedListShape>()(
  (value, shape) => selectedSessionsOf(value, shape).where('s.id', '=', anyOf('uuid', value('ids'))),
);

/** The sessions with these ids that the caller can read and that meet the filter, in any order. */
export async function findMatchingSessions(
  { actor, sql: reader }: OperationContext,
  { ids, filter }: { readonly ids: readonly SessionId[]; readonly filter: SessionFilter },
  asked?: Columns<SessionRow>,
): Promise<SessionRow[]> {
  const { role, ...caller } = callerOf(actor);
  const shape = { role, conditions: namesIn(filter), names: sessionColumns(asked) };
  return reader.all(matchingSessions(shape, { ...filter, ...caller, ids }));
}

/** The time of the last change of any session of each organization. */
export async function readLastSessionChanges(
  { sql: reader }: Pick<OperationContext, 'sql'>,
  organizationIds: readonly OrganizationId[],
): Promise<Map<OrganizationId, string>> {
  const rows = await reader.all(
    db
      .selectFrom('session as s')
      .select(['s.organization_id as id', ({ fn }) => fn.max('s.updated_at').as('version')])
      .where('s.organization_id', '=', anyOf('uuid', organizationIds))
      .groupBy('s.organization_id'),
  );
  return new Map(rows.map(({ id, version }) => [id, version]));
}

/** A version of each session and its event stream, which changes with their state. */
export async function readSessionVersions(
  { sql: reader }: Pick<OperationContext, 'sql'>,
  ids: readonly SessionId[],
): Promise<Map<SessionId, string>> {
  const rows = await reader.all(
    db
      .selectFrom('session as s')
      .innerJoin('session_stream as h', (join) =>
        join.onRef('h.session_id', '=', 's.id').onRef('h.organization_id', '=', 's.organization_id'),
      )
      .select(['s.id', sql<string>`concat_ws(' ', s.state, s.visibility, s.creator_id, h.last_id)`.as('version')])
      .where('s.id', '=', anyOf('uuid', ids)),
  );
  return new Map(rows.map(({ id, version }) => [id, version]));
}
