import { resolveBatched, resolvePlanned } from '../../../core/graphql/batches.ts';
import { type GraphQLContext, OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { connectionType, connectionsBelow } from '../../../core/graphql/connections.ts';
import { filterType } from '../../../core/graphql/derived-inputs.ts';
import { enumOf } from '../../../core/graphql/enums.ts';
import { excerptArguments, excerptOf } from '../../../core/graphql/excerpts.ts';
import { keyFromId, parseGlobalId, toGlobalId } from '../../../core/graphql/global-ids.ts';
import { type FieldsOf, nodeType } from '../../../core/graphql/nodes.ts';
import { refusable, withAccess } from '../../../core/graphql/refusable.ts';
import { needs } from '../../../core/graphql/selection.ts';
import { type PageArguments } from '../../../core/postgres/reading/keyset.ts';
import { SessionType } from '../../sessions/graphql/types.ts';
import { READ_SESSIONS, type SessionRow, sessionNotFound } from '../../sessions/public.ts';
import { afterEnd, entryPosition, relayCursorId } from '../cursor.ts';
import { purposeOf } from '../outline.ts';
import { ENTRY_KINDS, type EntryKind } from '../entry-fold.ts';
import { countsOfEntryEvents, pagesOfEntryEvents } from '../entry-events.ts';
import {
  type EntryOwner,
  type EntryRow,
  countsOfEntries,
  findCalls,
  findEntries,
  findSubagents,
  ownerKey,
  ownerOf,
  pagesOfEntries,
  turnsOf,
} from '../entry-queries.ts';
import { type EntryBatch, type TailedEntries, tailSessionEntries } from '../entry-tail.ts';
import { type SessionEntryFilter, sessionEntryFilter } from '../input.ts';
import { SessionEventType, eventConnection, placeOf, sessionKey } from './operations.ts';
import { int32 } from './types.ts';

const KindEnum = enumOf('SessionEntryKind', 'What an entry of a session is.', ENTRY_KINDS, {
  userMessage: 'What a person says, or the prompt of a subagent.',
  agentMessage: 'What an agent says.',
  thinking: 'What an agent thinks.',
  toolCall: 'A call of a tool, with its result.',
  note: 'Anything else that says something to a person, such as an error of the provider.',
});

const TYPE_NAMES: Readonly<Record<EntryKind, string>> = {
  userMessage: 'UserMessage',
  agentMessage: 'AgentMessage',
  thinking: 'Thinking',
  toolCall: 'ToolCall',
  note: 'SessionNote',
};

const EntryInterface = builder.interfaceRef<EntryRow>('SessionEntry');
EntryInterface.implement({
  description:
    'An entry of a session: what people read of one or more of its events. Its id is that of its first event.',
  interfaces: [builder.nodeInterfaceRef()],
  resolveType: ({ kind }) => TYPE_NAMES[kind],
  fields: (t) => ({
    id: t.id({
      description: 'Opaque id, unique over all types; `node` finds the object by it.',
      resolve: (row) => toGlobalId(TYPE_NAMES[row.kind], keyOf(row)),
    }),
    databaseId: t.expose('id', { type: 'DatabaseId', description: 'The id that REST uses: that of the first event.' }),
    kind: t.expose('kind', { type: KindEnum, description: 'What the entry is.' }),
    turn: t.exposeInt('turn', {
      description: 'Number of the turn, from 1: each message of a person begins one. 0 before the first.',
    }),
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'When the entry began.' }),
    endedAt: t.expose('endedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the entry ended. Null while it is open.',
    }),
    lastEventId: t.expose('lastEventId', {
      type: 'DatabaseId',
      description: 'Id of the last event that has changed the entry.',
    }),
    isFailed: t.exposeBoolean('isFailed', {
      description: 'Whether a call has failed, or a note is an error of the provider.',
    }),
    isOpen: t.exposeBoolean('isOpen', { description: 'Whether the entry has not ended. False in a finished session.' }),
    subagent: t.field({
      type: SubagentType,
      nullable: true,
      description: 'The subagent that the entry belongs to. Null for the agent itself.',
      resolve: ({ sessionId, subagentId }) => (subagentId === null ? null : { sessionId, subagentId }),
    }),
    events: t.connection(
      {
        type: SessionEventType,
        description: 'The events of the entry, by ascending id. A page has 1 to 1000 events.',
        resolve: (row, args, context, info) =>
          resolvePlanned({ context, info, args }, keyOf(row), (given) =>
            connectionsBelow(
              { context, info },
              {
                pages: (keys) => pagesOfEntryEvents(context, given)(keys),
                counts: () => countsOfEntryEvents(context),
                countedBy: {},
                columns: undefined,
              },
            ),
          ),
      },
      eventConnection,
    ),
  }),
});

