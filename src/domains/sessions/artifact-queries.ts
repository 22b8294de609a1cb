import { type SqlBool, sql } from 'kysely';
import { groupBy } from '../../core/arrays.ts';
import type { OrganizationId, SessionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import type { Value } from '../../core/postgres/reading/conditions.ts';
import { defineList, tablesOf } from '../../core/postgres/reading/lists.ts';
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
import { within } from '../../core/postgres/reading/reach.ts';
import { completeParents } from '../../core/postgres/reading/pages.ts';
import {
  ARTIFACT_COLUMNS,
  type Artifact,
  PULL_REQUEST_COLUMNS,
  type PullRequest,
  type SessionTables,
} from './entity.ts';
import type { ArtifactFilter, PullRequestFilter } from './input.ts';
import { callerOf, readableBy } from './policy.ts';
import { foreignSession } from './private-reads.ts';

const db = queriesOn<SessionTables>();
type Tables = Readable<SessionTables>;

/** A row has the selected columns only; without a selection it has all columns. */
export type ArtifactRow = RowOf<Tables['artifact']>;
export type PullRequestRow = RowOf<Tables['pull_request']>;

type Ids<Id> = { readonly ids: readonly Id[] };

export type ArtifactOrderField = 'CREATED_AT' | 'UPDATED_AT';
export type PullRequestOrderField = 'CREATED_AT' | 'UPDATED_AT';

const ORDERS = { CREATED_AT: { createdAt: 'timestamptz' }, UPDATED_AT: { updatedAt: 'timestamptz' } } as const;

const ofSessions = db
  .selectFrom('artifact as a')
  .innerJoin('session as s', (join) =>
    join.onRef('s.id', '=', 'a.session_id').onRef('s.organization_id', '=', 'a.organization_id'),
  );

/** The artifacts of sessions that the caller can read. */
export const ARTIFACTS = defineList<ArtifactRow, ArtifactFilter, ArtifactOrderField>()(ofSessions, {
  name: 'ARTIFACT',
  alias: 'a',
  columns: ARTIFACT_COLUMNS,
  below: {
    parent: 'sessionId',
    own: tablesOf(db.selectFrom('artifact as a')),
    parents: tablesOf(db.selectFrom('session as s')),
    parentId: 's.id',
  },
  reach: ({ actor }) => readableBy(callerOf(actor)),
  reachAlias: 's',
  filter: ({ oneOf, between }) => ({ types: oneOf('type'), ...between('created', 'createdAt') }),
  orders: ORDERS,
});

const ofArtifacts = ofSessions.innerJoin('pull_request as r', (join) =>
  join.onRef('r.artifact_id', '=', 'a.id').onRef('r.organization_id', '=', 'a.organization_id'),
);

const ofCaller = (value: Value) => foreignSession(value('callerId'));

/** The pull requests of sessions that the caller can read. */
export const PULL_REQUESTS = defineList<
  PullRequestRow & { readonly foreignSessionId?: SessionId | null },
  PullRequestFilter & { readonly sessionId?: SessionId },
  PullRequestOrderField
>()(ofArtifacts, {
  name: 'PULL_REQUEST',
  alias: 'r',
  columns: PULL_REQUEST_COLUMNS,
  below: {
    parent: 'artifactId',
    own: tablesOf(db.selectFrom('pull_request as r')),
    parents: tablesOf(ofSessions),
    parentId: 'a.id',
    mark: ofCaller,
  },
  expressions: { foreignSessionId: ofCaller },
  reach: ({ actor }) => readableBy(callerOf(actor)),
  reachAlias: 's',
  values: ({ actor }) => ({ callerId: actor.userId }),
  filter: ({ is, oneOf, between }) => ({
    sessionId: (sessionId) => sql`s.id = ${sessionId}`,
    statuses: oneOf('status'),
    isDraft: is('isDraft'),
    ...between('created', 'createdAt'),
  }),
  orders: ORDERS,
  // The order of recording.
  otherwise: { field: 'CREATED_AT', direction: 'ASC' },
});

/** The same below the repository that each names, whose id is free text of a JSON object. */
export const PULL_REQUESTS_OF_REPOSITORY = defineList<
  PullRequestRow & { readonly repositoryId?: string; readonly foreignSessionId?: SessionId | null },
  PullRequestFilter,
  PullRequestOrderField
>()(ofArtifacts, {
  name: 'REPOSITORY_PULL_REQUEST',
  alias: 'r',
  columns: PULL_REQUEST_COLUMNS,
  expressions: { repositoryId: `lower(r.code_repository ->> 'id')`, foreignSessionId: ofCaller },
  below: { parent: 'repositoryId', isText: true },
  reach: ({ actor }) => readableBy(callerOf(actor)),
  reachAlias: 's',
  values: ({ actor }) => ({ callerId: actor.userId }),
  filter: ({ is, oneOf, between }) => ({
    statuses: oneOf('status'),
    isDraft: is('isDraft'),
    ...between('created', 'createdAt'),
  }),
  orders: ORDERS,
});

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

/** The repositories with these ids, as the pull request that changed last of those that the caller can read describes each. */
export async function findCodeRepositories(
  context: OperationContext,
  ids: readonly string[],
): Promise<PullRequestRow['codeRepository'][]> {
  const { organizationId } = callerOf(context.actor);
  const wanted = sql<{ id: string }>`unnest(${listOf('text', ids)})`;
  const latest = ofArtifacts
    .where(within(readableBy(callerOf(context.actor)), 's'))
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

/** The row of an artifact that was just written. */
export const artifactRow = ({ id, organization, session, type, createdAt, updatedAt }: Artifact): ArtifactRow => ({
  id,
  organizationId: organization.id,
  sessionId: session.id,
  type,
  createdAt: createdAt.toISOString(),
  updatedAt: updatedAt.toISOString(),
});

/** The row of a pull request that was just written. */
export const pullRequestRow = ({
  organization,
  artifact,
  createdAt,
  updatedAt,
  ...fields
}: PullRequest): PullRequestRow => ({
  ...fields,
  organizationId: organization.id,
  artifactId: artifact.id,
  createdAt: createdAt.toISOString(),
  updatedAt: updatedAt.toISOString(),
});
