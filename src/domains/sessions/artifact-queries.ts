import { type Expression, type SqlBool, expressionBuilder, sql } from 'kysely';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import { groupBy } from '../../core/group-by.ts';
import type { ArtifactId, OrganizationId, PullRequestId, SessionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type Order, type Page, type PageArguments, orderingBy, planPage } from '../../core/postgres/reading/keyset.ts';
import {
  type Readable,
  type RowOf,
  anyOf,
  columns,
  listOf,
  prepared,
  queriesOn,
  snake,
} from '../../core/postgres/reading/queries.ts';
import { completeParents, pagesOf } from '../../core/postgres/reading/pages.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import { type Columns, withColumns } from '../../core/postgres/reading/columns.ts';
import {
  ARTIFACT_COLUMNS,
  type Artifact,
  PULL_REQUEST_COLUMNS,
  type PullRequest,
  type SessionTables,
} from './entity.ts';
import type { ArtifactFilter, PullRequestFilter } from './input.ts';
import { requireOrganization } from '../../core/access.ts';
import { callerOf, readableBy } from './policy.ts';

const db = queriesOn<SessionTables>();
type Tables = Readable<SessionTables>;

/** A row has the selected columns only; without a selection it has all columns. */
export type ArtifactRow = RowOf<Tables['artifact']>;
export type PullRequestRow = RowOf<Tables['pull_request']>;

type Ids<Id> = { readonly ids: readonly Id[] };

export type ArtifactOrderField = 'CREATED_AT' | 'UPDATED_AT';
export type PullRequestOrderField = 'CREATED_AT' | 'UPDATED_AT';

const MOMENTS = {
  CREATED_AT: { property: 'createdAt', type: 'timestamptz' },
  UPDATED_AT: { property: 'updatedAt', type: 'timestamptz' },
} as const;
/** The order of recording. */
const RECORDED = { field: 'CREATED_AT', direction: 'ASC' } as const;
const ARTIFACTS_BY = { name: 'ARTIFACT', prefix: 'a.', columns: MOMENTS } as const;
const PULL_REQUESTS_BY = { name: 'PULL_REQUEST', prefix: 'r.', columns: MOMENTS } as const;

interface List<Filter, Field extends string, Row> {
  readonly filter: Filter;
  readonly order: Order<Field>;
  readonly page: PageArguments;
  readonly columns: Columns<Row>;
}

const ofArtifacts = expressionBuilder<Tables & { a: Tables['artifact'] }, 'a'>();
const ofPullRequests = expressionBuilder<Tables & { r: Tables['pull_request'] }, 'r'>();

/** The conditions of a filter, for `artifact as a`. */
function artifactFits({ types, createdFrom, createdBefore }: ArtifactFilter): Expression<SqlBool> {
  return ofArtifacts.and([
    ...(types == null ? [] : [ofArtifacts('a.type', '=', anyOf('text', types))]),
    ...(createdFrom == null ? [] : [ofArtifacts('a.created_at', '>=', createdFrom)]),
    ...(createdBefore == null ? [] : [ofArtifacts('a.created_at', '<', createdBefore)]),
  ]);
}

/** The conditions of a filter, for `pull_request as r`. */
function pullRequestFits({ statuses, isDraft, createdFrom, createdBefore }: PullRequestFilter): Expression<SqlBool> {
  return ofPullRequests.and([
    ...(statuses == null ? [] : [ofPullRequests('r.status', '=', anyOf('text', statuses))]),
    ...(isDraft == null ? [] : [ofPullRequests('r.is_draft', '=', isDraft)]),
    ...(createdFrom == null ? [] : [ofPullRequests('r.created_at', '>=', createdFrom)]),
    ...(createdBefore == null ? [] : [ofPullRequests('r.created_at', '<', createdBefore)]),
  ]);
}

/** The artifacts of sessions that the caller can read. */
function readableArtifacts({ actor }: OperationContext) {
  return db
    .selectFrom('artifact as a')
    .innerJoin('session as s', (join) =>
      join.onRef('s.id', '=', 'a.session_id').onRef('s.organization_id', '=', 'a.organization_id'),
    )
    .where(within(readableBy(callerOf(actor)), 's'));
}

/** The pull requests of sessions that the caller can read. */
function pullRequestsWithin(context: OperationContext, filter: PullRequestFilter) {
  return readableArtifacts(context)
    .innerJoin('pull_request as r', (join) =>
      join.onRef('r.artifact_id', '=', 'a.id').onRef('r.organization_id', '=', 'a.organization_id'),
    )
    .where(pullRequestFits(filter));
}