const keyOf = ({ sessionId, id }: Pick<EntryRow, 'sessionId' | 'id'>) => `${sessionId}:${id}`;

type Subagent = Required<EntryOwner>;

const subagentsIn = (keys: readonly string[]) =>
  keys.flatMap((key) => {
    const { sessionId, subagentId } = ownerOf(key) ?? {};
    return sessionId === undefined || subagentId === undefined ? [] : { sessionId, subagentId };
  });

/** The text of the events of a subagent, also from its global id. */
function subagentIdOf(given: string): string {
  const id = parseGlobalId(given);
  return (id?.typename === 'SessionSubagent' ? ownerOf(id.key)?.subagentId : undefined) ?? given;
}

const callOf = (context: GraphQLContext, info: Parameters<typeof resolveBatched>[0]['info'], subagent: Subagent) =>
  resolveBatched({ context, info }, ownerKey(subagent), async (keys) => {
    const calls = await findCalls(context, subagentsIn(keys));
    return new Map(calls.map((call) => [ownerKey({ sessionId: call.sessionId, subagentId: call.callId ?? '' }), call]));
  });

const SubagentType = nodeType<Subagent>('SessionSubagent', {
  description: 'A subagent or a background task of a session.',
  keyOf: ownerKey,
  keyColumns: ['sessionId', 'subagentId'],
  load: (context, keys) =>
    findSubagents(
      context,
      keys.filter((key) => subagentsIn([key]).length > 0),
    ),
  fields: (t) => ({
    databaseId: t.expose('subagentId', {
      type: 'DatabaseId',
      description: 'The id that the events of the subagent have, unique in the session.',
    }),
    name: t.string({
      description: 'What the subagent is for, or else the tool that started it, or its id.',
      extensions: OWN_STATEMENT,
      resolve: async (row, _, context, info) => {
        const call = await callOf(context, info, row);
        return (call && (purposeOf(call.content.text) || call.toolName)) ?? row.subagentId;
      },
    }),
    toolCall: t.field({
      type: ToolCallType,
      nullable: true,
      description: 'The call that started the subagent. Null if it is not known.',
      extensions: OWN_STATEMENT,
      resolve: async (row, _, context, info) => (await callOf(context, info, row)) ?? null,
    }),
    entries: entriesField(t, 'The entries of the subagent.', (owner) => owner),
  }),
});

const load = (context: GraphQLContext, keys: readonly string[]) => findEntries(context, keys.flatMap(placeOf));

function entryType(
  kind: EntryKind,
  description: string,
  fields: (t: FieldsOf<EntryRow>) => ReturnType<Parameters<typeof nodeType<EntryRow>>[1]['fields']>,
) {
  return nodeType<EntryRow>(TYPE_NAMES[kind], {
    description,
    keyOf,
    keyColumns: ['sessionId', 'id'],
    interfaces: [EntryInterface],
    load: async (context, keys) => (await load(context, keys)).filter((row) => row.kind === kind),
    fields,
  });
}

const textFields = (t: FieldsOf<EntryRow>) => ({
  text: t.string({
    description: 'The text.',
    args: excerptArguments,
    resolve: ({ content }, args) => excerptOf(content.text, args),
  }),
  isTextCut: t.boolean({
    description: 'Whether the text is only the first 120,000 characters of parts whose whole never came.',
    resolve: ({ content }) => content.isTextCut,
  }),
});

