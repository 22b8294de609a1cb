import type { z } from 'zod';
import type {
  artifactDocument,
  holdDocument,
  pullRequestDocument,
  sessionDocument,
  usageDocument,
} from './rest-documents.ts';

const repository = { id: '3e1c9a52-7f64-4d0b-8a35-5b6c0d9e2f11', name: 'shop', provider: 'github' };

/** Examples for the OpenAPI document. */

export const pullRequestExample: z.input<typeof pullRequestDocument> = {
  id: '1c2a7f2e-3b35-4a0e-9a52-0d8f7f2f6a10',
  url: 'https://github.com/example/shop/pull/34',
  title: 'Wait for the cart before checking out',
  status: 'open',
  isDraft: false,
  sourceBranch: 'mend-checkout-test',
  baseBranch: 'main',
  headSha: '9fceb02d0ae598e95dc970b74767f19372d61af8',
  createdAt: '2026-03-01T10:40:00.000Z',
  updatedAt: '2026-03-01T10:42:00.000Z',
  agent: 'coder',
  diff: { additions: 12, deletions: 4, data: '@@ -1 +1 @@' },
  author: { avatarUrl: 'https://github.com/example.png', login: 'example' },
  codeRepository: { ...repository, owner: 'example', baseBranch: 'main' },
};

const { id: _id, createdAt: _createdAt, updatedAt: _updatedAt, ...recorded } = pullRequestExample;
/** What a runner sends to record the pull request of the example. */
export const recordedPullRequestExample = recorded;

export const artifactExample: z.input<typeof artifactDocument> = {
  id: '5f2d3a60-6d6c-4b6f-9a7b-3e1d5c9b8a12',
  type: 'PullRequest',
  createdAt: '2026-03-01T10:40:00.000Z',
  updatedAt: '2026-03-01T10:42:00.000Z',
  pullRequests: [pullRequestExample],
};

export const holdExample: z.input<typeof holdDocument> = {
  reason: 'Evidence in an investigation',
  heldBy: '3f2a8c1e-5b7d-4e9f-8a1b-2c3d4e5f6a7b',
  heldAt: '2026-03-01T10:20:30.000Z',
};

export const usageExample: z.input<typeof usageDocument> = {
  inputTokens: 1200,
  outputTokens: 3400,
  cachedInputTokens: 90_000,
  cacheWriteTokens: 4_000,
  costUsd: 0.42,
  turns: 12,
  toolCalls: 31,
  toolErrors: 2,
  durationMs: 184_000,
};

export const sessionExample: z.input<typeof sessionDocument> = {
  id: '0c2f8f0e-5a0f-4c0c-9a5e-2f1d6b7c8a10',
  agent: 'coder',
  agentId: null,
  artifactType: 'PullRequest',
  baseBranch: 'main',
  branchName: 'mend-checkout-test',
  targetBranch: 'main',
  createdAt: '2026-03-01T10:20:30.500Z',
  updatedAt: '2026-03-01T10:42:07.120Z',
  lastQueuedAt: '2026-03-01T10:20:30.500Z',
  lastSeenAt: '2026-03-01T10:42:00.000Z',
  externalId: 'ISSUE-12',
  externalUrl: 'https://tracker.example.com/issues/12',
  kind: 'agent',
  level: 2,
  mcpServers: ['8d0f6f3e-0c55-4f0b-9d3c-6a1b2c3d4e5f'],
  mode: 'normal',
  projectId: '7d444840-9dc0-41d1-8245-5ffdce74fad2',
  sandboxSize: 'medium',
  sessionType: 'Chat',
  title: 'Fix the flaky checkout test',
  description: 'The test fails about one time in ten.',
  visibility: 'public',
  htmlUrl: 'https://workspace.example.com/sessions/0c2f8f0e-5a0f-4c0c-9a5e-2f1d6b7c8a10',
  isPinned: false,
  diffSummary: { additions: 12, deletions: 4 },
  artifacts: [artifactExample],
  project: { id: '7d444840-9dc0-41d1-8245-5ffdce74fad2', name: 'Shop', icon: 'code', color: 'teal' },
  sessionSource: {
    id: '6f1c1a0e-5f0b-4c58-9f0a-1d5f7c0f6a11',
    name: 'Issue 12',
    type: 'issue',
    repositories: [repository],
  },
  sourcePullRequest: null,
  state: {
    isQueued: false,
    isCancelled: false,
    isCompleted: false,
    isFailed: false,
    inProgress: true,
    current: 'inProgress',
  },
};
