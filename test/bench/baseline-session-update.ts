import { randomUUID } from 'node:crypto';
import { type Caller, type Baseline, globalId, toEnumName } from './baseline-core.ts';
import {
  ARTIFACTS,
  type ArtifactRow,
  PROJECT,
  WITH_PROJECT,
  artifactsBySession,
  htmlUrlOf,
  stateOf,
} from './baseline-sessions.ts';

/** A change of a session with its audit log entry, in one statement. */

interface SessionRow {
  readonly id: string;
  readonly state: string;
  readonly mode: string;
  readonly projectUuid: string | null;
  /** Columns that are sent unchanged. */
  readonly [column: string]: unknown;
}

const update = (returning: string, select: string) => `with s as (
    update session set title = $1, level = $2, mode = $3, updated_at = $8
    where id = $4 and organization_id = $5 and (creator_id = $6 or $7) returning ${returning}
  ), recorded as (
    insert into audit_entry (occurred_at, id, organization_id, source, key_id, operation, target_type, target_id, request_id)
    select $8, $9, $5, 'request', $10, 'updateSession', 'Session', $4, $11 from s
  ) ${select}`;

const UPDATE = update('title, level, mode, branch_name as "branchName", updated_at as "updatedAt"', 'select * from s');
const UPDATE_FOR_REST = update(
  '*',
  `select s.id, s.title, s.description, s.kind, s.session_type as "sessionType", s.mode, s.visibility, s.level, s.state, s.agent, s.agent_id as "agentId",
    s.artifact_type as "artifactType", s.base_branch as "baseBranch", s.branch_name as "branchName", s.target_branch as "targetBranch", s.project_id as "projectId",
    s.sandbox_size as "sandboxSize", s.external_id as "externalId", s.external_url as "externalUrl", s.mcp_servers as "mcpServers", s.is_pinned as "isPinned",
    s.diff_summary as "diffSummary", s.source as "sessionSource", s.source_pull_request as "sourcePullRequest", s.created_at as "createdAt",
    s.updated_at as "updatedAt", s.last_queued_at as "lastQueuedAt", s.last_seen_at as "lastSeenAt", ${PROJECT} from s ${WITH_PROJECT}`,
);

export interface Changes {
  readonly title: string;
  readonly level: number;
  readonly mode: string;
}

const valuesOf = (caller: Caller, sessionId: string, { title, level, mode }: Changes) => [
  title,
  level,
  mode,
  sessionId,
  caller.organizationId,
  caller.userId,
  caller.isAdmin,
  new Date().toISOString(),
  randomUUID(),
  caller.keyId,
  randomUUID(),
];

export async function restUpdate(
  baseline: Baseline,
  caller: Caller,
  sessionId: string,
  changes: Changes,
): Promise<object | undefined> {
  const [[row], below] = await Promise.all([
    baseline.query<SessionRow>('restUpdate', UPDATE_FOR_REST, valuesOf(caller, sessionId, changes)),
    baseline.query<ArtifactRow>('updateArtifacts', ARTIFACTS, [[sessionId]]),
  ]);
  if (!row) return undefined;
  const { projectUuid, projectName, projectIcon, projectColor, ...columns } = row;
  return {
    ...columns,
    htmlUrl: htmlUrlOf(sessionId, baseline),
    artifacts: (artifactsBySession(below, toPullRequest).get(sessionId) ?? []).map(
      ({ row: { artifactId, artifactType, artifactCreatedAt, artifactUpdatedAt }, pullRequests }) => ({
        id: artifactId,
        type: artifactType,
        createdAt: artifactCreatedAt,
        updatedAt: artifactUpdatedAt,
        pullRequests,
      }),
    ),
    project: projectUuid && { id: projectUuid, name: projectName, icon: projectIcon, color: projectColor },
    state: stateOf(row.state),
  };
}

const toPullRequest = (row: ArtifactRow) => ({
  id: row.id,
  url: row['url'],
  title: row['title'],
  status: row.status,
  isDraft: row['isDraft'],
  sourceBranch: row['sourceBranch'],
  baseBranch: row['baseBranch'],
  headSha: row['headSha'],
  agent: row['agent'],
  createdAt: row['createdAt'],
  updatedAt: row['updatedAt'],
  diff: row['diff'],
  author: row['author'],
  codeRepository: row.codeRepository,
});

export async function graphqlUpdate(
  baseline: Baseline,
  caller: Caller,
  { input }: { input: Changes & { readonly sessionId: string } },
): Promise<object> {
  const changes = { ...input, mode: input.mode.toLowerCase() };
  const [row] = await baseline.query<SessionRow>('update', UPDATE, valuesOf(caller, input.sessionId, changes));
  if (!row) return { updateSession: { __typename: 'NotFoundError', message: 'session not found' } };
  const { title, level, mode, branchName, updatedAt } = row;
  const session = {
    id: globalId('Session', input.sessionId),
    databaseId: input.sessionId,
    title,
    level,
    mode: toEnumName(mode),
    branchName,
    updatedAt,
  };
  return { updateSession: { __typename: 'UpdateSessionPayload', session } };
}
