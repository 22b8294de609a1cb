import type { GraphQLResolveInfo } from 'graphql';
import { shown } from '../../../core/graphql/derived-fields.ts';
import { type GraphQLContext, OWN_STATEMENT, builder, ownStatements } from '../../../core/graphql/builder.ts';
import { excerptArguments, excerptsIn } from '../../../core/graphql/excerpts.ts';
import { parseExactJson } from '../../../core/text/exact-json.ts';
import { invalid } from '../../../core/errors.ts';
import {
  READ_SESSIONS,
  type SessionRow,
  WRITE_SESSIONS,
  sessionNotFound,
  sessionReferences,
} from '../../sessions/public.ts';
import { filterType, inputType, usingSearch } from '../../../core/graphql/derived-inputs.ts';
import { mutation } from '../../../core/graphql/mutations.ts';
import { acceptingIds, keyFromId, uuidsOf } from '../../../core/graphql/global-ids.ts';
import { nodeType } from '../../../core/graphql/nodes.ts';
import { belowEach, listBelow, listType } from '../../../core/graphql/lists.ts';
import { refusable, withAccess } from '../../../core/graphql/refusable.ts';
import { needs, selectedColumns } from '../../../core/graphql/selection.ts';
import type { SessionId } from '../../../core/ids.ts';
import type { Resumption } from '../../../core/live-tails.ts';
import { RawJson } from '../../../core/text/raw-json.ts';
import { SessionType, sessionField } from '../../sessions/graphql/types.ts';
import { cursorId, relayCursorId } from '../cursor.ts';
import { type EventData, recordedEventFields } from '../event-data.ts';
import { appendedDocument, redactedDocument, sessionEventDocument } from '../documents.ts';
import { EventDataType } from './types.ts';
import { type SessionEventFilter, sessionEventFilter } from '../input.ts';
import { appendSessionEvents } from '../append-operations.ts';
import { readSessionEvents, sessionEventsBelow } from '../operations.ts';
import type { SessionEventRow } from '../queries.ts';
import { type Tailed, tailSessionEvents } from '../live-tail.ts';
import type { NamedRow } from '../../../core/postgres/reading/names.ts';
import { organizationList } from '../../organizations/graphql/organization-list.ts';
import { OrganizationType } from '../../organizations/graphql/types.ts';
import { eventTypeFilter, listSessionEventTypes } from '../event-type-list.ts';
import { resolveBatched } from '../../../core/graphql/batches.ts';
import {
  type SessionDeletionPreview,
  type SessionsDeletionPreview,
  deletionPreviewsOf,
  readSessionsDeletionPreview,
} from '../deletion-preview.ts';
import { redactSessionEvents } from '../redaction-operations.ts';

export function placeOf(key: string): { sessionId: SessionId; id: number }[] {
  const [sessionId = '', id = ''] = key.split(':');
  const [uuid] = uuidsOf([sessionId]);
  return uuid !== undefined && /^\d{1,15}$/.test(id) ? [{ sessionId: uuid, id: Number(id) }] : [];
}

export const SessionEventType = nodeType<SessionEventRow>('SessionEvent', {
  description: 'An event of a session, as its runner recorded it.',
  keyOf: ({ sessionId, id }) => `${sessionId}:${id}`,
  keyColumns: ['sessionId', 'id'],
  load: (context, keys, selected) => readSessionEvents(context, keys.flatMap(placeOf), selected),
  fields: (t) => ({
    databaseId: t.expose('id', {
      type: 'DatabaseId',
      description:
        'The id that REST uses. The events of a session are numbered from 1. The id is also the cursor for `sessionEvents(after:)`.',
    }),
    session: sessionField(t, 'sessionId', 'The session of the event. Null when it was deleted in the meantime.'),
    ...shown(t, sessionEventDocument, ['eventType', 'messageId', 'createdAt']),
    provider: t.string({
      nullable: true,
      description: 'Name of the model provider. Null when none was given, as for the result of a tool.',
      extensions: needs<SessionEventRow>('provider'),
      resolve: ({ provider }) => provider || null,
    }),
    isSuperseded: t.boolean({
      description:
        'Whether the command of a run has written this, and the transcript of its agent has it, too: outlines, Markdown, search and totals leave it out.',
      extensions: needs<SessionEventRow>('isSuperseded'),
      resolve: ({ isSuperseded }) => isSuperseded === true,
    }),
    eventData: t.field({
      type: EventDataType,
      description: 'The data of the event, with typed fields.',
      extensions: needs<SessionEventRow>('eventData'),
      resolve: ({ eventData }) => JSON.parse(eventData) as EventData,
    }),
    eventDataJson: t.field({
      type: 'JSON',
      description:
        'The data of the event as it was recorded, with unknown fields. With `maxLength`, each text in it ends there.',
      args: excerptArguments,
      extensions: needs<SessionEventRow>('eventData'),
      resolve: ({ eventData }, args) =>
        new RawJson(args.maxLength == null ? eventData : JSON.stringify(excerptsIn(parseExactJson(eventData), args))),
    }),
  }),
});

