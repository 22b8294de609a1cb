import { resolveBatched } from '../../../core/graphql/batches.ts';
import { builder, ownStatements } from '../../../core/graphql/builder.ts';
import { enumOf } from '../../../core/graphql/enums.ts';
import { exposedWith, nullable } from '../../../core/graphql/fields.ts';
import { refusable } from '../../../core/graphql/refusable.ts';
import { needs } from '../../../core/graphql/selection.ts';
import { WORK } from '../../../core/work-budget.ts';
import { SessionType } from '../../sessions/graphql/types.ts';
import { READ_SESSIONS, type SessionRow } from '../../sessions/public.ts';
import { relayCursorId } from '../cursor.ts';
import { PART, type SessionOutline, WHOLE, outlinesOf } from '../outline-queries.ts';
import { ENTRY_KINDS, type OutlineEntry, type OutlineMark, type OutlineTool } from '../outline.ts';
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
      lastId: 'DatabaseId',
      endedAt: 'DateTime',
      toolCalls: 'Int',
      failures: 'Int',
      failureId: nullable('DatabaseId'),
      subagentId: nullable('String'),
      parentId: nullable('String'),
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
    ...exposedWith(t, OUTLINE_TEXTS, { lastId: nullable('DatabaseId'), hasMore: 'Boolean' }),
  }),
});

function outlineField(name: string, size: typeof PART, statements: number, description: string): void {
  builder.objectField(SessionType, name, (t) =>
    t.field({
      type: OutlineType,
      nullable: true,
      deprecationReason:
        'Use `Session.entries`, which have the messages, calls and subagents of each turn. Removed on 2027-07-01.',
      description: `${description} Read the next part with its \`lastId\`. Null when the session was deleted in the meantime.`,
      args: {
        after: t.arg.id({
          description:
            'The last event of the part before, as `lastId`. When absent, the part begins with the first event.',
        }),
      },
      extensions: { ...ownStatements(statements), ...refusable(READ_SESSIONS), ...needs<SessionRow>('id') },
      resolve: async ({ id }, { after }, context, info) => {
        const outlines = outlinesOf(context, relayCursorId(after, 'after') ?? 0, size);
        return (await resolveBatched({ context, info, args: { after } }, id, outlines)) ?? null;
      },
    }),
  );
}

outlineField(
  'outline',
  PART,
  1,
  'What happens in a part of the session: up to 1000 events after `after`, which end early at 4 MiB of data.',
);
outlineField(
  'wholeOutline',
  WHOLE,
  WORK.wholeOutlinePages,
  'What happens in the whole session, or in a large part of a long one: as `outline`, of up to 46,000 events and about 30 MiB of data. Where several sessions are asked for, each part is as small as that of `outline`. It costs as much as 10 statements.',
);
