import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { OrganizationId, ProjectId, SessionId, UserId } from '../../core/ids.ts';
import type { Value, WhereColumn } from '../../core/postgres/reading/conditions.ts';
import {
  type Asked,
  type List,
  type Reader,
  defineList,
  inActingOrganization,
} from '../../core/postgres/reading/lists.ts';
import type { Actor, Role } from '../../core/access.ts';
import type { OperationContext } from '../../core/operation.ts';
import type { NamedRow } from '../../core/postgres/reading/names.ts';
import {
  type Readable,
  type RowOf,
  type ValueOf,
  anyOf,
  preparedByShape,
  queriesOn,
  snake,
} from '../../core/postgres/reading/queries.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import { type Columns, withColumns } from '../../core/postgres/reading/columns.ts';
import { isCreatorIn } from '../groups/public.ts';
import { SESSION_COLUMNS, type SessionTables } from './entity.ts';
import type { AgentFilter, ProjectFilter, SessionFilter } from './input.ts';
import { type McpServerViewer, visibleMcpServers } from './mcp-servers.ts';
import { callerOf, readableBy } from './policy.ts';
import type { LoadBatch } from '../../core/graphql/batches.ts';

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

type OwnOrderField = 'CREATED_AT' | 'UPDATED_AT' | 'LAST_SEEN_AT';

type UsageOrderField = 'COST' | 'INPUT_TOKENS' | 'OUTPUT_TOKENS' | 'TOKENS' | 'DURATION' | 'TOOL_ERRORS';
export type SessionOrderField = OwnOrderField | UsageOrderField;
interface SessionWithUsage extends SessionRow {
  readonly costUsd?: number | null;
  readonly inputTokens?: number | null;
  readonly outputTokens?: number | null;
  readonly tokens?: number | null;
  readonly durationMs?: number | null;
  readonly toolErrors?: number | null;
}

/** The row of a page that is sorted by a total, which the page keeps for its cursors. */
export const withoutTotals = ({
  costUsd: _costUsd,
  inputTokens: _inputTokens,
  outputTokens: _outputTokens,
  tokens: _tokens,
  durationMs: _durationMs,
  toolErrors: _toolErrors,
  ...row
}: SessionWithUsage): SessionRow => row;

/** A later session that has completed, and that everybody who can read the session `s` may know of. */
const isDoneAgain = (isSame: RawBuilder<SqlBool>) => sql<SqlBool>`exists (select 1 from session as o
  where o.organization_id = s.organization_id and o.state = 'completed' and o.created_at > s.created_at
    and (o.visibility = 'public' or o.creator_id = s.creator_id) and ${isSame})`;

/** Whether the session `s` has failed, is not marked as handled, and its work was not done again. */
const NEEDS_PERSON = sql<SqlBool>`s.state = 'failed' and s.handled_at is null
  and not ${isDoneAgain(sql`o.source ->> 'id' = s.source ->> 'id'`)}
  and not ${isDoneAgain(sql`md5(o.title) = md5(s.title) and o.title = s.title and o.project_id is not distinct from s.project_id`)}`;

/** The conditions of the filter, also for lists of what belongs to sessions. */
export const sessionFilterOn = ({ is, oneOf, containing, between }: WhereColumn<keyof SessionRow>) => ({
  states: oneOf('state'),
  sessionTypes: oneOf('sessionType'),
  modes: oneOf('mode'),
  visibilities: oneOf('visibility'),
  projectIds: oneOf('projectId'),
  creatorIds: oneOf('creatorId', 'uuid'),
  creatorGroupIds: isCreatorIn('s'),
  agents: oneOf('agent'),
  isPinned: is('isPinned'),
  isHeld: {
    inText: (isHeld: boolean) => (isHeld ? sql<SqlBool>`s.held_at is not null` : sql<SqlBool>`s.held_at is null`),
  },
  needsPerson: { inText: (isNeeded: boolean) => sql<SqlBool>`(${NEEDS_PERSON}) = ${sql.lit(isNeeded)}` },
  costFrom: (given: RawBuilder<unknown>): RawBuilder<SqlBool> =>
    sql`exists (select 1 from session_stream as c where c.session_id = s.id and c.organization_id = s.organization_id
      and c.cost_usd >= ${given})`,
  title: containing('title'),
  search: containing('title'),
  models: isNamed('models'),
  tools: isNamed('tools'),
  failedTools: isNamed('failed_tools'),
  ...between('created', 'createdAt'),
  ...between('lastSeen', 'lastSeenAt'),
});

/** Whether the events of the session `s` name any of the given models or tools. */
const isNamed =
  (column: 'models' | 'tools' | 'failed_tools') =>
  (given: RawBuilder<unknown>): RawBuilder<SqlBool> =>
    sql`exists (select 1 from session_search as n where n.session_id = s.id and n.organization_id = s.organization_id
      and n.${sql.ref(column)} && ${given}::text[])`;

