import { z } from 'zod';
import { MAX_ANSWER_BYTES, inMib, pageBytesOf } from '../../core/answer-size.ts';
import { documentOf, readOnly } from '../../core/http/documents.ts';
import type { OnlyFieldsOf } from '../../core/keys-of.ts';
import type { ArtifactInSession, PullRequestInSession } from './artifact-queries.ts';
import { htmlUrlOf, stateFlags } from './computed-fields.ts';
import type { SessionDetails } from './document-operations.ts';
import type { SessionSource } from './entity.ts';
import type { ProjectRow } from './project-queries.ts';
import type { SessionRow } from './queries.ts';
import {
  ARTIFACT_TEXTS,
  AUTHOR_TEXTS,
  CODE_REPOSITORY_TEXTS,
  DIFF_TEXTS,
  HOLD_TEXTS,
  PROJECT_TEXTS,
  PULL_REQUEST_TEXTS,
  SESSION_TEXTS,
  SOURCE_PULL_REQUEST_TEXTS,
  SOURCE_REPOSITORY_TEXTS,
  SOURCE_TEXTS,
  STATE_TEXTS,
  USAGE_TEXTS,
} from './texts.ts';
import {
  ARTIFACT_TYPES,
  MODES,
  PROJECT_COLORS,
  PROJECT_ICONS,
  PULL_REQUEST_STATUSES,
  SANDBOX_SIZES,
  SESSION_STATES,
  SESSION_TYPES,
  VISIBILITIES,
} from './vocabulary.ts';

const DIFF_IN_SESSION_TEXTS = {
  ...DIFF_TEXTS,
  data: `${DIFF_TEXTS.data} The diffs in a session have at most 1 MiB together; further ones are null there, and whole at \`GET /v1/sessions/{sessionId}/pull-requests\`.`,
};

/** The JSON documents of sessions (workspace management API, section 2.2). Fields that PATCH does not accept are read-only. */

const dateTime = z.iso.datetime();
const count = z.int();

const sourcePullRequest = {
  id: z.uuid(),
  url: z.string(),
  title: z.string(),
  status: z.enum(PULL_REQUEST_STATUSES),
  isDraft: z.boolean(),
};
const repository = { id: z.uuid(), name: z.string(), provider: z.string() };
const changedLines = { additions: count, deletions: count };

export const pullRequestDocument = documentOf(PULL_REQUEST_TEXTS, {
  ...sourcePullRequest,
  sourceBranch: z.string(),
  baseBranch: z.string(),
  headSha: z.string(),
  createdAt: dateTime,
  updatedAt: dateTime,
  agent: z.string(),
  diff: documentOf(DIFF_IN_SESSION_TEXTS, { ...changedLines, data: z.string().nullable() }),
  author: documentOf(AUTHOR_TEXTS, { avatarUrl: z.string(), login: z.string() }),
  codeRepository: documentOf(CODE_REPOSITORY_TEXTS, { ...repository, owner: z.string(), baseBranch: z.string() }),
}).meta({ id: 'PullRequest' });

export const artifactDocument = documentOf(ARTIFACT_TEXTS, {
  id: z.uuid(),
  type: z.enum(ARTIFACT_TYPES),
  createdAt: dateTime,
  updatedAt: dateTime,
  pullRequests: z.array(pullRequestDocument),
}).meta({ id: 'Artifact' });

const projectDocument = documentOf(PROJECT_TEXTS, {
  id: z.uuid(),
  name: z.string(),
  icon: z.enum(PROJECT_ICONS),
  color: z.enum(PROJECT_COLORS),
});

const sourceDocument = documentOf(SOURCE_TEXTS, {
  id: z.uuid(),
  name: z.string(),
  type: z.string(),
  repositories: z.array(documentOf(SOURCE_REPOSITORY_TEXTS, repository)),
});

const stateDocument = documentOf(STATE_TEXTS, {
  isQueued: z.boolean(),
  isCancelled: z.boolean(),
  isCompleted: z.boolean(),
  isFailed: z.boolean(),
  inProgress: z.boolean(),
  current: z.enum(SESSION_STATES),
});

const SESSION_DOCUMENT_TEXTS = {
  ...SESSION_TEXTS,
  artifacts: `${SESSION_TEXTS.artifacts} Null if they are larger than ${inMib(pageBytesOf(MAX_ANSWER_BYTES))}; then list the pull requests at \`GET /v1/sessions/{sessionId}/pull-requests\`.`,
};