/** A page of the artifacts of each session. */
export function pagesOfArtifacts(
  context: OperationContext,
  { filter, order, page, columns: asked }: List<ArtifactFilter, ArtifactOrderField, ArtifactRow>,
): LoadBatch<SessionId, Page<ArtifactRow>> {
  const ordering = orderingBy<ArtifactRow, ArtifactOrderField>(ARTIFACTS_BY, order);
  const plan = planPage(ordering, page);
  const names = withColumns<ArtifactRow>(asked, ARTIFACT_COLUMNS, 'id', ordering.property);
  return (sessionIds) =>
    pagesOf(context.sql, plan, sessionIds, {
      parents: (ids) =>
        db
          .selectFrom('session as s')
          .select('s.id')
          .where('s.id', '=', anyOf('uuid', ids))
          .where(within(readableBy(callerOf(context.actor)), 's')),
      rows: (sessionId) =>
        db
          .selectFrom('artifact as a')
          .select(columns('a', names))
          .where('a.session_id', '=', sessionId)
          .where('a.organization_id', '=', requireOrganization(context.actor).id)
          .where(artifactFits(filter)),
    });
}

/** The number of artifacts of each session. */
export function countsOfArtifacts(context: OperationContext, filter: ArtifactFilter): LoadBatch<SessionId, number> {
  return async (sessionIds) => {
    const rows = await context.sql.all(
      readableArtifacts(context)
        .where(artifactFits(filter))
        .select(['a.session_id as id', ({ fn }) => fn.countAll<number>().as('count')])
        .where('a.session_id', '=', anyOf('uuid', sessionIds))
        .groupBy('a.session_id'),
    );
    return new Map(rows.map(({ id, count }) => [id, count]));
  };
}

/** A page of the pull requests of each artifact. */
export function pagesOfPullRequests(
  context: OperationContext,
  { filter, order, page, columns: asked }: List<PullRequestFilter, PullRequestOrderField, PullRequestRow>,
): LoadBatch<ArtifactId, Page<PullRequestRow>> {
  const ordering = orderingBy<PullRequestRow, PullRequestOrderField>(PULL_REQUESTS_BY, order);
  const plan = planPage(ordering, page);
  const names = withColumns<PullRequestRow>(asked, PULL_REQUEST_COLUMNS, 'id', ordering.property);
  return (artifactIds) =>
    pagesOf(context.sql, plan, artifactIds, {
      parents: (ids) => readableArtifacts(context).select('a.id').where('a.id', '=', anyOf('uuid', ids)),
      rows: (artifactId) =>
        db
          .selectFrom('pull_request as r')
          .select(columns('r', names))
          .where('r.artifact_id', '=', artifactId)
          .where('r.organization_id', '=', requireOrganization(context.actor).id)
          .where(pullRequestFits(filter)),
    });
}

/** The number of pull requests of each artifact. */
export function countsOfPullRequests(
  context: OperationContext,
  filter: PullRequestFilter,
): LoadBatch<ArtifactId, number> {
  return async (artifactIds) => {
    const rows = await context.sql.all(
      pullRequestsWithin(context, filter)
        .select(['r.artifact_id as id', ({ fn }) => fn.countAll<number>().as('count')])
        .where('r.artifact_id', '=', anyOf('uuid', artifactIds))
        .groupBy('r.artifact_id'),
    );
    return new Map(rows.map(({ id, count }) => [id, count]));
  };
}

/** Names the columns of an artifact in a row of its pull request. */
const ofArtifact = (name: string) => `artifact ${name}`;

type ArtifactWithPullRequests = ArtifactRow & { readonly pullRequests: readonly PullRequestRow[] };

/** An artifact of a session document, in which only the first diffs are complete. */
export type ArtifactInSession = ArtifactRow & { readonly pullRequests: readonly PullRequestInSession[] };
export type PullRequestInSession = Omit<PullRequestRow, 'diff'> & {
  readonly diff: Omit<PullRequestRow['diff'], 'data'> & { readonly data: string | null };
};

/** The diffs in the document of a session have at most so many bytes as JSON. */
export const MAX_DIFF_BYTES = 1024 * 1024;

const artifactsInSessions = prepared<Ids<SessionId> & { readonly organizationId: OrganizationId }>()((value) => {
  const artifacts = db
    .selectFrom('artifact')
    .selectAll()
    .select(sql`array_position(${value('ids')}::uuid[], session_id)`.as('place'))
    .where('session_id', '=', anyOf('uuid', value('ids')))
    .where('organization_id', '=', sql<OrganizationId>`${value('organizationId')}::uuid`);
  // One order for the running sum and for the rows, so that they are sorted once, before the diffs are read.
  const bytes = sql<number>`sum(octet_length((r.diff -> 'data')::text)) over (partition by a.place order by a.created_at, a.id, r.created_at, r.id)`;
  return db
    .selectFrom(artifacts.as('a'))
    .leftJoin('pull_request as r', (join) =>
      join.onRef('r.artifact_id', '=', 'a.id').onRef('r.organization_id', '=', 'a.organization_id'),
    )
    .select(ARTIFACT_COLUMNS.map((name) => sql.ref(`a.${snake(name)}`).as(ofArtifact(name))))
    .select(columns('r', ALL_BUT_DIFF))
    .select(
      sql`case when ${bytes} <= ${sql.lit(MAX_DIFF_BYTES)} then r.diff else r.diff || '{"data": null}' end`.as('diff'),
    )
    .orderBy('a.place')
    .orderBy('a.created_at')
    .orderBy('a.id')
    .orderBy('r.created_at')
    .orderBy('r.id')
    .$castTo<JoinedRow>();
});
const ALL_BUT_DIFF = PULL_REQUEST_COLUMNS.filter((name) => name !== 'diff');