const DECLARED = {
  name: 'SESSION',
  alias: 's',
  columns: SESSION_COLUMNS,
  expressions: {
    mcpServers: (value: Value) =>
      visibleMcpServers({
        organizationId: value('organizationId'),
        userId: value('userId'),
        isAdmin: sql`${value('role')}::text = 'admin'`,
      }),
  },
  reach: ({ actor }: Reader) => readableBy(callerOf(actor)),
  values: ({ actor }: Reader) => callerOf(actor),
  filter: sessionFilterOn,
};

const ORDERS = {
  CREATED_AT: { createdAt: 'timestamptz' },
  UPDATED_AT: { updatedAt: 'timestamptz' },
  LAST_SEEN_AT: { lastSeenAt: 'timestamptz' },
} as const;

const WITH_USAGE = db
  .selectFrom('session as s')
  .innerJoin('session_stream as h', (join) =>
    join.onRef('h.session_id', '=', 's.id').onRef('h.organization_id', '=', 's.organization_id'),
  );

const sum = (type: 'bigint' | 'float8') => ({ type, isNullable: true }) as const;

/** The sessions that the caller can read, also below objects that have them, in any order. */
function sessionsWith(below?: { readonly parent: 'projectId' | 'creatorId'; readonly isText?: boolean }) {
  const options = { ...DECLARED, ...(below && { below }) };
  const own = defineList<SessionRow, SessionFilter, OwnOrderField>()(db.selectFrom('session as s'), {
    ...options,
    orders: ORDERS,
  });
  const byUsage = defineList<SessionWithUsage, SessionFilter, UsageOrderField>()(WITH_USAGE, {
    ...options,
    expressions: {
      ...DECLARED.expressions,
      costUsd: 'h.cost_usd',
      inputTokens: 'h.input_tokens',
      outputTokens: 'h.output_tokens',
      tokens: 'coalesce(h.input_tokens + h.output_tokens, h.input_tokens, h.output_tokens)',
      durationMs: 'h.duration_ms',
      toolErrors: 'h.tool_errors',
    },
    orders: {
      COST: { costUsd: sum('float8') },
      INPUT_TOKENS: { inputTokens: sum('bigint') },
      OUTPUT_TOKENS: { outputTokens: sum('bigint') },
      TOKENS: { tokens: sum('bigint') },
      DURATION: { durationMs: sum('bigint') },
      TOOL_ERRORS: { toolErrors: sum('bigint') },
    },
  });
  const listFor = ({ order }: AskedSessions) => {
    const isByUsage = order !== undefined && !Object.hasOwn(ORDERS, order.field);
    // Each is asked for its own orders.
    return (isByUsage ? byUsage : own) as unknown as List<SessionRow, SessionFilter, SessionOrderField>;
  };
  return {
    own,
    page: (reader: Reader, asked: AskedSessions, selected?: Columns<SessionRow>) =>
      listFor(asked).read(reader, asked, selected),
    pagesBelow: (reader: Reader, asked: AskedSessions, selected: Columns<SessionRow>) =>
      listFor(asked).pagesBelow(reader, asked, selected),
    countsBelow: (reader: Reader, filter: SessionFilter) => own.countsBelow(reader, filter),
  };
}

type AskedSessions = Asked<SessionFilter, SessionOrderField> & { readonly organizationId?: OrganizationId };

export const { own: SESSIONS, page: pageOfSessions } = sessionsWith();
export const SESSIONS_OF_PROJECT = sessionsWith({ parent: 'projectId', isText: true });
export const SESSIONS_OF_CREATOR = sessionsWith({ parent: 'creatorId' });

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
      .select(['s.state', 's.visibility', 'h.last_id as lastId'])
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

export type ProjectRow = Omit<RowOf<Readable<SessionTables>['project']>, 'organizationId'>;

type ProjectOrderField = 'NAME' | 'CREATED_AT' | 'UPDATED_AT';

/** The projects of the acting organization. */
export const PROJECTS = defineList<ProjectRow, ProjectFilter, ProjectOrderField>()(db.selectFrom('project as p'), {
  name: 'PROJECT',
  alias: 'p',
  columns: ['id', 'name', 'icon', 'color', 'createdAt', 'updatedAt'],
  reach: inActingOrganization,
  filter: ({ containing, between }) => ({
    name: containing('name'),
    search: containing('name'),
    ...between('created', 'createdAt'),
  }),
  orders: {
    NAME: { name: 'text' },
    CREATED_AT: { createdAt: 'timestamptz' },
    UPDATED_AT: { updatedAt: 'timestamptz' },
  },
});

/** The projects with these ids in the acting organization, by id. */
export function projectsOf(context: OperationContext): LoadBatch<ProjectId, ProjectRow> {
  return async (ids) => new Map((await PROJECTS.find(context, ids)).map((row) => [row.id, row]));
}