export const sessionDocument = documentOf(SESSION_DOCUMENT_TEXTS, {
  id: readOnly(z.uuid()),
  agent: z.string().nullable(),
  agentId: readOnly(z.uuid().nullable()),
  artifactType: readOnly(z.enum(ARTIFACT_TYPES).nullable()),
  baseBranch: z.string().nullable(),
  branchName: z.string().nullable(),
  targetBranch: z.string().nullable(),
  createdAt: readOnly(dateTime),
  updatedAt: readOnly(dateTime),
  lastQueuedAt: readOnly(dateTime.nullable()),
  lastSeenAt: readOnly(dateTime),
  externalId: readOnly(z.string().nullable()),
  externalUrl: readOnly(z.string().nullable()),
  kind: readOnly(z.string()),
  level: count,
  mcpServers: z.array(z.uuid()),
  mode: z.enum(MODES),
  projectId: z.string().nullable(),
  sandboxSize: z.enum(SANDBOX_SIZES).nullable(),
  sessionType: readOnly(z.enum(SESSION_TYPES)),
  title: z.string(),
  description: z.string().nullable(),
  visibility: z.enum(VISIBILITIES),
  htmlUrl: readOnly(z.string()),
  isPinned: readOnly(z.boolean()),
  diffSummary: readOnly(documentOf(DIFF_TEXTS, changedLines).nullable()),
  artifacts: readOnly(z.array(artifactDocument).nullable()),
  project: readOnly(projectDocument.nullable()),
  sessionSource: readOnly(sourceDocument),
  sourcePullRequest: readOnly(documentOf(SOURCE_PULL_REQUEST_TEXTS, sourcePullRequest).nullable()),
  state: readOnly(stateDocument),
}).meta({ id: 'Session' });

const total = z.int().nullable();

export const holdDocument = documentOf(HOLD_TEXTS, {
  reason: z.string(),
  heldBy: z.uuid().nullable(),
  heldAt: dateTime,
}).meta({ id: 'SessionHold' });

export function toHoldDocument({ holdReason, heldById, heldAt }: SessionRow): z.input<typeof holdDocument> {
  return { reason: holdReason ?? '', heldBy: heldById, heldAt: heldAt ?? '' };
}

export const usageDocument = documentOf(USAGE_TEXTS, {
  inputTokens: total,
  outputTokens: total,
  cachedInputTokens: total,
  cacheWriteTokens: total,
  costUsd: z.number().nullable(),
  turns: total,
  toolCalls: total,
  toolErrors: total,
  durationMs: total,
}).meta({ id: 'SessionUsage' });

export function toPullRequestDocument(row: PullRequestInSession): z.input<typeof pullRequestDocument> {
  const { id, url, title, status, isDraft, sourceBranch, baseBranch, headSha, createdAt, updatedAt, agent } = row;
  const { diff, author, codeRepository } = row;
  return {
    id,
    url,
    title,
    status,
    isDraft,
    sourceBranch,
    baseBranch,
    headSha,
    createdAt,
    updatedAt,
    agent,
    diff,
    author,
    codeRepository,
  };
}

export function toArtifactDocument({
  id,
  type,
  createdAt,
  updatedAt,
  pullRequests,
}: ArtifactInSession): z.input<typeof artifactDocument> {
  return { id, type, createdAt, updatedAt, pullRequests: pullRequests.map(toPullRequestDocument) };
}

export function toSessionDocument(
  { session, artifacts, project }: SessionDetails,
  publicUrl: string,
): z.input<typeof sessionDocument> {
  const {
    organizationId: _organizationId,
    creatorId: _creatorId,
    richContent: _richContent,
    agentOptions: _agentOptions,
    holdReason: _holdReason,
    heldById: _heldById,
    heldAt: _heldAt,
    redactedAt: _redactedAt,
    source,
    state,
    mcpServers,
    ...fields
  } = session;
  // A column that is not public must be taken out above.
  fields satisfies OnlyFieldsOf<z.input<typeof sessionDocument>, typeof fields>;
  return {
    ...fields,
    mcpServers: [...mcpServers],
    htmlUrl: htmlUrlOf(session.id, publicUrl),
    artifacts: artifacts?.map(toArtifactDocument) ?? null,
    project: project ? projectToJson(project) : null,
    sessionSource: toSourceDocument(source),
    state: stateFlags(state),
  };
}

const toSourceDocument = ({ transcript: _transcript, repositories, ...source }: SessionSource) => ({
  ...source,
  repositories: [...repositories],
});

function projectToJson({ id, name, icon, color }: ProjectRow) {
  return { id, name, icon, color };
}
