import type { UsageField } from './vocabulary.ts';

/** What the fields of sessions mean, for both APIs. */

export const TRANSCRIPT_TEXTS = {
  agent: 'Name of the agent that wrote the transcript: `claude`, `codex`, `gemini`, `opencode` or another name.',
  id: 'Id of the transcript, which the agent gave to its session.',
} as const;

export const SESSION_TEXTS = {
  id: 'Id of the session.',
  title: 'Title of the session, 1 to 1000 characters.',
  description: 'The task as plain text of at most 1,000,000 characters. Null when there is none.',
  richContent: 'The task as a rich-text document. Null when there is none, or only a plain-text `description`.',
  kind: 'The kind of session, as free text of 1 to 100 characters.',
  artifactType: 'The type of result that the agent is asked for. Null when none was given.',
  artifacts: 'The results of the session, at most 1,000, in the order of recording.',
  sessionType: 'Interface for working with the agent.',
  mode: 'How the agent works.',
  visibility: 'Who can read the session.',
  level: 'Level of the session, which the runner interprets.',
  agent: 'Name of the agent. Null when none was given.',
  agentId: 'Id of the agent. Null when none was given.',
  agentOptions: 'Options of the agent. Null when none were given.',
  sandboxSize: 'Size of the machine that the session runs on. Null when none was given.',
  mcpServers:
    "The MCP connections that the agent can use, at most 100. Deleted connections and other users' personal connections are left out.",
  baseBranch: 'The branch that the session starts from. Null when none was given.',
  branchName: 'The branch that the session works on. Null when none was given.',
  targetBranch: 'The branch to merge the changes into. Null when none was given.',
  diffSummary: 'How many lines the session changed. Null while that is unknown.',
  sessionSource: 'Where the session was started from.',
  source: 'The transcript of an agent that the session was ensured for. Null for other sessions.',
  sourcePullRequest: 'The pull request that the session was started from. Null when there is none.',
  projectId: 'Id of the project, or other free text. Null when none was given.',
  project: 'The project with the id `projectId`. Null when there is none.',
  externalId: 'Id of the session in another system. Null when there is none.',
  externalUrl: 'URL of the session in another system. Null when there is none.',
  htmlUrl: 'URL of the session in the console.',
  state: 'The state of the session.',
  usage: 'Tokens, costs and calls, as the events of the session have reported them.',
  isPinned: 'Whether the session is pinned to the top of lists.',
  hold: 'Keeps the session: while it is held, it cannot be deleted or redacted, and retention skips it. Null without one.',
  redactedAt:
    'When texts of the session were last redacted: what was read of it before can have texts that are gone now. Null when none were.',
  createdAt: 'When the session was created.',
  updatedAt:
    'When the configuration or state last changed, or a result was recorded. `expectedUpdatedAt` is compared with it.',
  lastQueuedAt: 'When the session was last queued. Null when it was never queued.',
  lastSeenAt:
    'When the runner last recorded something for the session, to the minute. Of a transcript, the time of its latest line.',
} as const;

export const USAGE_TEXTS = {
  inputTokens: 'Tokens that were sent to the model, as the agent reported them: some agents count cached tokens too.',
  outputTokens: 'Tokens that the model has written.',
  cachedInputTokens: 'Tokens that were read from a cache of the model provider.',
  cacheWriteTokens: 'Tokens that were written to a cache of the model provider. `inputTokens` has them too.',
  costUsd: 'Cost in US dollars.',
  turns: 'Turns of the agent.',
  toolCalls: 'Tool calls that have ended.',
  toolErrors: 'Tool calls that have failed.',
  durationMs: 'Time that the agent has worked, in milliseconds.',
} as const satisfies Readonly<Record<UsageField, string>>;

export const HOLD_TEXTS = {
  reason: 'Why the session is held, 1 to 1000 characters.',
  heldBy:
    'Who holds it. Null when that account was deleted. For a service account, GraphQL answers null and REST its id.',
  heldAt: 'Since when it is held.',
} as const;

export const STATE_TEXTS = {
  current: 'The state.',
  isQueued: 'Whether the session waits for a runner.',
  inProgress: 'Whether the session is running.',
  isCompleted: 'Whether the session succeeded.',
  isFailed: 'Whether the session failed.',
  isCancelled: 'Whether the session was canceled.',
} as const;

export const AGENT_OPTIONS_TEXTS = {
  reasoningLevel: 'How much the agent reasons, as free text.',
  goal: 'The goal of the agent.',
} as const;

export const GOAL_TEXTS = {
  enabled: 'Whether the agent works towards the goal.',
  objective: 'The goal in words.',
} as const;

export const PROJECT_TEXTS = {
  id: 'Id of the project. The runner chose it.',
  name: 'Name of the project.',
  icon: 'Icon of the project.',
  color: 'Color of the project.',
} as const;

export const SOURCE_TEXTS = {
  id: 'Id of the source.',
  name: 'Name of the source.',
  type: 'Type of the source, as free text.',
  repositories: 'The repositories that the session works on, at most 100.',
} as const;

export const SOURCE_REPOSITORY_TEXTS = {
  id: 'Id of the repository. The runner chose it.',
  name: 'Name of the repository.',
  provider: 'Provider that hosts the repository.',
} as const;

export const SOURCE_PULL_REQUEST_TEXTS = {
  id: 'Id of the pull request.',
  url: 'Address of the pull request at the provider.',
  title: 'Title of the pull request.',
  status: 'Whether the pull request is open, merged or closed.',
  isDraft: 'Whether the pull request is a draft.',
} as const;

export const PULL_REQUEST_TEXTS = {
  ...SOURCE_PULL_REQUEST_TEXTS,
  sourceBranch: 'The branch that contains the changes.',
  baseBranch: 'The branch to merge into.',
  headSha: 'Hash of the last commit of the source branch.',
  agent: 'Name of the agent that created the pull request.',
  diff: 'The changes of the pull request.',
  author: 'The author of the pull request.',
  codeRepository: 'The repository of the pull request.',
  createdAt: 'When the pull request was first recorded.',
  updatedAt: 'When the pull request was last recorded.',
} as const;

export const DIFF_TEXTS = {
  additions: 'Lines added.',
  deletions: 'Lines removed.',
  data: 'The changes as a unified diff.',
} as const;

export const AUTHOR_TEXTS = {
  avatarUrl: 'Address of the avatar image.',
  login: 'Login name at the provider.',
} as const;

export const CODE_REPOSITORY_TEXTS = {
  ...SOURCE_REPOSITORY_TEXTS,
  owner: 'Owner of the repository at the provider.',
  baseBranch: 'Base branch of the repository.',
} as const;

export const ARTIFACT_TEXTS = {
  id: 'Id of the artifact.',
  type: 'Type of the artifact.',
  pullRequests: 'Pull requests of the artifact, at most 100, in the order of recording.',
  createdAt: 'When the artifact was recorded.',
  updatedAt: 'When the artifact was last changed.',
} as const;
