import { z } from 'zod';
import { MAX_ANSWER_BYTES, inMib, pageBytesOf } from '../../core/answer-size.ts';
import { exampleOf, readOnly, textOf } from '../../core/documents.ts';
import {
  ARTIFACT_TYPES,
  MODES,
  PROJECT_COLORS,
  PROJECT_ICONS,
  PULL_REQUEST_STATUSES,
  SANDBOX_SIZES,
  SESSION_STATES,
  SESSION_TYPES,
  type SessionState,
  type UsageField,
  VISIBILITIES,
} from './vocabulary.ts';
import type { SessionId } from '../../core/ids.ts';

/** What both APIs answer (workspace management API, section 2.2). Fields of a session that PATCH does not accept are read-only. */

const at = (text: string, example: string) => z.iso.datetime().describe(text).meta({ example });
const readAt = (text: string, example: string) => readOnly(z.iso.datetime()).describe(text).meta({ example });
const lines = (text: string, example: number) => z.int().describe(text).meta({ example });

export const changedLinesDocument = z.strictObject({
  additions: lines('Lines added.', 12),
  deletions: lines('Lines removed.', 4),
});

export const diffDocument = z.strictObject({
  ...changedLinesDocument.shape,
  data: z.string().describe('The changes as a unified diff.').meta({ example: '@@ -1 +1 @@' }),
});

export const repositoryDocument = z.strictObject({
  id: z
    .uuid()
    .describe('Id of the repository. The runner chose it.')
    .meta({ example: '3e1c9a52-7f64-4d0b-8a35-5b6c0d9e2f11' }),
  name: z.string().describe('Name of the repository.').meta({ example: 'shop' }),
  provider: z.string().describe('Provider that hosts the repository.').meta({ example: 'github' }),
});

export const codeRepositoryDocument = z.strictObject({
  ...repositoryDocument.shape,
  owner: z.string().describe('Owner of the repository at the provider.').meta({ example: 'example' }),
  baseBranch: z.string().describe('Base branch of the repository.').meta({ example: 'main' }),
});

export const authorDocument = z.strictObject({
  avatarUrl: z.string().describe('Address of the avatar image.').meta({ example: 'https://github.com/example.png' }),
  login: z.string().describe('Login name at the provider.').meta({ example: 'example' }),
});

export const sourcePullRequestDocument = z.strictObject({
  id: z.uuid().describe('Id of the pull request.').meta({ example: '1c2a7f2e-3b35-4a0e-9a52-0d8f7f2f6a10' }),
  url: z
    .string()
    .describe('Address of the pull request at the provider.')
    .meta({ example: 'https://github.com/example/shop/pull/34' }),
  title: z.string().describe('Title of the pull request.').meta({ example: 'Wait for the cart before checking out' }),
  status: z
    .enum(PULL_REQUEST_STATUSES)
    .describe('Whether the pull request is open, merged or closed.')
    .meta({ example: 'open' }),
  isDraft: z.boolean().describe('Whether the pull request is a draft.').meta({ example: false }),
});

export const pullRequestDocument = z
  .strictObject({
    ...sourcePullRequestDocument.shape,
    sourceBranch: z.string().describe('The branch that contains the changes.').meta({ example: 'mend-checkout-test' }),
    baseBranch: z.string().describe('The branch to merge into.').meta({ example: 'main' }),
    headSha: z
      .string()
      .describe('Hash of the last commit of the source branch.')
      .meta({ example: '9fceb02d0ae598e95dc970b74767f19372d61af8' }),
    createdAt: at('When the pull request was first recorded.', '2026-03-01T10:40:00.000Z'),
    updatedAt: at('When the pull request was last recorded.', '2026-03-01T10:42:00.000Z'),
    agent: z.string().describe('Name of the agent that created the pull request.').meta({ example: 'coder' }),
    diff: z
      .strictObject({
        ...changedLinesDocument.shape,
        data: diffDocument.shape.data
          .nullable()
          .describe(
            `${textOf(diffDocument.shape.data)} The diffs in a session have at most 1 MiB together; further ones are null there, and whole at \`GET /v1/sessions/{sessionId}/pull-requests\`.`,
          )
          .meta({ example: '@@ -1 +1 @@' }),
      })
      .describe('The changes of the pull request.'),
    author: authorDocument.describe('The author of the pull request.'),
    codeRepository: codeRepositoryDocument.describe('The repository of the pull request.'),
  })
  .meta({ id: 'PullRequest' });

