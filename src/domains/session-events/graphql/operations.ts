import { type GraphQLContext, OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { type Connection, connectionType, toConnection } from '../../../core/graphql/connections.ts';
import { ConflictError, NotFoundError, notFound } from '../../../core/errors.ts';
import { READ_SESSIONS } from '../../sessions/policy.ts';
import { mutation } from '../../../core/graphql/mutations.ts';
import { keyFromId, nodeType, uuidsOf } from '../../../core/graphql/nodes.ts';
import { orderType } from '../../../core/graphql/orders.ts';
import { resolveReference } from '../../../core/graphql/references.ts';
import { describeAccess, refusable } from '../../../core/graphql/refusable.ts';
import { CHECKS_PARENT, takeRead } from '../../../core/graphql/read-through.ts';
import { needs, selectedColumns } from '../../../core/graphql/selection.ts';
import { resolveBatched } from '../../../core/graphql/batches.ts';
import type { SessionId } from '../../../core/ids.ts';
import { type SessionRow, readSessions } from '../../sessions/operations.ts';
import type { Resumption } from '../../../core/live-tails.ts';
import { RawJson } from '../../../core/text/raw-json.ts';
import { SessionType } from '../../sessions/graphql/types.ts';
import { cursorId } from '../cursor.ts';
import type { EventData } from '../event-data.ts';
import { DeliveryEnum, EventDataType, ScopeKindEnum } from './types.ts';
import { type SessionEventFilter, appendSessionEventsInput, sessionEventFilter } from '../input.ts';
import { appendSessionEvents, pagesOfSessionEvents, readSessionEvents } from '../operations.ts';
import type { SessionEventRow } from '../queries.ts';
import { tailSessionEvents } from '../live-tail.ts';

function placeOf(key: string): { sessionId: SessionId; id: number }[] {
  const [sessionId = '', id = ''] = key.split(':');
  const [uuid] = uuidsOf([sessionId]);
  return uuid !== undefined && /^\d{1,15}$/.test(id) ? [{ sessionId: uuid, id: Number(id) }] : [];
}

const SessionEventType = nodeType<SessionEventRow>('SessionEvent', {
  description: 'Something that happened in a session, as its runner recorded it.',
  keyOf: ({ sessionId, id }) => `${sessionId}:${id}`,
  keyColumns: ['sessionId', 'id'],
  load: (context, keys, selected) => readSessionEvents(context, keys.flatMap(placeOf), selected),
  fields: (t) => ({
    databaseId: t.exposeInt('id', {
      description:
        'The id that REST uses: counts the events of the session from 1. It is also the cursor, which `sessionEvents(after:)` takes as it is.',
    }),
    session: t.field({
      type: SessionType,
      nullable: true,
      description: 'The session that it belongs to; null when that is gone by now.',
      extensions: { ...OWN_STATEMENT, ...needs<SessionEventRow>('sessionId') },
      resolve: ({ sessionId }, _, context, info) =>
        resolveReference({ context, info }, 'Session', sessionId, readSessions),
    }),
    eventType: t.exposeString('eventType', { description: 'What kind of event it is.' }),
    messageId: t.expose('messageId', { type: 'UUID', nullable: true, description: 'The message it belongs to.' }),
    provider: t.exposeString('provider', { description: 'The model provider.' }),
    eventData: t.field({
      type: EventDataType,
      description: 'What happened, typed.',
      extensions: needs<SessionEventRow>('eventData'),
      resolve: ({ eventData }) => JSON.parse(eventData) as EventData,
    }),
    eventDataJson: t.field({
      type: 'JSON',
      description: 'What happened, as it was recorded, unknown fields included.',
      extensions: needs<SessionEventRow>('eventData'),
      resolve: ({ eventData }) => new RawJson(eventData),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it happened.' }),
  }),
});

const FilterInput = builder.inputType('SessionEventFilter', {
  description: 'Which events to list. All conditions must be met. Lists have at most 100 items.',
  validate: sessionEventFilter,
  fields: (t) => ({
    eventTypes: t.stringList({ description: 'Of any of these kinds.' }),
    providers: t.stringList({ description: 'Of any of these providers.' }),
    messageId: t.field({ type: 'UUID', description: 'Of this message.' }),
    delivery: t.field({ type: DeliveryEnum, description: 'Delivered this way.' }),
    scope: t.field({ type: ScopeKindEnum, description: 'In this kind of scope.' }),
    createdFrom: t.field({ type: 'DateTime', description: 'Happened at this moment or after it.' }),
    createdBefore: t.field({ type: 'DateTime', description: 'Happened before this moment.' }),
  }),
});

const SESSION_EVENT_ORDER = orderType<'ID'>('SessionEvent', {
  of: 'session events',
  fields: { ID: 'The id, which counts the events of a session in the order of recording.' },
  otherwise: { field: 'ID', direction: 'ASC' },
});

const SessionEventConnection = connectionType(SessionEventType, { of: 'session events' });

builder.objectField(SessionType, 'events', (t) =>
  t.connection(
    {
      type: SessionEventType,
      description:
        'Its recorded events, in the order of recording. Pages of 1 to 1000, which end early at 16 MiB of data. Cursors are the ids that REST uses.',
      args: {
        filter: t.arg({ type: FilterInput, description: 'Which ones; all when absent.' }),
        orderBy: t.arg(SESSION_EVENT_ORDER.argument),
      },
      extensions: { ...refusable(READ_SESSIONS), ...CHECKS_PARENT, ...needs<SessionRow>('id') },
      resolve: async (session, { filter, orderBy, ...page }, context, info) => {
        const read = takeRead(session, info);
        if (read) return read as Connection<SessionEventRow>;
        const { id } = session;
        const selected = selectedColumns<SessionEventRow>(info, 'SessionEvent');
        const { pages, counts } = pagesOfSessionEvents(context, {
          filter: filter ?? {},
          page,
          direction: SESSION_EVENT_ORDER.orderOf(orderBy).direction,
          selected,
        });
        const args = { filter, orderBy, ...page };
        const found = await resolveBatched({ context, info, args }, id, pages, selected);
        if (!found) throw notFound('session');
        const total = () => resolveBatched({ context, info, args: { count: filter } }, id, counts);
        return toConnection({ page: found, total: async () => (await total()) ?? 0 });
      },
    },
    SessionEventConnection,
  ),
);

builder.subscriptionField('sessionEvents', (t) =>
  t.field({
    type: SessionEventType,
    description: `Follows a session's events: those after \`after\`, then new ones as they are recorded, each once. Ends when the session is finished. Over server-sent events each has its id, and a client that reconnects with the header \`Last-Event-ID\` goes on behind it; others move \`after\` to the \`databaseId\` that they have seen last. ${describeAccess(READ_SESSIONS)} Ends with an error when the caller may no longer read the session.`,
    args: {
      sessionId: t.arg.id({ required: true, description: 'Either id of the session.' }),
      after: t.arg.id({
        description:
          'The last event seen: its `databaseId`, as a number or as text, or its cursor. From the start when absent. `Last-Event-ID` takes its place.',
      }),
      filter: t.arg({ type: FilterInput, description: 'Which ones; all when absent.' }),
    },
    subscribe: (_, { sessionId, after, filter }, context) =>
      subscribeToEvents(context, String(keyFromId('Session', sessionId)), after, filter ?? {}),
    resolve: (event) => event,
  }),
);

async function subscribeToEvents(
  context: GraphQLContext,
  sessionId: SessionId,
  after: string | number | null | undefined,
  filter: SessionEventFilter,
) {
  const [id] = uuidsOf([sessionId]);
  if (!id) throw new NotFoundError('session not found');
  const { signal, resumption } = context;
  const last =
    cursorId(resumption?.lastEventId, 'Last-Event-ID') ?? cursorId(after == null ? after : String(after), 'after') ?? 0;
  return eventsOf(await tailSessionEvents(context, { sessionId: id, after: last, filter, signal }), resumption);
}

async function* eventsOf(
  pages: AsyncIterable<readonly SessionEventRow[]>,
  resumption: Resumption | undefined,
): AsyncGenerator<SessionEventRow, void, undefined> {
  for await (const events of pages)
    for (const event of events) {
      if (resumption) resumption.eventId = String(event.id);
      yield event;
    }
}

const RecordedEventInput = builder.inputType('RecordedEventInput', {
  description: 'An event to append.',
  fields: (t) => ({
    eventType: t.string({ required: true, description: 'What kind of event it is; 1 to 100 characters.' }),
    messageId: t.field({ type: 'UUID', description: 'The message it belongs to.' }),
    provider: t.string({ required: true, description: 'The model provider; 1 to 100 characters.' }),
    createdAt: t.field({ type: 'DateTime', description: 'When it happened; now when absent.' }),
    eventData: t.field({
      type: 'JSON',
      required: true,
      description: 'What happened, at most 1 MiB; unknown fields are kept.',
    }),
  }),
});

mutation('appendSessionEvents', {
  access: appendSessionEvents.access,
  description:
    'Appends events to the stream of a session, all or none. With a `batchId` a retry stores nothing and answers the same.',
  schema: appendSessionEventsInput,
  ids: { sessionId: 'Session' },
  input: (t) => ({
    sessionId: t.id({ required: true, description: 'Either id of the session.' }),
    batchId: t.string({ description: 'Chosen by the recorder; 1 to 200 characters.' }),
    events: t.field({ type: [RecordedEventInput], required: true, description: '1 to 1000 events, in their order.' }),
  }),
  errors: [NotFoundError, ConflictError],
  run: appendSessionEvents,
  payload: (t) => ({
    firstId: t.string({
      description: 'Id of the first event of the batch, as REST has it.',
      resolve: ({ firstId }) => String(firstId),
    }),
    lastId: t.string({
      description: 'Id of the last event of the batch: the cursor behind it.',
      resolve: ({ lastId }) => String(lastId),
    }),
    isReplayed: t.exposeBoolean('isReplayed', { description: 'Whether the batch had been stored before.' }),
  }),
});
