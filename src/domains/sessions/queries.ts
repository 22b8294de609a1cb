import { type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import { keysOf } from '../../core/keys-of.ts';
import { counted, readCount } from '../../core/postgres/reading/counts.ts';
import type { OrganizationId, SessionId, UserId } from '../../core/ids.ts';
import {
  type Order,
  type Page,
  type PageArguments,
  type PageValues,
  orderingBy,
  planPage,
} from '../../core/postgres/reading/keyset.ts';
import type { Role } from '../../core/access.ts';
import type { OperationContext } from '../../core/operation.ts';
import {
  type Readable,
  type RowOf,
  anyOf,
  contains,
  preparedByShape,
  queriesOn,
  snake,
} from '../../core/postgres/reading/queries.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import { type Columns, withColumns } from '../../core/postgres/reading/columns.ts';
import { SESSION_COLUMNS, type SessionTables } from './entity.ts';
import type { SessionFilter } from './input.ts';
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

const sessionsById = preparedByShape<{ ids: readonly SessionId[]; organizationId: OrganizationId; userId: UserId }>();

/** The sessions with these ids that the caller can read, in any order. */
export async function findSessions(
  { actor, sql: reader }: OperationContext,
  ids: readonly SessionId[],
  asked?: Columns<SessionRow>,
): Promise<SessionRow[]> {
  const { organizationId, userId, role } = callerOf(actor);
  const names = sessionColumns(asked);
  return reader.all(
    sessionsById([role, ...names].join(), { ids, organizationId, userId }, (value) => {
      const caller = { organizationId: value('organizationId'), userId: value('userId'), role };
      return db
        .selectFrom('session as s')
        .select(selectionOf(names, caller))
        .where('s.id', '=', anyOf('uuid', value('ids')))
        .where(within(readableBy(caller), 's'))
        .$castTo<SessionRow>();
    }),
  );
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
interface Listed extends SessionFilter {
  readonly organizationId: OrganizationId;
  readonly userId: UserId;
}
type Value = <Name extends keyof Listed>(name: Name) => RawBuilder<Listed[Name]>;
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

function sessionsOf<Row>(
  query: SelectQueryBuilder<Tables & { s: Tables['session'] }, 's', Row>,
  value: Value,
  { role, conditions }: { role: Role; conditions: readonly Condition[] },
): typeof query {
  const caller = { organizationId: value('organizationId'), userId: value('userId'), role };
  return conditions.reduce(
    (found, name) => found.where(conditionOf(name, value)),
    query.where(within(readableBy(caller), 's')),
  );
}

const sessionPages = preparedByShape<Listed & PageValues>();

/** A page of the sessions that the caller can read. */
export async function pageOfSessions(
  { actor, sql: reader }: OperationContext,
  { filter, order, page, columns: asked }: SessionList,
): Promise<Page<SessionRow>> {
  const { role, ...caller } = callerOf(actor);
  const ordering = orderingBy<SessionRow, SessionOrderField>(ORDERED_BY, order);
  const plan = planPage(ordering, page);
  const names = sessionColumns(asked, ordering.property);
  const conditions = namesIn(filter);
  const rows = await reader.all(
    sessionPages(
      [role, plan.shape, ...conditions, '', ...names].join(),
      { ...filter, ...caller, ...plan.values },
      (value) => {
        const viewer = { organizationId: value('organizationId'), userId: value('userId') };
        const query = db.selectFrom('session as s').select(selectionOf(names, viewer)).$castTo<SessionRow>();
        return plan.apply(sessionsOf(query, value, { role, conditions }), value);
      },
    ),
  );
  return plan.toPage(rows);
}

const sessionCounts = preparedByShape<Listed>();

export async function countSessions({ actor, sql: reader }: OperationContext, filter: SessionFilter): Promise<number> {
  const { role, ...caller } = callerOf(actor);
  const conditions = namesIn(filter);
  const statement = sessionCounts([role, ...conditions].join(), { ...filter, ...caller }, (value) =>
    counted(sessionsOf(db.selectFrom('session as s'), value, { role, conditions })),
  );
  return readCount(reader, statement);
}

/** The head of the event stream of a session; undefined when the caller cannot read the session. */
export async function findStreamHead({ actor, sql: reader }: OperationContext, sessionId: SessionId) {
  return reader.first(
    db
      .selectFrom('session as s')
      .innerJoin('session_stream as h', 'h.session_id', 's.id')
      .select(['s.state', 'h.last_id as lastId'])
      .where('s.id', '=', sessionId)
      .where(within(readableBy(callerOf(actor)), 's')),
  );
}

const changedSessions = preparedByShape<{ organizationId: OrganizationId; userId: UserId; since: Date }>();

/** The sessions that the caller can read and that changed after `since`, with the time of the last change, in that order. */
export async function findSessionChanges(
  { actor, sql: reader }: OperationContext,
  since: Date,
  limit: number,
): Promise<Pick<SessionRow, 'id' | 'updatedAt'>[]> {
  const { role, ...caller } = callerOf(actor);
  const rows = await reader.all(
    changedSessions(`${role} ${limit}`, { ...caller, since }, (value) =>
      db
        .selectFrom('session as s')
        .select(['s.id', 's.updated_at as updatedAt'])
        .where(within(readableBy({ organizationId: value('organizationId'), userId: value('userId'), role }), 's'))
        .where('s.updated_at', '>', sql<string>`${value('since')}::timestamptz`)
        .orderBy('s.updated_at', 'desc')
        .limit(limit),
    ),
  );
  return rows.toReversed();
}

const matchingSessions = preparedByShape<Listed & { readonly ids: readonly SessionId[] }>();

/** The sessions with these ids that the caller can read and that meet the filter, in any order. */
export async function findMatchingSessions(
  { actor, sql: reader }: OperationContext,
  { ids, filter }: { readonly ids: readonly SessionId[]; readonly filter: SessionFilter },
  asked?: Columns<SessionRow>,
): Promise<SessionRow[]> {
  const { role, ...caller } = callerOf(actor);
  const names = sessionColumns(asked);
  const conditions = namesIn(filter);
  const values = { ...filter, ...caller, ids };
  return reader.all(
    matchingSessions([role, ...conditions, '', ...names].join(), values, (value) => {
      const viewer = { organizationId: value('organizationId'), userId: value('userId') };
      const query = db.selectFrom('session as s').select(selectionOf(names, viewer)).$castTo<SessionRow>();
      const fitting = sessionsOf(query, value, { role, conditions });
      return fitting.where('s.id', '=', anyOf('uuid', value('ids')));
    }),
  );
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
      .innerJoin('session_stream as h', 'h.session_id', 's.id')
      .select(['s.id', sql<string>`concat_ws(' ', s.state, s.visibility, s.creator_id, h.last_id)`.as('version')])
      .where('s.id', '=', anyOf('uuid', ids)),
  );
  return new Map(rows.map(({ id, version }) => [id, version]));
}
