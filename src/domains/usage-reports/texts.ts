import { type SumField, USAGE_TEXTS } from '../sessions/public.ts';

/** What the fields of a usage report mean, for both APIs. */

const { cacheWriteTokens: _cacheWriteTokens, ...USED } = USAGE_TEXTS;

export const USAGE_ROW_TEXTS = {
  key: 'The day, the name of the agent, model or tool, or the id of the project or creator. Null for what has none. The last of 1,000 rows is `other`, with the sum of all rows that are smaller.',
  label:
    'The key as people read it: the name of a project, the e-mail address of a creator, or the name of a service account. The key where that is not known.',
  sessions: 'Sessions that were created. Null where sessions are not counted: by model and by tool.',
  failedSessions: 'How often sessions have failed. Null where sessions are not counted: by model and by tool.',
  ...USED,
} as const satisfies Readonly<Record<Exclude<SumField, 'cacheWriteTokens'> | 'key' | 'label', string>>;

export const USAGE_REPORT_TEXTS = {
  rows: 'A row for each day, agent, model, project, creator or tool, the largest first: by cost, then tokens, tool calls and sessions. At most 1,000.',
  totals: 'The sums of all rows.',
} as const;

export const SESSION_COUNT_TEXTS = {
  key: 'The day of creation in UTC, the name of the agent, model or tool, or the id of the project or creator. Null for sessions that have none.',
  sessions: 'Sessions in any state.',
  queued: 'Sessions that wait for a runner.',
  inProgress: 'Sessions that are running.',
  completed: 'Sessions that have succeeded.',
  failed: 'Sessions that have failed.',
  cancelled: 'Sessions that were canceled.',
} as const;
