import { type Caller, type Baseline, globalId, toEnumName, toEnumNameOrNull } from './baseline-core.ts';

/** Sessions with their artifacts and pull requests: one statement for the page, and one for everything below it. */

interface SessionRow {
  readonly id: string;
  readonly state: string;
  readonly source: { readonly repositories: readonly Repository[]; readonly id: string; name: string; type: string };
  readonly sessionType: string;
  readonly mode: string;
  readonly visibility: string;
  readonly projectUuid: string | null;
  readonly projectIcon: string;
  readonly projectColor: string;
  /** Columns that are sent unchanged. */
  readonly [column: string]: unknown;
}

interface Repository {
  readonly id: string;
  readonly name: string;
  readonly provider: string;
}

/** An artifact with one of its pull requests, or none. */
export interface ArtifactRow {
  readonly sessionId: string;
  readonly artifactId: string;
  readonly artifactType: string;
  readonly artifactCreatedAt: string;
  readonly artifactUpdatedAt: string;
  readonly id: string | null;
  readonly status: string;
  readonly codeRepository: Repository & { readonly owner: string; readonly baseBranch: string };
  readonly [column: string]: unknown;
}

/** All columns of a session in the answer, except the id. */
const WHOLE = `s.title, s.description, s.kind, s.session_type as "sessionType", s.mode, s.visibility, s.level, s.is_pinned as "isPinned",
  s.base_branch as "baseBranch", s.branch_name as "branchName", s.target_branch as "targetBranch", s.created_at as "createdAt",
  s.updated_at as "updatedAt", s.last_seen_at as "lastSeenAt", s.state, s.diff_summary as "diffSummary", s.source`;
export const PROJECT = `p.id as "projectUuid", p.name as "projectName", p.icon as "projectIcon", p.color as "projectColor"`;
export const WITH_PROJECT = `left join project p on p.organization_id = s.organization_id and p.id::text = s.project_id`;
const READABLE = `where s.organization_id = $1 and (s.visibility = 'public' or s.creator_id = $2 or $3) order by s.created_at desc, s.id desc limit 51`;

const SESSIONS = `select s.id, ${WHOLE}, ${PROJECT} from session s ${WITH_PROJECT} ${READABLE}`;
const SESSIONS_IN_PART = `select s.id, s.title, s.mode, s.state, s.branch_name as "branchName", s.created_at as "createdAt", s.updated_at as "updatedAt" from session s ${READABLE}`;

const artifacts = (ofArtifact: string, ofPullRequest: string) =>
  `select a.session_id as "sessionId", a.id as "artifactId", a.type as "artifactType"${ofArtifact}, r.id, r.url, r.title, r.status, r.is_draft as "isDraft",
    r.source_branch as "sourceBranch", r.base_branch as "baseBranch", r.created_at as "createdAt"${ofPullRequest}
  from artifact a left join pull_request r on r.artifact_id = a.id where a.session_id = any($1) order by a.session_id, a.created_at, a.id, r.created_at, r.id`;
export const ARTIFACTS = artifacts(
  `, a.created_at as "artifactCreatedAt", a.updated_at as "artifactUpdatedAt"`,
  `, r.head_sha as "headSha", r.agent, r.diff, r.author, r.code_repository as "codeRepository", r.updated_at as "updatedAt"`,
);
const ARTIFACTS_IN_PART = artifacts('', '');

export interface FoundArtifact {
  readonly row: ArtifactRow;
  readonly pullRequests: object[];
}

/** Artifacts with their pull requests, by session. */
export function artifactsBySession(
  rows: readonly ArtifactRow[],
  toAnswer: (row: ArtifactRow) => object,
): Map<string, FoundArtifact[]> {
  const found = new Map<string, FoundArtifact[]>();
  let last: FoundArtifact | undefined;
  for (const row of rows) {
    if (last?.row.artifactId !== row.artifactId) {
      last = { row, pullRequests: [] };
      const ofSession = found.get(row.sessionId);
      if (ofSession) ofSession.push(last);
      else found.set(row.sessionId, [last]);
    }
    if (row.id !== null) last.pullRequests.push(toAnswer(row));
  }
  return found;
}

interface Nested {
  readonly name: string;
  readonly sessions: string;
  readonly artifacts: string;
  readonly toPullRequest: (row: ArtifactRow) => object;
  readonly toSession: (row: SessionRow, artifacts: readonly FoundArtifact[], baseline: Baseline) => object;
}

async function nested(baseline: Baseline, caller: Caller, of: Nested): Promise<object> {
  const readable = [caller.organizationId, caller.userId, caller.isAdmin];
  const rows = await baseline.query<SessionRow>(of.name, of.sessions, readable);
  const page = rows.slice(0, 50);
  const ids = page.map(({ id }) => id);
  const below = artifactsBySession(
    await baseline.query<ArtifactRow>(`${of.name}Artifacts`, of.artifacts, [ids]),
    of.toPullRequest,
  );
  const edges = page.map((row) => ({ node: of.toSession(row, below.get(row.id) ?? [], baseline) }));
  return { viewer: { organization: { sessions: { edges, pageInfo: { hasNextPage: rows.length > 50 } } } } };
}