export const artifactDocument = z
  .strictObject({
    id: z.uuid().describe('Id of the artifact.').meta({ example: '5f2d3a60-6d6c-4b6f-9a7b-3e1d5c9b8a12' }),
    type: z.enum(ARTIFACT_TYPES).describe('Type of the artifact.').meta({ example: 'PullRequest' }),
    createdAt: at('When the artifact was recorded.', '2026-03-01T10:40:00.000Z'),
    updatedAt: at('When the artifact was last changed.', '2026-03-01T10:42:00.000Z'),
    pullRequests: z
      .array(pullRequestDocument)
      .describe('Pull requests of the artifact, at most 100, in the order of recording.'),
  })
  .meta({ id: 'Artifact' });

export const projectDocument = z.strictObject({
  id: z
    .uuid()
    .describe('Id of the project. The runner chose it.')
    .meta({ example: '7d444840-9dc0-41d1-8245-5ffdce74fad2' }),
  name: z.string().describe('Name of the project.').meta({ example: 'Shop' }),
  icon: z.enum(PROJECT_ICONS).describe('Icon of the project.').meta({ example: 'code' }),
  color: z.enum(PROJECT_COLORS).describe('Color of the project.').meta({ example: 'teal' }),
});

export const sourceDocument = z.strictObject({
  id: z.uuid().describe('Id of the source.').meta({ example: '6f1c1a0e-5f0b-4c58-9f0a-1d5f7c0f6a11' }),
  name: z.string().describe('Name of the source.').meta({ example: 'Issue 12' }),
  type: z.string().describe('Type of the source, as free text.').meta({ example: 'issue' }),
  repositories: z.array(repositoryDocument).describe('The repositories that the session works on, at most 100.'),
});

export const stateDocument = z.strictObject({
  isQueued: z.boolean().describe('Whether the session waits for a runner.').meta({ example: false }),
  isCancelled: z.boolean().describe('Whether the session was canceled.').meta({ example: false }),
  isCompleted: z.boolean().describe('Whether the session succeeded.').meta({ example: false }),
  isFailed: z.boolean().describe('Whether the session failed.').meta({ example: false }),
  inProgress: z.boolean().describe('Whether the session is running.').meta({ example: true }),
  current: z.enum(SESSION_STATES).describe('The state.').meta({ example: 'inProgress' }),
});

/** What GraphQL says of the artifacts: there they are a connection. */
export const ARTIFACTS_TEXT = 'The results of the session, at most 1,000, in the order of recording.';

