/** Allowed values of session fields (workspace management API, sections 2.2 and 3). */

export const ARTIFACT_TYPES = ['PullRequest', 'ToolCall', 'Plan', 'Response', 'File', 'Service', 'Source'] as const;
export const MODES = ['normal', 'planning'] as const;
export const SANDBOX_SIZES = ['nano', 'micro', 'small', 'medium', 'large', 'xl', 'xxl', 'ultra'] as const;
export const SESSION_TYPES = ['Chat', 'Terminal'] as const;
export const VISIBILITIES = ['public', 'private'] as const;

export const SESSION_STATES = ['queued', 'inProgress', 'completed', 'failed', 'cancelled'] as const;
export type SessionState = (typeof SESSION_STATES)[number];

/** The states that can follow each state. A finished session can be queued again. */
export const NEXT_STATES: Readonly<Record<SessionState, readonly SessionState[]>> = {
  queued: ['inProgress', 'cancelled'],
  inProgress: ['completed', 'failed', 'cancelled'],
  completed: ['queued'],
  failed: ['queued'],
  cancelled: ['queued'],
};

/** Whether the session is finished. No events can be appended until it is queued again. */
export const isFinished = (state: SessionState): boolean =>
  state === 'completed' || state === 'failed' || state === 'cancelled';

export const PULL_REQUEST_STATUSES = ['open', 'merged', 'closed'] as const;
export const PROJECT_COLORS = [
  'neutral',
  'red',
  'orange',
  'yellow',
  'green',
  'teal',
  'blue',
  'purple',
  'pink',
] as const;
export const PROJECT_ICONS = [
  'folder',
  'code',
  'terminal',
  'book',
  'brain',
  'bug',
  'building',
  'cloud',
  'globe',
  'idea',
  'tools',
  'magic',
  'processor',
  'sandbox',
  'server',
  'tasks',
  'tactics',
  'images',
  'database',
  'api',
  'mobile',
  'package',
] as const;

/** The totals of a session. */
export const USAGE_FIELDS = [
  'inputTokens',
  'outputTokens',
  'cachedInputTokens',
  'cacheWriteTokens',
  'costUsd',
  'turns',
  'toolCalls',
  'toolErrors',
  'durationMs',
] as const;
export type UsageField = (typeof USAGE_FIELDS)[number];

/** The orders of GraphQL by their names in REST. */
export const SESSION_ORDERS = {
  createdAt: 'CREATED_AT',
  updatedAt: 'UPDATED_AT',
  lastSeenAt: 'LAST_SEEN_AT',
  cost: 'COST',
  inputTokens: 'INPUT_TOKENS',
  outputTokens: 'OUTPUT_TOKENS',
  tokens: 'TOKENS',
  duration: 'DURATION',
  toolErrors: 'TOOL_ERRORS',
} as const;