export const graphqlSessions = (baseline: Baseline, caller: Caller) =>
  nested(baseline, caller, {
    name: 'sessions',
    sessions: SESSIONS,
    artifacts: ARTIFACTS,
    toPullRequest,
    toSession,
  });

export const graphqlSessionsInPart = (baseline: Baseline, caller: Caller) =>
  nested(baseline, caller, {
    name: 'sessionsInPart',
    sessions: SESSIONS_IN_PART,
    artifacts: ARTIFACTS_IN_PART,
    toPullRequest: toPartOfPullRequest,
    toSession: toPartOfSession,
  });

export function stateOf(current: string) {
  return {
    isQueued: current === 'queued',
    isCancelled: current === 'cancelled',
    isCompleted: current === 'completed',
    isFailed: current === 'failed',
    inProgress: current === 'inProgress',
    current,
  };
}

export const htmlUrlOf = (sessionId: string, baseline: Baseline) => `${baseline.publicUrl}/sessions/${sessionId}`;

/** A connection with the first five objects. */
const nodesOf = (objects: readonly object[]) => ({ nodes: objects.slice(0, 5) });

function toSession(row: SessionRow, found: readonly FoundArtifact[], baseline: Baseline): object {
  const { id, source, projectUuid } = row;
  return {
    id: globalId('Session', id),
    databaseId: id,
    title: row['title'],
    description: row['description'],
    kind: row['kind'],
    sessionType: toEnumName(row.sessionType),
    mode: toEnumName(row.mode),
    visibility: toEnumName(row.visibility),
    level: row['level'],
    isPinned: row['isPinned'],
    baseBranch: row['baseBranch'],
    branchName: row['branchName'],
    targetBranch: row['targetBranch'],
    htmlUrl: htmlUrlOf(id, baseline),
    createdAt: row['createdAt'],
    updatedAt: row['updatedAt'],
    lastSeenAt: row['lastSeenAt'],
    state: { ...stateOf(row.state), current: toEnumName(row.state) },
    diffSummary: row['diffSummary'],
    project: projectUuid && {
      databaseId: projectUuid,
      name: row['projectName'],
      icon: toEnumName(row.projectIcon),
      color: toEnumName(row.projectColor),
    },
    sessionSource: {
      databaseId: source.id,
      name: source.name,
      type: source.type,
      repositories: source.repositories.map(({ id: databaseId, name, provider }) => ({ databaseId, name, provider })),
    },
    artifacts: nodesOf(
      found.map(({ row: artifact, pullRequests }) => ({
        databaseId: artifact.artifactId,
        type: toEnumName(artifact.artifactType),
        createdAt: artifact.artifactCreatedAt,
        updatedAt: artifact.artifactUpdatedAt,
        pullRequests: nodesOf(pullRequests),
      })),
    ),
  };
}

function toPartOfSession(row: SessionRow, found: readonly FoundArtifact[]): object {
  return {
    id: globalId('Session', row.id),
    databaseId: row.id,
    title: row['title'],
    mode: toEnumName(row.mode),
    branchName: row['branchName'],
    createdAt: row['createdAt'],
    updatedAt: row['updatedAt'],
    state: { current: toEnumName(row.state) },
    artifacts: nodesOf(
      found.map(({ row: artifact, pullRequests }) => ({
        databaseId: artifact.artifactId,
        type: toEnumName(artifact.artifactType),
        pullRequests: nodesOf(pullRequests),
      })),
    ),
  };
}

function toPartOfPullRequest(row: ArtifactRow): object {
  return {
    databaseId: row.id,
    url: row['url'],
    title: row['title'],
    status: toEnumNameOrNull(row.status),
    isDraft: row['isDraft'],
    sourceBranch: row['sourceBranch'],
    baseBranch: row['baseBranch'],
    createdAt: row['createdAt'],
  };
}

function toPullRequest(row: ArtifactRow): object {
  const { id: repositoryId, name, owner, baseBranch, provider } = row.codeRepository;
  return {
    databaseId: row.id,
    url: row['url'],
    title: row['title'],
    status: toEnumName(row.status),
    isDraft: row['isDraft'],
    sourceBranch: row['sourceBranch'],
    baseBranch: row['baseBranch'],
    headSha: row['headSha'],
    agent: row['agent'],
    createdAt: row['createdAt'],
    updatedAt: row['updatedAt'],
    diff: row['diff'],
    author: row['author'],
    codeRepository: { databaseId: repositoryId, name, owner, baseBranch, provider },
  };
}