/**
 * The artifacts of the documents of sessions, by session id, and the number of sessions, from the first, of which they
 * were read completely: reading ends at the maximum size of a page.
 */
export async function readArtifactsInSessions(
  { actor, sql: reader }: OperationContext,
  ids: readonly SessionId[],
): Promise<{ readonly artifacts: ReadonlyMap<SessionId, readonly ArtifactInSession[]>; readonly complete: number }> {
  const sessionColumn = ofArtifact('sessionId');
  const read = await reader.page(artifactsInSessions({ ids, organizationId: callerOf(actor).organizationId }), {
    isJson: true,
  });
  return {
    artifacts: groupBy(artifactsIn(read.rows, ARTIFACT_COLUMNS), ({ sessionId }) => sessionId),
    complete: completeParents<unknown, JoinedRow>(ids, read, (row) => row[sessionColumn]),
  };
}

type JoinedRow = Readonly<Record<string, unknown>>;

/** The artifacts of joined rows, which follow each other for each artifact. A row with its further columns is the pull request. */
function artifactsIn(rows: readonly JoinedRow[], names: readonly (keyof ArtifactRow)[]): ArtifactWithPullRequests[] {
  const artifacts: ArtifactWithPullRequests[] = [];
  const selected = names.map((name) => ({ name, column: ofArtifact(name) }));
  const idColumn = ofArtifact('id');
  let pullRequests: JoinedRow[] = [];
  let last: unknown;
  for (const row of rows) {
    const id = row[idColumn];
    if (id !== last) {
      pullRequests = [];
      const artifact: Record<string, unknown> = { pullRequests };
      for (const { name, column } of selected) artifact[name] = row[column];
      // It has the requested columns.
      artifacts.push(artifact as unknown as ArtifactWithPullRequests);
      last = id;
    }
    if (row['id'] !== null) pullRequests.push(row);
  }
  return artifacts;
}

/** The artifacts with these ids whose sessions the caller can read, in any order. */
export function findArtifacts(
  context: OperationContext,
  ids: readonly ArtifactId[],
  asked?: Columns<ArtifactRow>,
): Promise<ArtifactRow[]> {
  return context.sql.all(
    readableArtifacts(context)
      .select(columns('a', withColumns<ArtifactRow>(asked, ARTIFACT_COLUMNS, 'id')))
      .where('a.id', '=', anyOf('uuid', ids)),
  );
}

/** The pull requests with these ids whose sessions the caller can read, in any order. */
export function findPullRequests(
  context: OperationContext,
  ids: readonly PullRequestId[],
  asked?: Columns<PullRequestRow>,
): Promise<PullRequestRow[]> {
  return context.sql.all(
    pullRequestsWithin(context, {})
      .select(columns('r', withColumns<PullRequestRow>(asked, PULL_REQUEST_COLUMNS, 'id')))
      .where('r.id', '=', anyOf('uuid', ids)),
  );
}

/** The repositories with these ids, as the pull request that changed last of those that the caller can read describes each. */
export async function findCodeRepositories(
  context: OperationContext,
  ids: readonly string[],
): Promise<PullRequestRow['codeRepository'][]> {
  const { organizationId } = callerOf(context.actor);
  const wanted = sql<{ id: string }>`unnest(${listOf('text', ids)})`;
  const latest = pullRequestsWithin(context, {})
    .select('r.code_repository as codeRepository')
    .where('r.organization_id', '=', organizationId)
    .where(sql<SqlBool>`lower(r.code_repository ->> 'id') = k.id`)
    .orderBy('r.updated_at', 'desc')
    .limit(1);
  const rows = await context.sql.all(
    db
      .selectFrom(wanted.as<'k'>(sql`k(id)`))
      .innerJoinLateral(latest.as('found'), (join) => join.onTrue())
      .select('found.codeRepository'),
  );
  return rows.map(({ codeRepository }) => codeRepository);
}

/** A page of the pull requests of a session, if the caller can read it. */
export async function pageOfPullRequests(
  context: OperationContext,
  sessionId: SessionId,
  page: PageArguments,
): Promise<Page<PullRequestRow>> {
  const ordering = orderingBy<PullRequestRow, PullRequestOrderField>(PULL_REQUESTS_BY, RECORDED);
  const plan = planPage(ordering, page);
  const pullRequests = pullRequestsWithin(context, {})
    .select(columns('r', PULL_REQUEST_COLUMNS))
    .where('s.id', '=', sessionId);
  return plan.toPage(await context.sql.page(plan.apply(pullRequests), { isJson: true }));
}

/** The row of an artifact that was just written. */
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

/** The row of a pull request that was just written. */
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
