import { resolveBatched } from '../../../core/graphql/batches.ts';
import { OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { enumOf } from '../../../core/graphql/enums.ts';
import { exposedWith, nullable } from '../../../core/graphql/fields.ts';
import { refusable } from '../../../core/graphql/refusable.ts';
import { needs } from '../../../core/graphql/selection.ts';
import { SessionType } from '../../sessions/graphql/types.ts';
import { READ_SESSIONS, type SessionRow } from '../../sessions/public.ts';
import { relayCursorId } from '../cursor.ts';
import {
  ENTRY_KINDS,
  type OutlineEntry,
  type OutlineMark,
  type OutlineTool,
  type SessionOutline,
  outlinesOf,
} from '../outline.ts';
import { OUTLINE_ENTRY_TEXTS, OUTLINE_MARK_TEXTS, OUTLINE_TEXTS, OUTLINE_TOOL_TEXTS } from '../texts.ts';

const MarkType = builder.objectRef<OutlineMark>('SessionOutlineMark').implement({
  description: 'What some consecutive events of a session report, summed.',
  fields: (t) =>
    exposedWith(t, OUTLINE_MARK_TEXTS, {
      firstId: 'DatabaseId',
      createdAt: 'DateTime',
      messages: 'Int',
      toolCalls: 'Int',
      failures: 'Int',
      failureId: nullable('DatabaseId'),
      inputTokens: 'Float',
      outputTokens: 'Float',
      costUsd: 'Float',
    }),
});

const EntryKindEnum = enumOf('SessionOutlineEntryKind', 'What begins at an entry of an outline.', ENTRY_KINDS, {
  turn: 'A message of the user.',
  subagent: 'A subagent or a background task: the call that started it.',
});

const EntryType = builder.objectRef<OutlineEntry>('SessionOutlineEntry').implement({
  description: 'An entry of the outline of a session.',
  fields: (t) =>
    exposedWith(t, OUTLINE_ENTRY_TEXTS, {
      eventId: 'DatabaseId',
      createdAt: 'DateTime',
      kind: EntryKindEnum,
      text: 'String',
    }),
});

const ToolType = builder.objectRef<OutlineTool>('SessionOutlineTool').implement({
  description: 'The calls of a tool that have ended in a part of a session.',
  fields: (t) =>
    exposedWith(t, OUTLINE_TOOL_TEXTS, {
      name: 'String',
      calls: 'Int',
      failures: 'Int',
      durationMs: 'Float',
      firstId: 'DatabaseId',
      failureId: nullable('DatabaseId'),
    }),
});

const OutlineType = builder.objectRef<SessionOutline>('SessionOutline').implement({
  description: 'What happens in a part of a session.',
  fields: (t) => ({
    marks: t.expose('marks', { type: [MarkType], description: OUTLINE_TEXTS.marks }),
    entries: t.expose('entries', { type: [EntryType], description: OUTLINE_TEXTS.entries }),
    tools: t.expose('tools', { type: [ToolType], description: OUTLINE_TEXTS.tools }),
    models: t.exposeStringList('models', { description: OUTLINE_TEXTS.models }),
    ...exposedWith(t, OUTLINE_TEXTS, { lastId: 'DatabaseId', hasMore: 'Boolean' }),
  }),
});

builder.objectField(SessionType, 'outline', (t) =>
  t.field({
    type: OutlineType,
    nullable: true,
    description:
      'What happens in a part of the session: up to 1000 events after `after`, which end early at 4 MiB of data. Read the next part with its `lastId`. Null when the session was deleted in the meantime.',
    args: {
      after: t.arg.id({
        description:
          'The last event of the part before, as `lastId`. When absent, the part begins with the first event.',
      }),
    },
    extensions: { ...OWN_STATEMENT, ...refusable(READ_SESSIONS), ...needs<SessionRow>('id') },
    resolve: async ({ id }, { after }, context, info) => {
      const outlines = outlinesOf(context, relayCursorId(after, 'after') ?? 0);
      return (await resolveBatched({ context, info, args: { after } }, id, outlines)) ?? null;
    },
  }),
);
