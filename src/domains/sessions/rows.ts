import { type Ordering, type Page, type PageArguments, keyset } from '../../core/keyset.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type Timestamp, toIsoString } from '../../core/sql.ts';
import type { Artifact, Project, PullRequest, Session } from './entity.ts';
import type { SessionFilter } from './input.ts';
import { readableSql } from './policy.ts';
import type { SessionState } from './vocabulary.ts';

type Stored = Pick<
  Session,
  | 'id'
  | 'title'
  | 'kind'
  | 'sessionType'
  | 'mode'
  | 'visibility'
  | 'level'
  | 'state'
  | 'mcpServers'
  | 'isPinned'
  | 'source'
>;

/** A session as it is read, with its project. */
export interface SessionRow extends Stored {
  readonly creatorId: string | null;
  readonly description: string | null;
  readonly richContent: object | null;
  readonly agent: string | null;
  readonly agentId: string | null;
  readonly agentOptions: Session['agentOptions'];
  readonly artifactType: NonNullable<Session['artifactType']> | null;
  readonly baseBranch: string | null;
  readonly branchName: string | null;
  readonly targetBranch: string | null;
  readonly projectId: string | null;
  readonly sandboxSize: NonNullable<Session['sandboxSize']> | null;
  readonly externalId: string | null;
  readonly externalUrl: string | null;
  readonly htmlUrl: string | null;
  readonly diffSummary: NonNullable<Session['diffSummary']> | null;
  readonly sourcePullRequest: NonNullable<Session['sourcePullRequest']> | null;
  readonly project: Pick<Project, 'id' | 'name' | 'icon' | 'color'> | null;
  readonly createdAt: Timestamp;
  readonly updatedAt: Timestamp;
  readonly lastQueuedAt: Timestamp | null;
  readonly lastSeenAt: Timestamp;
}

const UUID_PATTERN = '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';

/** The columns of `session s`. `projectId` is free text: what has the form of an id is compared as one, by which the project's key is found. */
export const SESSION_COLUMNS = `s.id, s.creator_id as "creatorId", s.title, s.description, s.rich_content as "richContent", s.kind, s.session_type as "sessionType",
  s.mode, s.visibility, s.level, s.state, s.agent, s.agent_id as "agentId", s.agent_options as "agentOptions", s.artifact_type as "artifactType",
  s.base_branch as "baseBranch", s.branch_name as "branchName", s.target_branch as "targetBranch", s.project_id as "projectId",
  s.sandbox_size as "sandboxSize", s.mcp_servers as "mcpServers", s.external_id as "externalId", s.external_url as "externalUrl", s.html_url as "htmlUrl",
  s.is_pinned as "isPinned", s.diff_summary as "diffSummary", s.source, s.source_pull_request as "sourcePullRequest",
  s.created_at as "createdAt", s.updated_at as "updatedAt", s.last_queued_at as "lastQueuedAt", s.last_seen_at as "lastSeenAt",
  (select json_build_object('id', p.id, 'name', p.name, 'icon', p.icon, 'color', p.color) from project p
    where p.organization_id = s.organization_id and p.id = case when s.project_id ~ '${UUID_PATTERN}' then s.project_id::uuid end) as project`;

export async function findSessionRows(context: OperationContext, ids: readonly string[]): Promise<SessionRow[]> {
  const values: unknown[] = [ids];
  return context.sql.query<SessionRow>(
    `select ${SESSION_COLUMNS} from session s where s.id = any($1) and ${readableSql(context.actor, values)}`,
    values,
  );
}

export const SESSION_ORDERINGS = {
  CREATED_AT: { sql: 's.created_at', type: 'timestamptz', of: (row: SessionRow) => toIsoString(row.createdAt) },
  UPDATED_AT: { sql: 's.updated_at', type: 'timestamptz', of: (row: SessionRow) => toIsoString(row.updatedAt) },
  LAST_SEEN_AT: { sql: 's.last_seen_at', type: 'timestamptz', of: (row: SessionRow) => toIsoString(row.lastSeenAt) },
} as const;
export type SessionOrderField = keyof typeof SESSION_ORDERINGS;

export interface SessionOrder {
  readonly field: SessionOrderField;
  readonly direction: 'ASC' | 'DESC';
}