entryType('userMessage', 'What a person says, without what the program has put around it.', textFields);
entryType('agentMessage', 'What an agent says.', (t) => ({
  ...textFields(t),
  model: t.exposeString('model', { nullable: true, description: 'The model. Null when it is not known.' }),
  isFinal: t.exposeBoolean('isFinal', {
    description: 'Whether it is the answer: the last message of a turn that has ended.',
  }),
}));
entryType('thinking', 'What an agent thinks.', textFields);
entryType('note', 'Anything else that says something to a person.', (t) => ({
  ...textFields(t),
  provider: t.exposeString('provider', { nullable: true, description: 'The provider of the event. Null for none.' }),
}));
const ToolCallType = entryType('toolCall', 'A call of a tool, with its result.', (t) => ({
  toolName: t.string({ description: 'Name of the tool.', resolve: ({ toolName }) => toolName ?? 'tool' }),
  title: t.string({
    nullable: true,
    description: 'The title that the tool gave the call. Null for none.',
    resolve: ({ content }) => content.title,
  }),
  input: t.string({
    description: 'The input, often JSON.',
    args: excerptArguments,
    resolve: ({ content }, args) => excerptOf(content.text, args),
  }),
  output: t.string({
    description: 'The output so far, or why the call failed. Empty for none.',
    args: excerptArguments,
    resolve: ({ content }, args) => excerptOf(content.output, args),
  }),
  exitCode: t.int({
    nullable: true,
    description: 'The exit code. Null for none, and for one of more than 32 bits.',
    resolve: ({ content }) => int32(content.exitCode),
  }),
  durationMs: t.float({
    nullable: true,
    description: 'Time from the call to its result. Null while there is none.',
    resolve: ({ durationMs }) => durationMs,
  }),
  startedSubagent: t.field({
    type: SubagentType,
    nullable: true,
    description: 'The subagent that the call has started. Null for none.',
    resolve: ({ sessionId, callId, startsSubagent }) =>
      startsSubagent && callId !== null ? { sessionId, subagentId: callId } : null,
  }),
}));

const FilterInput = filterType('SessionEntryFilter', sessionEntryFilter);
// An interface has connections like an object.
const entryConnection = connectionType(EntryInterface as never as ReturnType<typeof nodeType<EntryRow>>, {
  of: 'session entries',
});
const FILTER = 'Conditions on the entries. When absent, all entries are included.';

function entriesField<Row extends object>(
  t: FieldsOf<Row>,
  description: string,
  owner: (row: Row) => EntryOwner,
  extensions = {},
) {
  return t.connection(
    {
      type: EntryInterface,
      description: `${description} In the order in which they began. A page has 1 to 500 entries.`,
      args: { filter: t.arg({ type: FilterInput, description: FILTER }) },
      extensions,
      resolve: (row, { filter: given, ...page }, context, info) => {
        const filter = { ...given, subagentIds: given?.subagentIds?.map(subagentIdOf) };
        return resolvePlanned({ context, info, args: { filter, page } }, ownerKey(owner(row)), () =>
          entriesBelow(context, info, filter, page),
        ) as never;
      },
    },
    entryConnection,
  );
}

const entriesBelow = (
  context: GraphQLContext,
  info: Parameters<typeof resolveBatched>[0]['info'],
  filter: SessionEntryFilter,
  page: PageArguments,
) =>
  connectionsBelow<EntryRow>(
    { context, info },
    {
      pages: async (ids) => pagesOfEntries(context, { filter, page })(ids),
      counts: () => countsOfEntries(context, filter),
      countedBy: filter,
      columns: undefined,
      missing: () => sessionNotFound(),
    },
  );

