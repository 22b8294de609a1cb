import { z } from 'zod';
import type { OperationContext } from '../../core/operation.ts';
import { route } from '../../core/http/route.ts';
import { updateSessionInput } from './input.ts';
import { htmlUrlOf, stateFlags } from './derived.ts';
import { type SessionDetails, readSessionDetails, updateSession } from './operations.ts';
import type { ArtifactRow, PullRequestRow } from './artifact-queries.ts';
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

const dateTime = z.iso.datetime();
const count = z.int();

const pullRequestDocument = z
  .strictObject({
    id: z.uuid(),
    url: z.string(),
    title: z.string(),
    status: z.enum(PULL_REQUEST_STATUSES),
    isDraft: z.boolean(),
    sourceBranch: z.string(),
    baseBranch: z.string(),
    headSha: z.string(),
    createdAt: dateTime,
    updatedAt: dateTime,
    agent: z.string(),
    diff: z.strictObject({ additions: count, deletions: count, data: z.string() }),
    author: z.strictObject({ avatarUrl: z.string(), login: z.string() }),
    codeRepository: z.strictObject({
      id: z.uuid(),
      name: z.string(),
      owner: z.string(),
      baseBranch: z.string(),
      provider: z.string(),
    }),
  })
  .meta({ id: 'PullRequest' });

const artifactDocument = z
  .strictObject({
    id: z.uuid(),
    type: z.enum(ARTIFACT_TYPES),
    createdAt: dateTime,
    updatedAt: dateTime,
    pullRequests: z.array(pullRequestDocument),
  })
  .meta({ id: 'Artifact' });

const sessionDocument = z
  .strictObject({
    id: z.uuid(),
    agent: z.string().nullable(),
    agentId: z.uuid().nullable(),
    artifactType: z.enum(ARTIFACT_TYPES).nullable(),
    baseBranch: z.string().nullable(),
    branchName: z.string().nullable(),
    targetBranch: z.string().nullable(),
    createdAt: dateTime,
    updatedAt: dateTime,
    lastQueuedAt: dateTime.nullable(),
    lastSeenAt: dateTime,
    externalId: z.string().nullable(),
    externalUrl: z.string().nullable(),
    kind: z.string(),
    level: count,
    mcpServers: z.array(z.uuid()),
    mode: z.enum(MODES),
    projectId: z.string().nullable(),
    sandboxSize: z.enum(SANDBOX_SIZES).nullable(),
    sessionType: z.enum(SESSION_TYPES),
    title: z.string(),
    description: z.string().nullable(),
    visibility: z.enum(VISIBILITIES),
    htmlUrl: z.string(),
    isPinned: z.boolean(),
    diffSummary: z.strictObject({ additions: count, deletions: count }).nullable(),
    artifacts: z.array(artifactDocument),
    project: z
      .strictObject({ id: z.uuid(), name: z.string(), icon: z.enum(PROJECT_ICONS), color: z.enum(PROJECT_COLORS) })
      .nullable(),
    sessionSource: z.strictObject({
      id: z.uuid(),
      name: z.string(),
      type: z.string(),
      repositories: z.array(z.strictObject({ id: z.uuid(), name: z.string(), provider: z.string() })),
    }),
    sourcePullRequest: z
      .strictObject({
        id: z.uuid(),
        url: z.string(),
        title: z.string(),
        status: z.enum(PULL_REQUEST_STATUSES),
        isDraft: z.boolean(),
      })
      .nullable(),
    state: z.strictObject({
      isQueued: z.boolean(),
      isCancelled: z.boolean(),
      isCompleted: z.boolean(),
      isFailed: z.boolean(),
      inProgress: z.boolean(),
      current: z.enum(SESSION_STATES),
    }),
  })
  .meta({ id: 'Session' });

function toPullRequestDocument({
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
}: PullRequestRow) {
  return {
    id,
    url,
    title,
    status,
    isDraft,
    sourceBranch,
    baseBranch,
    headSha,
    createdAt: createdAt,
    updatedAt: updatedAt,
    agent,
    diff,
    author,
    codeRepository,
  };
}

function toArtifactDocument(
  { id, type, createdAt, updatedAt }: ArtifactRow,
  pullRequests: readonly PullRequestRow[],
): z.input<typeof artifactDocument> {
  return {
    id,
    type,
    createdAt: createdAt,
    updatedAt: updatedAt,
    pullRequests: pullRequests.map(toPullRequestDocument),
  };
}

function toSessionDocument(
  { session: row, artifacts, pullRequests, project }: SessionDetails,
  { settings }: OperationContext,
): z.input<typeof sessionDocument> {
  return {
    id: row.id,
    agent: row.agent,
    agentId: row.agentId,
    artifactType: row.artifactType,
    baseBranch: row.baseBranch,
    branchName: row.branchName,
    targetBranch: row.targetBranch,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    lastQueuedAt: row.lastQueuedAt,
    lastSeenAt: row.lastSeenAt,
    externalId: row.externalId,
    externalUrl: row.externalUrl,
    kind: row.kind,
    level: row.level,
    mcpServers: [...row.mcpServers],
    mode: row.mode,
    projectId: row.projectId,
    sandboxSize: row.sandboxSize,
    sessionType: row.sessionType,
    title: row.title,
    description: row.description,
    visibility: row.visibility,
    htmlUrl: htmlUrlOf(row.id, settings.publicUrl),
    isPinned: row.isPinned,
    diffSummary: row.diffSummary,
    artifacts: artifacts.map((artifact) => toArtifactDocument(artifact, pullRequests.get(artifact.id) ?? [])),
    project: project ?? null,
    sessionSource: { ...row.source, repositories: [...row.source.repositories] },
    sourcePullRequest: row.sourcePullRequest,
    state: stateFlags(row.state),
  };
}

export const sessionRoutes = [
  route({
    method: 'PATCH',
    path: '/v1/sessions/:sessionId',
    operationId: 'updateSession',
    optionalBody: true,
    tag: 'Sessions',
    summary: 'Update the configuration of a session.',
    description: 'What is absent stays as it is; null clears what may be null. An empty body changes nothing.',
    input: updateSessionInput,
    output: sessionDocument,
    status: 200,
    errors: [400, 403, 404, 409, 500],
    examples: {
      input: { title: 'Mend the flaky checkout test', mode: 'planning', sandboxSize: 'large', visibility: 'public' },
    },
    run: async (context, input) => {
      const session = await updateSession(context, input);
      return toSessionDocument(await readSessionDetails(context, session), context);
    },
  }),
];