function conditions(context: OperationContext, filter: SessionFilter, values: unknown[]): string {
  const anyOf = (column: string, wanted: readonly string[] | null | undefined) =>
    wanted ? [`${column} = any($${values.push(wanted)})`] : [];
  return [
    readableSql(context.actor, values),
    ...anyOf('s.state', filter.state),
    ...anyOf('s.session_type', filter.sessionType),
    ...anyOf('s.mode', filter.mode),
    ...anyOf('s.visibility', filter.visibility),
    ...anyOf('s.project_id', filter.projectId),
    ...(filter.isPinned == null ? [] : [`s.is_pinned = $${values.push(filter.isPinned)}`]),
    ...(filter.title ? [`strpos(lower(s.title), lower($${values.push(filter.title)})) > 0`] : []),
  ].join(' and ');
}

export async function pageOfSessions(
  context: OperationContext,
  filter: SessionFilter,
  order: SessionOrder,
  page: PageArguments,
): Promise<Page<SessionRow>> {
  const values: unknown[] = [];
  const where = conditions(context, filter, values);
  const ordering: Ordering<SessionRow> = {
    name: `SESSION_${order.field}`,
    columns: [SESSION_ORDERINGS[order.field], { sql: 's.id', type: 'uuid', of: (row) => row.id }],
    direction: order.direction,
  };
  const query = keyset(ordering, page, values);
  const rows = await context.sql.query<SessionRow>(
    `select ${SESSION_COLUMNS} from session s where ${where} and ${query.where} order by ${query.orderBy} limit $${values.push(query.limit)}`,
    values,
  );
  return query.toPage(rows);
}

export async function countSessions(context: OperationContext, filter: SessionFilter): Promise<number> {
  const values: unknown[] = [];
  const where = conditions(context, filter, values);
  const [row] = await context.sql.query<{ count: number }>(
    `select count(*)::int as count from session s where ${where}`,
    values,
  );
  return row?.count ?? 0;
}

export interface PullRequestRow extends Pick<
  PullRequest,
  | 'id'
  | 'url'
  | 'title'
  | 'status'
  | 'isDraft'
  | 'sourceBranch'
  | 'baseBranch'
  | 'headSha'
  | 'agent'
  | 'diff'
  | 'author'
  | 'codeRepository'
> {
  readonly createdAt: Timestamp;
  readonly updatedAt: Timestamp;
}

export interface ArtifactRow extends Pick<Artifact, 'id' | 'type'> {
  readonly sessionId: string;
  readonly createdAt: Timestamp;
  readonly updatedAt: Timestamp;
  readonly pullRequests: readonly PullRequestRow[];
}

// Timestamps inside JSON have PostgreSQL's ISO form; they are brought to the form of timestamps outside it.
const PULL_REQUESTS = `coalesce((select json_agg(json_build_object('id', r.id, 'url', r.url, 'title', r.title, 'status', r.status, 'isDraft', r.is_draft,
    'sourceBranch', r.source_branch, 'baseBranch', r.base_branch, 'headSha', r.head_sha, 'agent', r.agent, 'diff', r.diff, 'author', r.author,
    'codeRepository', r.code_repository, 'createdAt', r.created_at::text, 'updatedAt', r.updated_at::text) order by r.created_at, r.id)
  from pull_request r where r.artifact_id = a.id), '[]')`;

/** The artifacts of many sessions with their pull requests, in one statement, in order of creation within each. */
export async function findArtifactRows(
  context: OperationContext,
  sessionIds: readonly string[],
): Promise<ArtifactRow[]> {
  return context.sql.query<ArtifactRow>(
    `select a.id, a.session_id as "sessionId", a.type, a.created_at as "createdAt", a.updated_at as "updatedAt", ${PULL_REQUESTS} as "pullRequests"
      from artifact a where a.session_id = any($1) order by a.session_id, a.created_at, a.id`,
    [sessionIds],
  );
}

export interface SessionStateFlags {
  readonly isQueued: boolean;
  readonly isCancelled: boolean;
  readonly isCompleted: boolean;
  readonly isFailed: boolean;
  readonly inProgress: boolean;
  readonly current: SessionState;
}

/** The documented state object (section 3): the booleans follow from the state. */
export function stateFlags(current: SessionState): SessionStateFlags {
  return {
    isQueued: current === 'queued',
    isCancelled: current === 'cancelled',
    isCompleted: current === 'completed',
    isFailed: current === 'failed',
    inProgress: current === 'inProgress',
    current,
  };
}

/** Where people look at a session: the address that its recorder gave, else one made from ours. */
export function htmlUrlOf({ id, htmlUrl }: Pick<SessionRow, 'id' | 'htmlUrl'>, publicUrl: string): string {
  return htmlUrl ?? `${publicUrl}/sessions/${id}`;
}
