import { exposed, exposedWith, nullable } from '../../../core/graphql/fields.ts';
import { OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { excerptArguments, excerptOf } from '../../../core/graphql/excerpts.ts';
import { resolveReference } from '../../../core/graphql/references.ts';
import type { UserId } from '../../../core/ids.ts';
import { UserType } from '../../users/graphql.ts';
import { readUsers } from '../../users/public.ts';
import type { SessionStateFlags } from '../computed-fields.ts';
import type { AgentOptions, DiffSummary, TranscriptSource } from '../entity.ts';
import { SessionStateEnum } from './enums.ts';
import { DIFF_TEXTS, HOLD_TEXTS, STATE_TEXTS, TRANSCRIPT_TEXTS, USAGE_TEXTS } from '../texts.ts';
import type { SessionUsage } from '../usage.ts';

/** GraphQL types for objects without an id that are stored in the row of a session. */

export const SessionStateType = builder.objectRef<SessionStateFlags>('SessionState').implement({
  description: 'The state of a session. The booleans follow from `current`: exactly one of them is true.',
  fields: (t) => ({
    ...exposedWith(t, STATE_TEXTS, {
      current: SessionStateEnum,
      isQueued: 'Boolean',
      inProgress: 'Boolean',
      isCompleted: 'Boolean',
      isFailed: 'Boolean',
      isCancelled: 'Boolean',
    }),
  }),
});

export const TranscriptSourceType = builder.objectRef<TranscriptSource>('TranscriptSource').implement({
  description: 'The transcript that an agent has left on disk.',
  fields: (t) => exposedWith(t, TRANSCRIPT_TEXTS, { agent: 'String', id: 'String' }),
});

interface SessionHold {
  readonly reason: string;
  readonly heldById: UserId | null;
  readonly heldAt: string;
}

export const SessionHoldType = builder.objectRef<SessionHold>('SessionHold').implement({
  description: 'Why a session is kept, by whom and since when.',
  fields: (t) => ({
    reason: t.exposeString('reason', { description: HOLD_TEXTS.reason }),
    heldBy: t.field({
      type: UserType,
      nullable: true,
      description: HOLD_TEXTS.heldBy,
      extensions: OWN_STATEMENT,
      resolve: ({ heldById }, _, context, info) => resolveReference({ context, info }, 'User', heldById, readUsers),
    }),
    heldAt: t.expose('heldAt', { type: 'DateTime', description: HOLD_TEXTS.heldAt }),
  }),
});

export const DiffSummaryType = builder.objectRef<DiffSummary>('DiffSummary').implement({
  description: 'How many lines a session changed.',
  fields: (t) => ({
    ...exposedWith(t, DIFF_TEXTS, { additions: 'Int', deletions: 'Int' }),
  }),
});

export const SessionUsageType = builder.objectRef<SessionUsage>('SessionUsage').implement({
  description: 'The totals of a session. Each is null when no event has reported it.',
  fields: (t) => ({
    ...exposedWith(t, USAGE_TEXTS, {
      inputTokens: nullable('Float'),
      outputTokens: nullable('Float'),
      cachedInputTokens: nullable('Float'),
      cacheWriteTokens: nullable('Float'),
      costUsd: nullable('Float'),
      turns: nullable('Float'),
      toolCalls: nullable('Float'),
      toolErrors: nullable('Float'),
      durationMs: nullable('Float'),
    }),
  }),
});

const AgentGoalType = builder.objectRef<NonNullable<AgentOptions['goal']>>('AgentGoal').implement({
  description: 'The goal of the agent.',
  fields: (t) => ({
    enabled: t.exposeBoolean('enabled', {
      nullable: true,
      description: 'Whether the agent works towards the goal. Null when it was not given.',
    }),
    objective: t.string({
      nullable: true,
      description: 'The goal in words, at most 100,000 characters. Null when it was not given.',
      args: excerptArguments,
      resolve: ({ objective }, args) => (objective == null ? null : excerptOf(objective, args)),
    }),
  }),
});

export const AgentOptionsType = builder.objectRef<AgentOptions>('AgentOptions').implement({
  description: 'Options of the agent.',
  fields: (t) => ({
    ...exposed(t, {
      reasoningLevel: [nullable('String'), 'How much the agent reasons; free text. Null when it was not given.'],
      goal: [nullable(AgentGoalType), 'The goal of the agent. Null when it was not given.'],
    }),
  }),
});