const FilterInput = filterType('SessionEventFilter', sessionEventFilter, usingSearch('text'));

const EVENT_CONDITIONS = 'Conditions on the events. When absent, all events are included.';
const SESSION_EVENT_LIST = listType(SessionEventType, {
  of: 'session events',
  filter: FilterInput,
  conditions: EVENT_CONDITIONS,
  fields: { ID: 'The id, which is the order of recording.' },
  otherwise: { field: 'ID', direction: 'ASC' },
});

export const eventConnection = SESSION_EVENT_LIST.connection;

const EVENTS_BELOW = {
  rows: sessionEventsBelow,
  // The caller cannot read the session.
  missing: () => sessionNotFound(),
};
const eventsBelow = belowEach(SESSION_EVENT_LIST, EVENTS_BELOW);

const PAGE_RULES = 'A page has 1 to 1000 events and ends early at 4 MiB of data. Cursors are the ids that REST uses.';

builder.objectField(SessionType, 'events', (t) =>
  listBelow(t, SESSION_EVENT_LIST, {
    description: `Recorded events of the session, in the order of recording by default. ${PAGE_RULES}`,
    extensions: refusable(READ_SESSIONS),
    ...EVENTS_BELOW,
  }),
);

builder.queryField('sessionEvents', (t) =>
  t.connection(
    {
      type: SessionEventType,
      description: `Recorded events of one session, like \`Session.events\`, without reading the session: use it to read page after page. ${PAGE_RULES} An error with the code \`NOT_FOUND\` when the caller can read no such session.`,
      args: {
        sessionId: t.arg.id({ required: true, description: '`id` or `databaseId` of the session.' }),
        ...SESSION_EVENT_LIST.args,
      },
      extensions: refusable(READ_SESSIONS),
      resolve: (_, { sessionId, ...args }, context, info) => eventsBelow(sessionKey(sessionId), args, context, info),
    },
    SESSION_EVENT_LIST.connection,
  ),
);

/** @throws NotFoundError when the id cannot be one of a session. */
export function sessionKey(given: string | number): SessionId {
  const [id] = uuidsOf([String(keyFromId('Session', given))]);
  if (!id) throw sessionNotFound();
  return id;
}

builder.subscriptionField('sessionEvents', (t) =>
  t.field({
    type: SessionEventType,
    extensions: { access: READ_SESSIONS },
    description: withAccess(
      'Sends the events of a session after `after`, and then each new event as it is recorded. Every event is sent once. Ends when the session is finished. To resume, reconnect with the header `Last-Event-ID`, or set `after` to the `databaseId` of the last event seen.',
      READ_SESSIONS,
      'Ends with an error when the caller loses the right to read the session.',
    ),
    args: {
      sessionId: t.arg.id({ required: true, description: '`id` or `databaseId` of the session.' }),
      after: t.arg.id({
        description:
          'The last event seen: its `databaseId` as a number or text, or its cursor. When absent, events are sent from the first one. The header `Last-Event-ID` takes precedence.',
      }),
      filter: t.arg({
        type: FilterInput,
        description: EVENT_CONDITIONS,
      }),
    },
    subscribe: (_, { sessionId, after, filter }, context) =>
      subscribeToEvents(context, sessionKey(sessionId), after, filter ?? {}),
    resolve: (event) => event,
  }),
);

/** The event from which a subscription goes on; 0 for all. */
const lastSeen = (
  { resumption }: Pick<GraphQLContext, 'resumption'>,
  after: string | number | null | undefined,
): number => cursorId(resumption?.lastEventId, 'Last-Event-ID') ?? relayCursorId(after, 'after') ?? 0;

async function subscribeToEvents(
  context: GraphQLContext,
  sessionId: SessionId,
  after: string | number | null | undefined,
  filter: SessionEventFilter,
) {
  const { signal, resumption } = context;
  const searched = filter.search == null ? 'text' : 'search';
  if (filter[searched] != null)
    throw invalid(
      `filter.${searched}`,
      'is not possible in a subscription, because new events are indexed after they were sent',
    );
  const last = lastSeen(context, after);
  const { pages, hasEnded } = await tailSessionEvents(context, { sessionId, after: last, filter, signal });
  if (resumption) resumption.hasEnded = hasEnded;
  return eventsOf(pages, resumption);
}

async function* eventsOf(
  pages: Tailed['pages'],
  resumption: Resumption = { lastEventId: null },
): AsyncGenerator<SessionEventRow, void, undefined> {
  try {
    let next = await pages.next();
    for (; next.done !== true; next = await pages.next())
      for (const event of next.value) {
        resumption.eventId = String(event.id);
        yield event;
      }
    if (next.value !== undefined) resumption.eventId = String(next.value);
  } finally {
    await pages.return(undefined);
  }
}