export const sessionDocument = z
  .strictObject({
    id: readOnly(z.uuid()).describe('Id of the session.').meta({ example: '0c2f8f0e-5a0f-4c0c-9a5e-2f1d6b7c8a10' }),
    agent: z.string().nullable().describe('Name of the agent. Null when none was given.').meta({ example: 'coder' }),
    agentId: readOnly(z.uuid().nullable()).describe('Id of the agent. Null when none was given.'),
    artifactType: readOnly(z.enum(ARTIFACT_TYPES).nullable())
      .describe('The type of result that the agent is asked for. Null when none was given.')
      .meta({ example: 'PullRequest' }),
    baseBranch: z
      .string()
      .nullable()
      .describe('The branch that the session starts from. Null when none was given.')
      .meta({ example: 'main' }),
    branchName: z
      .string()
      .nullable()
      .describe('The branch that the session works on. Null when none was given.')
      .meta({ example: 'mend-checkout-test' }),
    targetBranch: z
      .string()
      .nullable()
      .describe('The branch to merge the changes into. Null when none was given.')
      .meta({ example: 'main' }),
    createdAt: readAt('When the session was created.', '2026-03-01T10:20:30.500Z'),
    updatedAt: readAt(
      'When the configuration or state last changed, or a result was recorded. `expectedUpdatedAt` is compared with it.',
      '2026-03-01T10:42:07.120Z',
    ),
    lastQueuedAt: readOnly(z.iso.datetime().nullable())
      .describe('When the session was last queued. Null when it was never queued.')
      .meta({ example: '2026-03-01T10:20:30.500Z' }),
    lastSeenAt: readAt(
      'When the runner last recorded something for the session, to the minute. Of a transcript, the time of its latest line.',
      '2026-03-01T10:42:00.000Z',
    ),
    externalId: readOnly(z.string().nullable())
      .describe('Id of the session in another system. Null when there is none.')
      .meta({ example: 'ISSUE-12' }),
    externalUrl: readOnly(z.string().nullable())
      .describe('URL of the session in another system. Null when there is none.')
      .meta({ example: 'https://tracker.example.com/issues/12' }),
    kind: readOnly(z.string())
      .describe('The kind of session, as free text of 1 to 100 characters.')
      .meta({ example: 'agent' }),
    level: z.int().describe('Level of the session, which the runner interprets.').meta({ example: 2 }),
    mcpServers: z
      .array(z.uuid())
      .describe(
        "The MCP connections that the agent can use, at most 100. Deleted connections and other users' personal connections are left out.",
      )
      .meta({ example: ['8d0f6f3e-0c55-4f0b-9d3c-6a1b2c3d4e5f'] }),
    mode: z.enum(MODES).describe('How the agent works.').meta({ example: 'normal' }),
    projectId: z
      .string()
      .nullable()
      .describe('Id of the project, or other free text. Null when none was given.')
      .meta({ example: '7d444840-9dc0-41d1-8245-5ffdce74fad2' }),
    sandboxSize: z
      .enum(SANDBOX_SIZES)
      .nullable()
      .describe('Size of the machine that the session runs on. Null when none was given.')
      .meta({ example: 'medium' }),
    sessionType: readOnly(z.enum(SESSION_TYPES))
      .describe('Interface for working with the agent.')
      .meta({ example: 'Chat' }),
    title: z
      .string()
      .describe('Title of the session, 1 to 1000 characters.')
      .meta({ example: 'Fix the flaky checkout test' }),
    description: z
      .string()
      .nullable()
      .describe('The task as plain text of at most 1,000,000 characters. Null when there is none.')
      .meta({ example: 'The test fails about one time in ten.' }),
    visibility: z.enum(VISIBILITIES).describe('Who can read the session.').meta({ example: 'public' }),
    htmlUrl: readOnly(z.string())
      .describe('URL of the session in the console.')
      .meta({ example: 'https://workspace.example.com/sessions/0c2f8f0e-5a0f-4c0c-9a5e-2f1d6b7c8a10' }),
    isPinned: readOnly(z.boolean())
      .describe('Whether the session is pinned to the top of lists.')
      .meta({ example: false }),
    diffSummary: readOnly(changedLinesDocument.nullable())
      .describe('How many lines the session changed. Null while that is unknown.')
      .meta({ example: { additions: 12, deletions: 4 } }),
    artifacts: readOnly(z.array(artifactDocument).nullable())
      .describe(
        `${ARTIFACTS_TEXT} Null if they are larger than ${inMib(pageBytesOf(MAX_ANSWER_BYTES))}; then list the pull requests at \`GET /v1/sessions/{sessionId}/pull-requests\`.`,
      )
      .meta({ example: [exampleOf(artifactDocument)] }),
    project: readOnly(projectDocument.nullable())
      .describe('The project with the id `projectId`. Null when there is none.')
      .meta({ example: exampleOf(projectDocument) }),
    sessionSource: readOnly(sourceDocument).describe('Where the session was started from.'),
    sourcePullRequest: readOnly(sourcePullRequestDocument.nullable()).describe(
      'The pull request that the session was started from. Null when there is none.',
    ),
    state: readOnly(stateDocument).describe('The state of the session.'),
  })
  .meta({ id: 'Session' });