builder.objectFields(SessionType, (t) => ({
  entries: entriesField<SessionRow>(
    t,
    'What people read of the session: messages, calls of tools, thinking and notes.',
    ({ id }) => ({ sessionId: id }),
    // Whoever has a subagent can read its session.
    { ...refusable(READ_SESSIONS), ...needs<SessionRow>('id') },
  ),
  turns: t.int({
    description: 'Number of the turns: of the messages of people outside of subagents.',
    extensions: { ...OWN_STATEMENT, ...refusable(READ_SESSIONS), ...needs<SessionRow>('id') },
    resolve: async ({ id }, _, context, info) => (await resolveBatched({ context, info }, id, turnsOf(context))) ?? 0,
  }),
  entry: t.field({
    type: EntryInterface,
    nullable: true,
    description: 'An entry of the session. Null if it has no such entry.',
    args: { id: t.arg.id({ required: true, description: '`id` or `databaseId` of the entry.' }) },
    extensions: { ...OWN_STATEMENT, ...refusable(READ_SESSIONS), ...needs<SessionRow>('id') },
    resolve: async ({ id: sessionId }, { id }, context, info) => {
      const key = Object.values(TYPE_NAMES).reduce((found, name) => String(keyFromId(name, found)), id);
      const [place] = placeOf(key.includes(':') ? key : `${sessionId}:${key}`);
      if (place?.sessionId !== sessionId) return null;
      const find = async (keys: readonly string[]) =>
        new Map((await load(context, keys)).map((row) => [keyOf(row), row]));
      return (await resolveBatched({ context, info }, keyOf(place), find)) ?? null;
    },
  }),
}));

const BatchType = builder.objectRef<EntryBatch>('SessionEntryBatch').implement({
  description: 'Entries that have begun or changed.',
  fields: (t) => ({
    entries: t.field({
      type: [EntryInterface],
      description: 'The entries, as they are now.',
      resolve: ({ entries }) => entries,
    }),
    removedIds: t.idList({
      description:
        'Ids of entries that are no more, because their events were deleted or superseded. What is left of an entry has another id, and is among `entries`. Turns keep their numbers.',
      resolve: ({ removed }) => removed.map((entry) => toGlobalId(TYPE_NAMES[entry.kind], keyOf(entry))),
    }),
    lastEventId: t.expose('lastEventId', {
      type: 'DatabaseId',
      description: 'The last event that was looked at, for `after`.',
    }),
    isEnded: t.exposeBoolean('isEnded', { description: 'Whether the session is finished, so that nothing follows.' }),
  }),
});

builder.subscriptionField('sessionEntries', (t) =>
  t.field({
    type: BatchType,
    extensions: { access: READ_SESSIONS },
    description: withAccess(
      'Sends the entries of a session that events after `after` have begun or changed, at most 500 at once and five times a second. An entry that changes is sent again, with the same id. Ends when the session is finished. To resume, reconnect with the header `Last-Event-ID`, or set `after` to the last `lastEventId`.',
      READ_SESSIONS,
      'Ends with an error when the caller loses the right to read the session.',
    ),
    args: {
      sessionId: t.arg.id({ required: true, description: '`id` or `databaseId` of the session.' }),
      after: t.arg.id({
        description:
          'The last event that was looked at. When absent, all entries are sent. The header `Last-Event-ID` takes precedence.',
      }),
    },
    subscribe: async (_, { sessionId, after }, context) => {
      const { signal, resumption } = context;
      const tail = await tailSessionEntries(context, {
        sessionId: sessionKey(sessionId),
        ...(entryPosition(resumption?.lastEventId, 'Last-Event-ID') ?? { after: relayCursorId(after, 'after') ?? 0 }),
        filter: {},
        ...(signal && { signal }),
      });
      if (resumption) resumption.hasEnded = tail.hasEnded;
      return batchesOf(tail.pages, resumption);
    },
    resolve: (batch) => batch,
  }),
);

async function* batchesOf(
  pages: TailedEntries['pages'],
  resumption: GraphQLContext['resumption'] = { lastEventId: null },
): AsyncGenerator<EntryBatch, void, undefined> {
  for await (const batches of pages)
    for (const batch of batches) {
      resumption.eventId = batch.isEnded ? afterEnd(batch.lastEventId) : String(batch.lastEventId);
      yield batch;
    }
}
