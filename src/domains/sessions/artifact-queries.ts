import { sql } from 'kysely';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import { groupBy } from '../../core/group-by.ts';
import type { ArtifactId, PullRequestId, SessionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type Ordering, type Page, type PageArguments, planPage } from '../../core/postgres/reading/keyset.ts';
import {
  type Readable,
  type RowOf,
  anyOf,
  columns,
  prepared,
  preparedByShape,
  queriesOn,
  snake,
} from '../../core/postgres/reading/queries.ts';
import { completeParents } from '../../core/postgres/reading/pages.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import { type Columns, withColumns } from '../../core/postgres/reading/columns.ts';
import {
  ARTIFACT_COLUMNS,
  type Artifact,
  PULL_REQUEST_COLUMNS,
  type PullRequest,
  type SessionTables,
} from './entity.ts';
import { callerOf, readableBy } from './policy.ts';

const db = queriesOn<SessionTables>();
type Tables = Readable<SessionTables>;

/** A row has the selected columns only; without a selection it has all columns. */
export type ArtifactRow = RowOf<Tables['artifact']>;
export type PullRequestRow = RowOf<Tables['pull_request']>;

type Ids<Id> = { readonly ids: readonly Id[] };
type ArtifactNames = readonly (keyof ArtifactRow)[];
type PullRequestNames = readonly (keyof PullRequestRow)[];

const artifactsBySession = preparedByShape<Ids<SessionId>, { readonly names: ArtifactNames }>()((value, { names }) =>
  db
    .selectFrom('artifact as a')
    .select(columns('a', names))
    .where('a.session_id', '=', anyOf('uuid', value('ids')))
    .orderBy('a.session_id')
    .orderBy('a.created_at')
    .orderBy('a.id'),
);

/** The artifacts of sessions by session id, in order of creation. The caller has checked that the sessions can be read. */
export function artifactsOf(
  { sql: reader }: OperationContext,
  asked?: Columns<ArtifactRow>,
): LoadBatch<SessionId, ArtifactRow[]> {
  return async (ids) => {
    const names = withColumns<ArtifactRow>(asked, ARTIFACT_COLUMNS, 'id', 'sessionId');
    const rows = await reader.all(artifactsBySession({ names }, { ids }));
    return groupBy(rows, ({ sessionId }) => sessionId);
  };
}

export type ArtifactWithPullRequests = ArtifactRow & { readonly pullRequests: readonly PullRequestRow[] };

/** The pull requests that were read together with an artifact. */
export function pullRequestsWith(
  artifact: ArtifactRow & Partial<ArtifactWithPullRequests>,
): readonly PullRequestRow[] | undefined {
  return artifact.pullRequests;
}

/** Names the columns of an artifact in a row of its pull request. */
const ofArtifact = (name: string) => `artifact ${name}`;

const artifactsWithPullRequests = preparedByShape<
  Ids<SessionId>,
  { readonly names: ArtifactNames; readonly pullRequestNames: PullRequestNames }
>()((value, { names, pullRequestNames }) =>
  db
    .selectFrom('artifact as a')
    .leftJoin('pull_request as r', 'r.artifact_id', 'a.id')
    .select(names.map((name) => sql.ref(`a.${snake(name)}`).as(ofArtifact(name))))
    .select(columns('r', pullRequestNames))
    .where('a.session_id', '=', anyOf('uuid', value('ids')))
    .orderBy('a.session_id')
    .orderBy('a.created_at')
    .orderBy('a.id')
    .orderBy('r.created_at')
    .orderBy('r.id'),
);

/** The artifacts of sessions with their pull requests, both in order of creation, in one statement, which is cheaper than two. */
export function artifactsWithPullRequestsOf(
  { sql: reader }: OperationContext,
  { asked, askedOfPullRequests }: { asked?: Columns<ArtifactRow>; askedOfPullRequests?: Columns<PullRequestRow> } = {},
): LoadBatch<SessionId, ArtifactWithPullRequests[]> {
  return async (ids) => {
    const names = withColumns<ArtifactRow>(asked, ARTIFACT_COLUMNS, 'id', 'sessionId');
    const pullRequestNames = withColumns<PullRequestRow>(askedOfPullRequests, PULL_REQUEST_COLUMNS, 'id');
    const rows = await reader.all(artifactsWithPullRequests({ names, pullRequestNames }, { ids }));
    return groupBy(artifactsIn(rows, names), ({ sessionId }) => sessionId);
  };
}

/** An artifact of a session document, in which only the first diffs are complete. */
export type ArtifactInSession = ArtifactRow & { readonly pullRequests: readonly PullRequestInSession[] };
export type PullRequestInSession = Omit<PullRequestRow, 'diff'> & {
  readonly diff: Omit<PullRequestRow['diff'], 'data'> & { readonly data: string | null };
};

