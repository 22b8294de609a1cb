import { type Caller, type Floor, globalId, groupBy, spelt, withDatabaseId } from './floor-core.ts';

interface SessionRow {
  readonly id: string;
  readonly htmlUrl: string | null;
  readonly state: string;
  readonly source: { readonly repositories: readonly { readonly id: string }[]; readonly id: string };
  readonly sessionType: string;
  readonly mode: string;
  readonly visibility: string;
  readonly projectUuid: string | null;
  readonly projectName: string;
  readonly projectIcon: string;
  readonly projectColor: string;
  /** Columns that go to the wire as they come. */
  readonly [column: string]: unknown;
}

interface ArtifactRow {
  readonly id: string;
  readonly sessionId: string;
  readonly type: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

interface PullRequestRow {
  readonly id: string;
  readonly artifactId: string;
  readonly status: string;
  readonly codeRepository: { readonly id: string };
  readonly [column: string]: unknown;
}

const SESSION = `s.id, s.title, s.description, s.kind, s.session_type as "sessionType", s.mode, s.visibility, s.level, s.state, s.agent, s.agent_id as "agentId",
  s.artifact_type as "artifactType", s.base_branch as "baseBranch", s.branch_name as "branchName", s.target_branch as "targetBranch", s.project_id as "projectId",
  s.sandbox_size as "sandboxSize", s.external_id as "externalId", s.external_url as "externalUrl", s.html_url as "htmlUrl", s.is_pinned as "isPinned",
  s.diff_summary as "diffSummary", s.source, s.source_pull_request as "sourcePullRequest", s.created_at as "createdAt", s.updated_at as "updatedAt",
  s.last_queued_at as "lastQueuedAt", s.last_seen_at as "lastSeenAt"`;
const PROJECT = `p.id as "projectUuid", p.name as "projectName", p.icon as "projectIcon", p.color as "projectColor"`;

const SESSIONS = `select ${SESSION}, ${PROJECT} from session s left join project p on p.organization_id = s.organization_id and p.id::text = s.project_id
  where s.organization_id = $1 and (s.visibility = 'public' or s.creator_id = $2 or $3) order by s.created_at desc, s.id desc limit 51`;

const UPDATE = `with s as (
    update session s set title = $1, level = $2, mode = $3, updated_at = now()
    where s.id = $4 and s.organization_id = $5 and (s.creator_id = $6 or $7) returning *
  ) select ${SESSION}, ${PROJECT} from s left join project p on p.organization_id = s.organization_id and p.id::text = s.project_id`;

const ARTIFACTS = `select id, session_id as "sessionId", type, created_at as "createdAt", updated_at as "updatedAt"
  from artifact where session_id = any($1) order by created_at, id`;

const PULL_REQUESTS = `select r.id, r.artifact_id as "artifactId", r.url, r.title, r.status, r.is_draft as "isDraft", r.source_branch as "sourceBranch",
    r.base_branch as "baseBranch", r.head_sha as "headSha", r.created_at as "createdAt", r.updated_at as "updatedAt", r.agent, r.diff, r.author, r.code_repository as "codeRepository"
  from pull_request r join artifact a on a.id = r.artifact_id where a.session_id = any($1) order by r.created_at, r.id`;

function stateOf(current: string) {
  return {
    isQueued: current === 'queued',
    isCancelled: current === 'cancelled',
    isCompleted: current === 'completed',
    isFailed: current === 'failed',
    inProgress: current === 'inProgress',
    current,
  };
}

const htmlUrlOf = (row: SessionRow, floor: Floor) => row.htmlUrl ?? `${floor.publicUrl}/sessions/${row.id}`;

/** Artifacts with their pull requests, by session; two statements for all. */
async function readArtifacts(floor: Floor, sessionIds: readonly string[]) {
  const [artifacts, pullRequests] = await Promise.all([
    floor.query<ArtifactRow>('artifacts', ARTIFACTS, [sessionIds]),
    floor.query<PullRequestRow>('pullRequests', PULL_REQUESTS, [sessionIds]),
  ]);
  const pullRequestsOf = groupBy(pullRequests, ({ artifactId }) => artifactId);
  const whole = artifacts.map(({ id, sessionId, type, createdAt, updatedAt }) => ({
    id,
    sessionId,
    type,
    createdAt,
    updatedAt,
    pullRequests: pullRequestsOf.get(id) ?? [],
  }));
  return groupBy(whole, ({ sessionId }) => sessionId);
}

type Artifacts = Awaited<ReturnType<typeof readArtifacts>>;

export async function graphqlSessions(floor: Floor, caller: Caller): Promise<object> {
  const rows = await floor.query<SessionRow>('sessions', SESSIONS, [
    caller.organizationId,
    caller.userId,
    caller.isAdmin,
  ]);
  const page = rows.slice(0, 50);
  const artifacts = await readArtifacts(
    floor,
    page.map(({ id }) => id),
  );
  const edges = page.map((row) => ({ node: toGraphQLSession(row, artifacts, floor) }));
  return { viewer: { organization: { sessions: { edges, pageInfo: { hasNextPage: rows.length > 50 } } } } };
}

function toGraphQLSession(row: SessionRow, artifacts: Artifacts, floor: Floor): object {
  const {
    title,
    description,
    kind,
    sessionType,
    mode,
    visibility,
    level,
    isPinned,
    baseBranch,
    branchName,
    targetBranch,
    createdAt,
    updatedAt,
    lastSeenAt,
    diffSummary,
  } = row;
  return {
    id: globalId('Session', row.id),
    databaseId: row.id,
    title,
    description,
    kind,
    sessionType: spelt(sessionType),
    mode: spelt(mode),
    visibility: spelt(visibility),
    level,
    isPinned,
    baseBranch,
    branchName,
    targetBranch,
    htmlUrl: htmlUrlOf(row, floor),
    createdAt,
    updatedAt,
    lastSeenAt,
    state: { ...stateOf(row.state), current: spelt(row.state) },
    diffSummary,
    project: row.projectUuid && {
      databaseId: row.projectUuid,
      name: row.projectName,
      icon: spelt(row.projectIcon),
      color: spelt(row.projectColor),
    },
    sessionSource: { ...withDatabaseId(row.source), repositories: row.source.repositories.map(withDatabaseId) },
    artifacts: (artifacts.get(row.id) ?? []).map(
      ({ id, type, createdAt: began, updatedAt: changed, pullRequests }) => ({
        databaseId: id,
        type: spelt(type),
        createdAt: began,
        updatedAt: changed,
        pullRequests: pullRequests.map(toGraphQLPullRequest),
      }),
    ),
  };
}

function toGraphQLPullRequest(row: PullRequestRow): object {
  return {
    ...withDatabaseId(row),
    artifactId: undefined,
    status: spelt(row.status),
    codeRepository: withDatabaseId(row.codeRepository),
  };
}

export interface Changes {
  readonly title: string;
  readonly level: number;
  readonly mode: string;
}

async function update(
  floor: Floor,
  caller: Caller,
  sessionId: string,
  { title, level, mode }: Changes,
): Promise<SessionRow | undefined> {
  const [row] = await floor.query<SessionRow>('update', UPDATE, [
    title,
    level,
    mode,
    sessionId,
    caller.organizationId,
    caller.userId,
    caller.isAdmin,
  ]);
  return row;
}

export async function restUpdate(
  floor: Floor,
  caller: Caller,
  sessionId: string,
  changes: Changes,
): Promise<object | undefined> {
  const row = await update(floor, caller, sessionId, changes);
  if (!row) return undefined;
  const artifacts = (await readArtifacts(floor, [sessionId])).get(sessionId) ?? [];
  const { projectUuid, projectName, projectIcon, projectColor, source, state, ...columns } = row;
  return {
    ...columns,
    htmlUrl: htmlUrlOf(row, floor),
    artifacts: artifacts.map((artifact) => ({
      ...artifact,
      sessionId: undefined,
      pullRequests: artifact.pullRequests.map((pullRequest) => ({ ...pullRequest, artifactId: undefined })),
    })),
    project: projectUuid && { id: projectUuid, name: projectName, icon: projectIcon, color: projectColor },
    sessionSource: source,
    state: stateOf(state),
  };
}

export async function graphqlUpdate(
  floor: Floor,
  caller: Caller,
  { input }: { input: Changes & { readonly sessionId: string } },
): Promise<object> {
  const row = await update(floor, caller, input.sessionId, { ...input, mode: input.mode.toLowerCase() });
  if (!row) return { updateSession: { __typename: 'NotFoundError', message: 'session not found' } };
  const { id, title, level, mode, branchName, updatedAt } = row;
  const session = {
    id: globalId('Session', id),
    databaseId: id,
    title,
    level,
    mode: spelt(mode),
    branchName,
    updatedAt,
  };
  return { updateSession: { __typename: 'UpdateSessionPayload', session } };
}