inputType('RecordedEventInput', recordedEventFields, { types: { eventData: 'JSON' } });

/** The event, read together with those of all other parents. Null if the caller can read no such event. */
export function resolveEvent(
  context: GraphQLContext,
  info: GraphQLResolveInfo,
  { sessionId, id }: { readonly sessionId: SessionId; readonly id: number },
): Promise<SessionEventRow | null> | null {
  const selected = selectedColumns<SessionEventRow>(info, 'SessionEvent');
  const load = async (keys: readonly string[]) => {
    const rows = await readSessionEvents(context, keys.flatMap(placeOf), selected);
    return new Map(rows.map((row) => [`${row.sessionId}:${row.id}`, row]));
  };
  return resolveBatched<SessionEventRow, null>({ context, info }, `${sessionId}:${id}`, load, selected, null);
}

mutation(appendSessionEvents, {
  ids: { sessionId: 'Session' },
  payload: (t) => ({
    firstId: t.string({
      description: 'The `databaseId` of the first event of the batch.',
      resolve: ({ firstId }) => String(firstId),
    }),
    lastId: t.string({
      description: 'The `databaseId` of the last event of the batch, which is also the cursor after the batch.',
      resolve: ({ lastId }) => String(lastId),
    }),
    ...shown(t, appendedDocument, ['isReplayed', 'repairedTexts', 'redactedSecrets']),
  }),
});

const EventTypeType = builder.objectRef<NamedRow>('SessionEventType').implement({
  description: 'A type of recorded events. It has no other properties, because types are free text.',
  fields: (t) => ({ name: t.exposeString('name', { description: 'The type, as `SessionEvent.eventType`.' }) }),
});

const EVENT_TYPE_LIST = listType(EventTypeType, {
  of: 'event types',
  filter: filterType('SessionEventTypeFilter', eventTypeFilter, usingSearch('name')),
  conditions: 'Conditions on the event types. When absent, all types are included.',
  fields: { NAME: 'The event type.' },
  otherwise: { field: 'NAME', direction: 'ASC' },
});
organizationList('eventTypes', EVENT_TYPE_LIST, listSessionEventTypes);

const PreviewType = builder.objectRef<SessionDeletionPreview>('SessionDeletionPreview').implement({
  description: 'What would be deleted together with a session now.',
  fields: (t) => ({
    events: t.exposeInt('events', { description: 'Number of events.' }),
    artifacts: t.exposeInt('artifacts', { description: 'Number of artifacts.' }),
    pullRequests: t.exposeInt('pullRequests', { description: 'Number of pull requests.' }),
  }),
});

builder.objectField(SessionType, 'deletionPreview', (t) =>
  t.field({
    type: PreviewType,
    nullable: true,
    description: 'What would be deleted together with the session. Null when it was deleted in the meantime.',
    extensions: { ...OWN_STATEMENT, ...refusable(WRITE_SESSIONS), ...needs<SessionRow>('id') },
    resolve: async ({ id }, _, context, info) =>
      (await resolveBatched({ context, info }, id, deletionPreviewsOf(context))) ?? null,
  }),
);

const ManyPreviewType = builder.objectRef<SessionsDeletionPreview>('SessionsDeletionPreview').implement({
  description: 'What the deletion of several sessions would delete now. Each is deleted by `deleteSession`.',
  fields: (t) => ({
    sessions: t.exposeInt('sessions', { description: 'Number of the sessions that the caller can delete.' }),
    events: t.exposeInt('events', { description: 'Number of their events.' }),
    held: t.field({
      type: [SessionType],
      description: 'Those that stay, because an administrator holds them.',
      resolve: ({ held }) => held,
    }),
  }),
});

builder.objectField(OrganizationType, 'sessionsDeletionPreview', (t) =>
  t.field({
    type: ManyPreviewType,
    description:
      'What the deletion of these sessions would delete now. Sessions that the caller cannot change are left out.',
    args: { sessionIds: t.arg.idList({ required: true, description: 'Ids of the sessions, 1 to 100.' }) },
    validate: acceptingIds(sessionReferences, { sessionIds: 'Session' }),
    extensions: { ...ownStatements(2), ...refusable(WRITE_SESSIONS, { actingOrganization: true }) },
    resolve: (_, { sessionIds }, context) => readSessionsDeletionPreview(context, sessionIds as SessionId[]),
  }),
);

mutation(redactSessionEvents, {
  ids: { sessionId: 'Session', eventIds: 'SessionEvent' },
  types: { eventIds: 'ID' },
  payload: (t) => shown(t, redactedDocument, ['redactedEvents', 'redactedTexts']),
});
