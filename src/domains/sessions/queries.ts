import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import { type LoadBatch, groupBy } from '../../core/batches.ts';
import { type NewAuditEntry, auditInsert, auditValues } from '../../core/audit.ts';
import { type Ordering, type Page, type PageArguments, planPage } from '../../core/keyset.ts';
import type { OperationContext } from '../../core/operation.ts';
import {
  type Readable,
  type RowOf,
  columns,
  listOf,
  preparedByShape,
  queriesOn,
  snake,
} from '../../core/postgres/queries.ts';
import { within } from '../../core/postgres/reach.ts';
import { type Columns, withColumns } from '../../core/selection.ts';
import {
  ARTIFACT_COLUMNS,
  type Artifact,
  PULL_REQUEST_COLUMNS,
  type PullRequest,
  SESSION_COLUMNS,
  type SessionTables,
} from './entity.ts';
import type { SessionFilter } from './input.ts';
import { type Caller, callerOf, changeableBy, readableBy } from './policy.ts';

const db = queriesOn<SessionTables>();
type Tables = Readable<SessionTables>;

/** Rows have the columns that were asked for; without a selection they have all. */
export type SessionRow = RowOf<Tables['session']>;
export type ArtifactRow = RowOf<Tables['artifact']>;
export type PullRequestRow = RowOf<Tables['pull_request']>;
export type ProjectRow = Pick<RowOf<Tables['project']>, 'id' | 'name' | 'icon' | 'color'>;

const sessionColumns = (asked: Columns<SessionRow>, ...always: (keyof SessionRow)[]) =>
  withColumns<SessionRow>(asked, SESSION_COLUMNS, 'id', ...always);

const sessionsById = preparedByShape<{ ids: readonly string[]; organizationId: string; userId: string }>();

/** Those of the ids that the caller may read, in no particular order. */
export async function findSessions(
  { actor, sql: reader }: OperationContext,
  ids: readonly string[],
  asked?: Columns<SessionRow>,
): Promise<SessionRow[]> {
  const { organizationId, userId, role } = callerOf(actor);
  const names = sessionColumns(asked);
  return reader.all(
    sessionsById([role, ...names].join(), { ids, organizationId, userId }, (value) =>
      db
        .selectFrom('session as s')
        .select(columns('s', names))
        .where('s.id', '=', sql<string>`any(${value('ids')}::uuid[])`)
        .where(within(readableBy({ organizationId: value('organizationId'), userId: value('userId'), role }), 's')),
    ),
  );
}

export type SessionOrderField = 'CREATED_AT' | 'UPDATED_AT' | 'LAST_SEEN_AT';

/** The property and the column that each order sorts by. */
const ORDERED_BY = {
  CREATED_AT: 'createdAt',
  UPDATED_AT: 'updatedAt',
  LAST_SEEN_AT: 'lastSeenAt',
} as const satisfies Record<SessionOrderField, keyof SessionRow>;

export interface SessionOrder {
  readonly field: SessionOrderField;
  readonly direction: 'ASC' | 'DESC';
}

export interface SessionList {
  readonly filter: SessionFilter;
  readonly order: SessionOrder;
  readonly page: PageArguments;
  readonly columns?: Columns<SessionRow>;
}

const LISTS = ['state', 'sessionType', 'mode', 'visibility', 'projectId'] as const;

function sessionsOf<Row>(
  query: SelectQueryBuilder<Tables & { s: Tables['session'] }, 's', Row>,
  caller: Caller,
  filter: SessionFilter,
): typeof query {
  let found = query.where(within(readableBy(caller), 's'));
  for (const name of LISTS) {
    const wanted: readonly string[] | null | undefined = filter[name];
    if (wanted) found = found.where(sql.ref(`s.${snake(name)}`), '=', sql`any(${wanted}::text[])`);
  }
  if (filter.isPinned != null) found = found.where('s.is_pinned', '=', filter.isPinned);
  // Unlike LIKE, strpos knows no wildcards.
  if (filter.title) found = found.where(sql`strpos(lower(s.title), lower(${filter.title}))`, '>', 0);
  return found;
}

/** Sessions that the caller may read. */
export async function pageOfSessions(
  { actor, sql: reader }: OperationContext,
  { filter, order, page, columns: asked }: SessionList,
): Promise<Page<SessionRow>> {
  const property = ORDERED_BY[order.field];
  const ordering: Ordering<SessionRow> = {
    name: `SESSION_${order.field}`,
    columns: [
      { sql: `s.${snake(property)}`, type: 'timestamptz', of: (row) => row[property] },
      { sql: 's.id', type: 'uuid', of: ({ id }) => id },
    ],
    direction: order.direction,
  };
  const plan = planPage(ordering, page);
  const query = db.selectFrom('session as s').select(columns('s', sessionColumns(asked, property)));
  return plan.toPage(await reader.all(plan.apply(sessionsOf(query, callerOf(actor), filter))));
}

export async function countSessions({ actor, sql: reader }: OperationContext, filter: SessionFilter): Promise<number> {
  const query = db.selectFrom('session as s').select(({ fn }) => fn.countAll<number>().as('count'));
  return (await reader.first(sessionsOf(query, callerOf(actor), filter)))?.count ?? 0;
}

/** The head of a session's stream of events, where the caller may read the session. */
export async function findStreamHead({ actor, sql: reader }: OperationContext, sessionId: string) {
  return reader.first(
    db
      .selectFrom('session as s')
      .innerJoin('session_stream as h', 'h.session_id', 's.id')
      .select(['s.state', 'h.last_id as lastId'])
      .where('s.id', '=', sessionId)
      .where(within(readableBy(callerOf(actor)), 's')),
  );
}

