import { builder } from '../../../core/graphql/builder.ts';
import { excerptArguments, excerptOf } from '../../../core/graphql/excerpts.ts';
import type { SessionStateFlags } from '../computed-fields.ts';
import type { AgentOptions, DiffSummary } from '../entity.ts';
import { SessionStateEnum } from './enums.ts';
import { DIFF_TEXTS, STATE_TEXTS, USAGE_TEXTS } from '../texts.ts';
import type { SessionUsage } from '../usage.ts';

/** GraphQL types for objects without an id that are stored in the row of a session. */

export const SessionStateType = builder.objectRef<SessionStateFlags>('SessionState').implement({
  description: 'The state of a session. The booleans follow from `current`: exactly one of them is true.',
  fields: (t) => ({
    current: t.expose('current', { type: SessionStateEnum, description: STATE_TEXTS.current }),
    isQueued: t.exposeBoolean('isQueued', { description: STATE_TEXTS.isQueued }),
    inProgress: t.exposeBoolean('inProgress', { description: STATE_TEXTS.inProgress }),
    isCompleted: t.exposeBoolean('isCompleted', { description: STATE_TEXTS.isCompleted }),
    isFailed: t.exposeBoolean('isFailed', { description: STATE_TEXTS.isFailed }),
    isCancelled: t.exposeBoolean('isCancelled', { description: STATE_TEXTS.isCancelled }),
  }),
});

export const DiffSummaryType = builder.objectRef<DiffSummary>('DiffSummary').implement({
  description: 'How many lines a session changed.',
  fields: (t) => ({
    additions: t.exposeInt('additions', { description: DIFF_TEXTS.additions }),
    deletions: t.exposeInt('deletions', { description: DIFF_TEXTS.deletions }),
  }),
});

export const SessionUsageType = builder.objectRef<SessionUsage>('SessionUsage').implement({
  description: 'The totals of a session. Each is null when no event has reported it.',
  fields: (t) => ({
    inputTokens: t.exposeFloat('inputTokens', { nullable: true, description: USAGE_TEXTS.inputTokens }),
    outputTokens: t.exposeFloat('outputTokens', { nullable: true, description: USAGE_TEXTS.outputTokens }),
    cachedInputTokens: t.exposeFloat('cachedInputTokens', {
      nullable: true,
      description: USAGE_TEXTS.cachedInputTokens,
    }),
    cacheWriteTokens: t.exposeFloat('cacheWriteTokens', { nullable: true, description: USAGE_TEXTS.cacheWriteTokens }),
    costUsd: t.exposeFloat('costUsd', { nullable: true, description: USAGE_TEXTS.costUsd }),
    turns: t.exposeFloat('turns', { nullable: true, description: USAGE_TEXTS.turns }),
    toolCalls: t.exposeFloat('toolCalls', { nullable: true, description: USAGE_TEXTS.toolCalls }),
    toolErrors: t.exposeFloat('toolErrors', { nullable: true, description: USAGE_TEXTS.toolErrors }),
    durationMs: t.exposeFloat('durationMs', { nullable: true, description: USAGE_TEXTS.durationMs }),
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
    reasoningLevel: t.exposeString('reasoningLevel', {
      nullable: true,
      description: 'How much the agent reasons; free text. Null when it was not given.',
    }),
    goal: t.expose('goal', {
      type: AgentGoalType,
      nullable: true,
      description: 'The goal of the agent. Null when it was not given.',
    }),
  }),
});