/** The session of a transcript, with what has arrived of its files. */
export const ensuredDocument = z
  .strictObject({
    ...sessionDocument.shape,
    files: readOnly(
      z.array(
        z.strictObject({
          name: z
            .string()
            .describe('The path of the file below the folder that the agent has for the session.')
            .meta({ example: '0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b.jsonl' }),
          lines: z.int().describe('How many lines were received. Blank lines count.').meta({ example: 120 }),
          mark: z
            .string()
            .describe('SHA-256 in hexadecimal of the last of these lines, as it was sent, without its line break.')
            .meta({ example: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08' }),
        }),
      ),
    ).describe('What was received of each file of the transcript.'),
  })
  .meta({ id: 'EnsuredSession' });

export const holdDocument = z
  .strictObject({
    reason: z
      .string()
      .describe('Why the session is held, 1 to 1000 characters.')
      .meta({ example: 'Evidence in an investigation' }),
    heldBy: z
      .uuid()
      .nullable()
      .describe(
        'Who holds it. Null when that account was deleted. For a service account, GraphQL answers null and REST its id.',
      )
      .meta({ example: '3f2a8c1e-5b7d-4e9f-8a1b-2c3d4e5f6a7b' }),
    heldAt: at('Since when it is held.', '2026-03-01T10:20:30.000Z'),
  })
  .meta({ id: 'SessionHold' });

export const handledDocument = z
  .strictObject({
    by: z
      .uuid()
      .nullable()
      .describe('Who has marked the session as handled. Null when that account was deleted.')
      .meta({ example: '3f2a8c1e-5b7d-4e9f-8a1b-2c3d4e5f6a7b' }),
    at: at('When it was marked.', '2026-03-01T10:20:30.000Z'),
  })
  .meta({ id: 'SessionHandled' });

const total = (text: string, example: number) => z.int().nullable().describe(text).meta({ example });

export const usageDocument = z
  .strictObject({
    inputTokens: total(
      'Tokens that were sent to the model, as the agent reported them: some agents count cached tokens too.',
      1200,
    ),
    outputTokens: total('Tokens that the model has written.', 3400),
    cachedInputTokens: total('Tokens that were read from a cache of the model provider.', 90_000),
    cacheWriteTokens: total(
      'Tokens that were written to a cache of the model provider. `inputTokens` has them too.',
      4_000,
    ),
    costUsd: z.number().nullable().describe('Cost in US dollars.').meta({ example: 0.42 }),
    turns: total('Turns of the agent.', 12),
    toolCalls: total('Tool calls that have ended.', 31),
    toolErrors: total('Tool calls that have failed.', 2),
    durationMs: total('Time that the agent has worked, in milliseconds.', 184_000),
  } satisfies Record<UsageField, z.ZodType>)
  .meta({ id: 'SessionUsage' });

/** The transcript of an agent, in GraphQL alone. */
export const transcriptDocument = z.strictObject({
  agent: z
    .string()
    .describe('Name of the agent that wrote the transcript: `claude`, `codex`, `gemini`, `opencode` or another name.'),
  id: z.string().describe('Id of the transcript, which the agent gave to its session.'),
});

export interface SessionStateFlags {
  readonly isQueued: boolean;
  readonly isCancelled: boolean;
  readonly isCompleted: boolean;
  readonly isFailed: boolean;
  readonly inProgress: boolean;
  readonly current: SessionState;
}

/** The documented state object (Workspace Management API, section 3), whose booleans follow from the state. */
export const stateFlags = (current: SessionState): SessionStateFlags => ({
  isQueued: current === 'queued',
  isCancelled: current === 'cancelled',
  isCompleted: current === 'completed',
  isFailed: current === 'failed',
  inProgress: current === 'inProgress',
  current,
});

/** URL of the console page of a session. */
export const htmlUrlOf = (sessionId: SessionId, publicUrl: string): string => `${publicUrl}/sessions/${sessionId}`;