/** What stands for the present state of each session and its stream: two states differ in it. */
export async function readSessionVersions(
  { sql: reader }: Pick<OperationContext, 'sql'>,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const rows = await reader.all(
    db
      .selectFrom('session as s')
      .innerJoin('session_stream as h', 'h.session_id', 's.id')
      .select(['s.id', sql<string>`concat_ws(' ', s.state, s.visibility, s.creator_id, h.last_id)`.as('version')])
      .where('s.id', '=', sql<string>`any(${listOf('uuid', ids)})`),
  );
  return new Map(rows.map(({ id, version }) => [id, version]));
}

/** The projects with these ids in the organization that the caller acts in. */
export function projectsOf({ actor, sql: reader }: OperationContext): LoadBatch<string, ProjectRow> {
  return async (ids) => {
    const rows = await reader.all(
      db
        .selectFrom('project as p')
        .select(['p.id', 'p.name', 'p.icon', 'p.color'])
        .where('p.organization_id', '=', callerOf(actor).organizationId)
        .where('p.id', '=', sql<string>`any(${listOf('uuid', ids)})`),
    );
    return new Map(rows.map((row) => [row.id, row]));
  };
}

const artifactsBySession = preparedByShape<{ ids: readonly string[] }>();

/** The artifacts of sessions that the caller has reached, by session, in order of creation. */
export function artifactsOf(
  { sql: reader }: OperationContext,
  asked?: Columns<ArtifactRow>,
): LoadBatch<string, ArtifactRow[]> {
  const names = withColumns<ArtifactRow>(asked, ARTIFACT_COLUMNS, 'id', 'sessionId');
  return async (ids) => {
    const rows = await reader.all(
      artifactsBySession(names.join(), { ids }, (value) =>
        db
          .selectFrom('artifact as a')
          .select(columns('a', names))
          .where('a.session_id', '=', sql<string>`any(${value('ids')}::uuid[])`)
          .orderBy('a.session_id')
          .orderBy('a.created_at')
          .orderBy('a.id'),
      ),
    );
    return groupBy(rows, ({ sessionId }) => sessionId);
  };
}

const pullRequestsByArtifact = preparedByShape<{ ids: readonly string[] }>();

/** Likewise the pull requests of artifacts, by artifact. */
export function pullRequestsOf(
  { sql: reader }: OperationContext,
  asked?: Columns<PullRequestRow>,
): LoadBatch<string, PullRequestRow[]> {
  const names = withColumns<PullRequestRow>(asked, PULL_REQUEST_COLUMNS, 'id', 'artifactId');
  return async (ids) => {
    const rows = await reader.all(
      pullRequestsByArtifact(names.join(), { ids }, (value) =>
        db
          .selectFrom('pull_request as r')
          .select(columns('r', names))
          .where('r.artifact_id', '=', sql<string>`any(${value('ids')}::uuid[])`)
          .orderBy('r.artifact_id')
          .orderBy('r.created_at')
          .orderBy('r.id'),
      ),
    );
    return groupBy(rows, ({ artifactId }) => artifactId);
  };
}

/** What is written over a session, by property. Values of `jsonb` columns are JSON text. */
export type SessionChanges = Readonly<Partial<Record<keyof SessionRow, unknown>>>;

const updates = preparedByShape<Readonly<Record<string, unknown>>>();

/**
 * Changes a session that the caller may change, and records it in the audit log, in one statement. Undefined when there is no such session.
 * Of `agentOptions`, and of `goal` in them, what is not given stays as it is.
 */
export async function updateSessionRow(
  { actor, sql: reader }: OperationContext,
  sessionId: string,
  changes: SessionChanges,
  { entry, columns: asked }: { entry: NewAuditEntry; columns?: Columns<SessionRow> },
): Promise<SessionRow | undefined> {
  const { organizationId, userId, role } = callerOf(actor);
  const names = sessionColumns(asked);
  const given = Object.keys(changes);
  const isMerged = changes.agentOptions != null;
  const values = { ...changes, ...auditValues(entry), sessionId, organizationId, userId };
  const statement = updates([role, isMerged, ...given, '', ...names].join(), values, (value) => {
    const written = given.map((name): [string, RawBuilder<never>] => {
      const place = value(name);
      return [snake(name), sql<never>`${name === 'agentOptions' && isMerged ? mergedOptions(place) : place}`];
    });
    const reach = changeableBy({ organizationId: value('organizationId'), userId: value('userId'), role });
    return db
      .with('changed', (query) =>
        query
          .updateTable('session as s')
          .set(Object.fromEntries(written))
          .where('s.id', '=', sql<string>`${value('sessionId')}`)
          .where(within(reach, 's'))
          .returning(columns('s', names)),
      )
      .with('recorded', () => auditInsert(value, 'changed'))
      .selectFrom('changed')
      .selectAll();
  });
  return reader.first(statement);
}

/** What is given over what is there; where one of the two goals is not there, the other one stays as it is. */
function mergedOptions(given: RawBuilder<unknown>): RawBuilder<unknown> {
  const goal = sql`jsonb_build_object('goal', (s.agent_options -> 'goal') || (${given}::jsonb -> 'goal'))`;
  return sql`coalesce(s.agent_options, '{}') || ${given}::jsonb || jsonb_strip_nulls(${goal})`;
}

/** An artifact that was just written, as it will be read. */
export function artifactRow({ id, organization, session, type, createdAt, updatedAt }: Artifact): ArtifactRow {
  return {
    id,
    organizationId: organization.id,
    sessionId: session.id,
    type,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}

/** Likewise a pull request. */
export function pullRequestRow({
  organization,
  artifact,
  createdAt,
  updatedAt,
  ...fields
}: PullRequest): PullRequestRow {
  return {
    ...fields,
    organizationId: organization.id,
    artifactId: artifact.id,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}