/** The diffs in the document of a session have at most so many bytes as JSON. */
export const MAX_DIFF_BYTES = 1024 * 1024;

const artifactsInSessions = prepared<Ids<SessionId>>()((value) => {
  const artifacts = db
    .selectFrom('artifact')
    .selectAll()
    .select(sql`array_position(${value('ids')}::uuid[], session_id)`.as('place'))
    .where('session_id', '=', anyOf('uuid', value('ids')));
  // One order for the running sum and for the rows, so that they are sorted once, before the diffs are read.
  const bytes = sql<number>`sum(octet_length((r.diff -> 'data')::text)) over (partition by a.place order by a.created_at, a.id, r.created_at, r.id)`;
  return db
    .selectFrom(artifacts.as('a'))
    .leftJoin('pull_request as r', 'r.artifact_id', 'a.id')
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
  { sql: reader }: OperationContext,
  ids: readonly SessionId[],
): Promise<{ readonly artifacts: ReadonlyMap<SessionId, readonly ArtifactInSession[]>; readonly complete: number }> {
  const sessionColumn = ofArtifact('sessionId');
  const read = await reader.page(artifactsInSessions({ ids }), { isJson: true });
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

const pullRequestsByArtifact = preparedByShape<Ids<ArtifactId>, { readonly names: PullRequestNames }>()(
  (value, { names }) =>
    db
      .selectFrom('pull_request as r')
      .select(columns('r', names))
      .where('r.artifact_id', '=', anyOf('uuid', value('ids')))
      .orderBy('r.artifact_id')
      .orderBy('r.created_at')
      .orderBy('r.id'),
);

/** The pull requests of artifacts by artifact id, in order of creation. The caller has checked that the artifacts can be read. */
export function pullRequestsOf(
  { sql: reader }: OperationContext,
  asked?: Columns<PullRequestRow>,
): LoadBatch<ArtifactId, PullRequestRow[]> {
  return async (ids) => {
    const names = withColumns<PullRequestRow>(asked, PULL_REQUEST_COLUMNS, 'id', 'artifactId');
    const rows = await reader.all(pullRequestsByArtifact({ names }, { ids }));
    return groupBy(rows, ({ artifactId }) => artifactId);
  };
}

/** The artifacts with these ids whose sessions the caller can read, in any order. */
export function findArtifacts(
  { actor, sql: reader }: OperationContext,
  ids: readonly ArtifactId[],
  asked?: Columns<ArtifactRow>,
): Promise<ArtifactRow[]> {
  return reader.all(
    db
      .selectFrom('artifact as a')
      .innerJoin('session as s', 's.id', 'a.session_id')
      .select(columns('a', withColumns<ArtifactRow>(asked, ARTIFACT_COLUMNS, 'id')))
      .where('a.id', '=', anyOf('uuid', ids))
      .where(within(readableBy(callerOf(actor)), 's')),
  );
}

/** The pull requests with these ids whose sessions the caller can read, in any order. */
export function findPullRequests(
  { actor, sql: reader }: OperationContext,
  ids: readonly PullRequestId[],
  asked?: Columns<PullRequestRow>,
): Promise<PullRequestRow[]> {
  return reader.all(
    db
      .selectFrom('pull_request as r')
      .innerJoin('artifact as a', 'a.id', 'r.artifact_id')
      .innerJoin('session as s', 's.id', 'a.session_id')
      .select(columns('r', withColumns<PullRequestRow>(asked, PULL_REQUEST_COLUMNS, 'id')))
      .where('r.id', '=', anyOf('uuid', ids))
      .where(within(readableBy(callerOf(actor)), 's')),
  );
}

const BY_RECORDING: Ordering<PullRequestRow> = {
  name: 'PULL_REQUEST',
  direction: 'ASC',
  columns: [
    { sql: 'r.created_at', type: 'timestamptz', of: ({ createdAt }) => createdAt },
    { sql: 'r.id', type: 'uuid', of: ({ id }) => id },
  ],
};

/** A page of the pull requests of a session, if the caller can read it. */
export async function pageOfPullRequests(
  { actor, sql: reader }: OperationContext,
  sessionId: SessionId,
  page: PageArguments,
): Promise<Page<PullRequestRow>> {
  const plan = planPage(BY_RECORDING, page);
  const pullRequests = db
    .selectFrom('pull_request as r')
    .innerJoin('artifact as a', 'a.id', 'r.artifact_id')
    .innerJoin('session as s', 's.id', 'a.session_id')
    .select(columns('r', PULL_REQUEST_COLUMNS))
    .where('s.id', '=', sessionId)
    .where(within(readableBy(callerOf(actor)), 's'));
  return plan.toPage(await reader.page(plan.apply(pullRequests), { isJson: true }));
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
