import { shown } from '../../../core/graphql/derived-fields.ts';
import { exposed, nullable } from '../../../core/graphql/fields.ts';
import { keysOf } from '../../../core/keys-of.ts';
import { OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { excerptArguments, excerptOf } from '../../../core/graphql/excerpts.ts';
import { resolveReference } from '../../../core/graphql/references.ts';
import type { UserId } from '../../../core/ids.ts';
import { ActorType, resolveActor } from '../../organizations/graphql/actors.ts';
import { UserType } from '../../users/graphql.ts';
import { readUsers } from '../../users/public.ts';
import { actorField } from '../../organizations/graphql/actors.ts';
import type { AgentOptions, DiffSummary, SourcePullRequest, TranscriptSource } from '../entity.ts';
import './enums.ts';
import {
  type SessionStateFlags,
  changedLinesDocument,
  handledDocument,
  holdDocument,
  sourcePullRequestDocument,
  stateDocument,
  transcriptDocument,
  usageDocument,
} from '../documents.ts';
import type { SessionUsage } from '../usage.ts';
import type { FieldsOf } from '../../../core/graphql/nodes.ts';

/** GraphQL types for objects without an id that are stored in the row of a session. */

export const SessionStateType = builder.objectRef<SessionStateFlags>('SessionState').implement({
  description: 'The state of a session. The booleans follow from `current`: exactly one of them is true.',
  fields: (t) =>
    shown(t, stateDocument, ['current', 'isQueued', 'inProgress', 'isCompleted', 'isFailed', 'isCancelled']),
});

export const TranscriptSourceType = builder.objectRef<TranscriptSource>('TranscriptSource').implement({
  description: 'The transcript that an agent has left on disk.',
  fields: (t) => shown(t, transcriptDocument, ['agent', 'id']),
});

interface SessionHold {
  readonly reason: string;
  readonly heldById: UserId | null;
  readonly heldAt: string;
  readonly holdCreatorLabel: string | null;
}

export const SessionHoldType = builder.objectRef<SessionHold>('SessionHold').implement({
  description: 'Why a session is kept, by whom and since when.',
  fields: (t) => ({
    ...shown(t, holdDocument, ['reason', 'heldAt']),
    creatorLabel: t.string({
      nullable: true,
      description:
        'Name and address of the creator when the hold began, also when that account was deleted. Only for administrators, others get null.',
      resolve: ({ holdCreatorLabel }, _, { actor }) => (actor.organization?.role === 'admin' ? holdCreatorLabel : null),
    }),
    holder: t.field({
      type: ActorType,
      nullable: true,
      description: 'The person or service account that holds the session. Null when that account is gone.',
      extensions: OWN_STATEMENT,
      resolve: ({ heldById }, _, context, info) => resolveActor(context, info, heldById),
    }),
    heldBy: t.field({
      type: UserType,
      nullable: true,
      deprecationReason: 'Use `holder`, which has service accounts too. Removed on 2027-12-01.',
      description: holdDocument.shape.heldBy.description,
      extensions: OWN_STATEMENT,
      resolve: ({ heldById }, _, context, info) => resolveReference({ context, info }, 'User', heldById, readUsers),
    }),
  }),
});

interface SessionHandled {
  readonly by: UserId | null;
  readonly at: string;
}

export const SessionHandledType = builder.objectRef<SessionHandled>('SessionHandled').implement({
  description: 'Who has marked a failed session as handled, and when.',
  fields: (t) => ({
    by: actorField(t, 'by', 'Who has marked it. Null when that account was deleted.'),
    ...shown(t, handledDocument, ['at']),
  }),
});

export const DiffSummaryType = builder.objectRef<DiffSummary>('DiffSummary').implement({
  description: 'How many lines a session changed.',
  fields: (t) => shown(t, changedLinesDocument, ['additions', 'deletions']),
});

export const SessionUsageType = builder.objectRef<SessionUsage>('SessionUsage').implement({
  description: 'The totals of a session. Each is null when no event has reported it.',
  fields: (t) => shown(t, usageDocument, keysOf(usageDocument.shape), { integers: 'Float' }),
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

/** The fields that the pull request of an artifact and that of a source have in common. */
export const pullRequestFields = (t: FieldsOf<SourcePullRequest>) =>
  shown(t, sourcePullRequestDocument, ['url', 'title', 'status', 'isDraft'], { types: { url: 'URL' } });
