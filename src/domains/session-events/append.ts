import { type RawBuilder, sql } from 'kysely';
import { type NewAuditEntry, auditInsert, auditValues } from '../../core/audit.ts';
import { authorityValues, hasAuthority } from '../../core/authority.ts';
import type { Role } from '../../core/access.ts';
import type { OperationContext } from '../../core/operation.ts';
import { jsonArray, textArray, timestamptzArray, uuidArray } from '../../core/postgres/driver/binary-arrays.ts';
import {
  type Statement,
  type ValueOf,
  preparedByShape,
  queriesOn,
  snake,
} from '../../core/postgres/reading/queries.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import {
  type SessionTables,
  USAGE_FIELDS,
  callerOf,
  changeableBy,
  isOfTranscript,
  sumsOfAppended,
  sumsToJson,
} from '../sessions/public.ts';
import type { SessionEventTables } from './entity.ts';
import type { AppendSessionEventsInput } from './input.ts';
import {
  type Given,
  type SharedValues,
  afterHead,
  lastOf,
  mayBeClosed,
  rememberFile,
  rememberLines,
  rememberMessages,
  sharedValues,
  supersede,
  unfold,
} from './append-lines.ts';
import type { LinePlaces } from './received-lines.ts';
import type { RecordedTwice, Way } from './recorded-twice.ts';
import type { ReportedUsage } from './totals.ts';

const db = queriesOn<SessionEventTables & SessionTables>();

/** What a request appends, besides what the client sent. */
export interface Appended extends AppendSessionEventsInput {
  /** Identifies the lines from which the events were made. */
  readonly contentHash?: string | null;
  readonly usage?: ReportedUsage | undefined;
  /** The events that count here; all when absent. */
  readonly counted?: AppendSessionEventsInput['events'];
  /** Whether they count at their own time. */
  readonly isOfFile?: boolean;
  /** Whether lines without a time are no work of the agent, such as a title. */
  readonly isTimed?: boolean;
  /** Of lines: the new memory of the format, made from that of the stream in this version. Nothing is stored in another version. */
  readonly format?: { readonly memory: string; readonly version: string };
  /** Of a session that also has lines of the command of a run: what is known of both. */
  readonly twice?: RecordedTwice | undefined;
  /** Of lines of a transcript: what is remembered of them. */
  readonly received?: LinePlaces | undefined;
  /** The keys of messages whose usage counts here. */
  readonly messages?: readonly string[];
}

/**
 * One statement that checks the rights, assigns the ids, stores the events and the batch id, and writes the audit log
 * entry. It returns the id before the first event, and no row when the caller cannot append, the session is finished,
 * the batch is already stored, or the stream has changed since lines have used its memory.
 */
export function appendStatement(
  context: OperationContext,
  { sessionId, batchId, events, contentHash = null, usage, format, isTimed, twice, received, messages = [] }: Appended,
  entry: NewAuditEntry,
): Statement<{ base: number }> {
  const { role, ...caller } = callerOf(context.actor);
  const values: Given = {
    ...auditValues(entry),
    ...authorityValues(context),
    ...caller,
    ...(usage && { ...usage.total, sums: sumsToJson(usage.sums) }),
    ...usage?.ownCalls,
    ...(format && {
      formatMemory: format.memory,
      version: format.version,
      seenAt: latestOf(events) ?? (isTimed ? LONG_AGO : null),
    }),
    ...(twice && { commandMemory: twice.toJson(), supersededFrom: twice.from, supersededUntil: twice.until }),
    ...(received && { file: received.file, places: received.places }),
    ...(received?.state && { fileLines: received.state.lines, mark: received.state.mark }),
    ...(messages.length > 0 && { messages: uuidArray(messages) }),
    sessionId,
    contentHash,
    count: events.length,
    batchId,
    now: context.now(),
    createdAt: timestamptzArray(events.map(({ createdAt }) => createdAt)),
    eventType: textArray(events.map(({ eventType }) => eventType)),
    messageId: uuidArray(events.map(({ messageId }) => messageId)),
    provider: textArray(events.map(({ provider }) => provider)),
    eventData: jsonArray(events.map(({ eventData }) => eventData)),
  };
  const shape = {
    role,
    hasUsage: usage !== undefined,
    hasCalls: usage?.ownCalls !== undefined,
    hasMemory: format !== undefined,
    way: twice?.way,
    hasPlaces: received !== undefined,
    hasFile: received?.state !== undefined,
    hasMessages: messages.length > 0,
    // Lines that are all known find their place also in a finished session.
    isEmpty: events.length === 0,
  };
  return appends(shape, values);
}

const LONG_AGO = new Date(0).toISOString();

/** The latest time that lines have. */
export function latestOf(events: Appended['events']): string | null {
  let latest: string | null = null;
  for (const { createdAt } of events)
    if (createdAt !== null && (latest === null || createdAt > latest)) latest = createdAt;
  return latest;
}

interface AppendShape {
  readonly role: Role;
  readonly hasUsage: boolean;
  readonly hasCalls: boolean;
  readonly hasMemory: boolean;
  readonly way: Way | undefined;
  readonly hasPlaces: boolean;
  readonly hasFile: boolean;
  readonly hasMessages: boolean;
  readonly isEmpty: boolean;
}

const appends = preparedByShape<Given, AppendShape>()((value, shape) => {
  const shared = sharedValues(value);
  const appended = db
    .with('head', () => drawIds(value, shape, shared))
    .with('batch', () => rememberBatch(shared))
    .with('stored', () => storeEvents(value, shared, shape.way))
    .with('seen', () => noteUse(shared, shape.hasMemory && shape.way !== 'command' ? value('seenAt') : undefined))
    .with('searched', () => noteForSearch(shared))
    .with('recorded', () => auditInsert(value, 'head'));
  // Nothing reads what these insert.
  const withLines = shape.hasPlaces ? appended.with('received', () => rememberLines(value, shared)) : appended;
  const withMessages = shape.hasMessages ? withLines.with('counted', () => rememberMessages(value, shared)) : withLines;
  const withFile = shape.hasFile ? withMessages.with('filed', () => rememberFile(value, shared)) : withMessages;
  const whole =
    shape.way === 'transcript'
      ? withFile.with('superseded', () => supersede(value, shared)).with('unfolded', () => unfold(shared))
      : withFile;
  if (!shape.hasUsage) return whole.selectFrom('head').select('base');
  const { id: sessionId, organizationId, at } = shared;
  const sums = sql<string>`${value('sums')}::text`;
  return whole
    .with('summed', () => sumsOfAppended({ sessionId, organizationId, at, sums, hasTaken: shape.hasCalls }))
    .selectFrom('head')
    .select('base');
});

function drawIds(
  value: ValueOf<Given>,
  { role, hasUsage, hasCalls, hasMemory, way, isEmpty }: AppendShape,
  shared: SharedValues,
) {
  const { id, organizationId, batch, count } = shared;
  const reach = changeableBy({ organizationId, userId: value('userId'), role });
  const isChangeable = db.selectFrom('session as s').select('s.id').where('s.id', '=', id).where(within(reach, 's'));
  const isStored = db
    .selectFrom('session_event_batch as b')
    .select('b.batch_id')
    .where('b.session_id', '=', id)
    .where('b.organization_id', '=', organizationId)
    .where('b.batch_id', '=', sql<string>`${batch}`);
  const head = db
    .updateTable('session_stream')
    .set({
      last_id: sql<number>`last_id + ${count}`,
      lines_until: sql<number>`case when lines_until = last_id then last_id + ${count} else lines_until end`,
      ...(hasUsage && addedUsage(value)),
      ...(hasCalls && addedCalls(value)),
      ...(hasMemory && { format_memory: sql<string>`${value('formatMemory')}::text` }),
      ...(way && { command_memory: sql<string>`${value('commandMemory')}::text` }),
    })
    .where('session_id', '=', id)
    .where('organization_id', '=', organizationId)
    .$if(!isEmpty && way !== 'transcript', (query) => query.where('is_closed', '=', false))
    .$if(!isEmpty && way === 'transcript', (query) => query.where(mayBeClosed(value, shared)))
    .where(hasAuthority(value))
    .where((eb) => eb.exists(isChangeable).and(eb.not(eb.exists(isStored))))
    .returning([sql<number>`last_id - ${count}`.as('base'), 'is_closed'])
    .$if(hasCalls, (query) =>
      query.returning(CALLS.map((calls) => takenBack(value, calls).as(`taken_${snake(calls.field)}`))),
    );
  return hasMemory ? head.where(sql<boolean>`xmin = ${value('version')}::xid`) : head;
}

/** Adds to the totals of the session. A total stays null until something is added to it. */
function addedUsage(value: ValueOf<Given>) {
  return Object.fromEntries(
    USAGE_FIELDS.map((field) => {
      const column = sql.ref(snake(field));
      const type = sql.raw(field === 'costUsd' ? 'double precision' : 'bigint');
      const added = sql`${value(field)}::${type}`;
      return [snake(field), plus(column, added)];
    }),
  );
}

const plus = (total: RawBuilder<unknown>, added: RawBuilder<unknown>) =>
  sql<number>`coalesce(${total} + ${added}, ${added}, ${total})`;

const CALLS = [
  { field: 'toolCalls', own: 'ownToolCalls', counted: sql.ref('counted_tool_calls') },
  { field: 'toolErrors', own: 'ownToolErrors', counted: sql.ref('counted_tool_errors') },
] as const;

/**
 * Adds calls. The first time that the agent reports its own, what was counted before is taken back, and from then on nothing is counted: `counted_…`
 * is then -1, less what this append has taken back.
 */
function addedCalls(value: ValueOf<Given>) {
  const columns = CALLS.flatMap(({ field, own, counted }) => {
    const [total, added, isOwn] = [sql.ref(snake(field)), sql`${value(field)}::bigint`, sql`${value(own)}::boolean`];
    const before = sql`greatest(coalesce(${counted}, 0), 0)`;
    return [
      [
        snake(field),
        sql<number>`case when ${isOwn} then coalesce(${total}, 0) + ${added} - ${before} when ${counted} < 0 then ${total}
          else ${plus(total, added)} end`,
      ],
      [
        `counted_${snake(field)}`,
        sql<number>`case when ${isOwn} then -1 - ${before} when ${counted} < 0 then -1
          else ${plus(counted, added)} end`,
      ],
    ];
  });
  return Object.fromEntries(columns) as Record<string, RawBuilder<number>>;
}

/** What an append has taken back of what was counted, as a negative number. */
const takenBack = (value: ValueOf<Given>, { field, own, counted }: (typeof CALLS)[number]) =>
  sql<number>`case when ${value(own)}::boolean then 1 + ${counted} when ${counted} < 0 then -coalesce(${value(field)}::bigint, 0) else 0 end`;

function rememberBatch({ id, organizationId, batch, at, count, hash }: SharedValues) {
  return afterHead
    .insertInto('session_event_batch')
    .columns(['session_id', 'batch_id', 'organization_id', 'first_id', 'last_id', 'created_at', 'content_hash'])
    .expression(
      afterHead
        .selectFrom('head')
        .select([
          id.as('session_id'),
          batch.as('batch_id'),
          organizationId.as('organization_id'),
          sql`base + 1`.as('first_id'),
          sql`base + ${count}`.as('last_id'),
          at.as('created_at'),
          hash.as('content_hash'),
        ])
        .where(sql<boolean>`${batch} is not null`),
    );
}

function storeEvents(value: ValueOf<Given>, { id, organizationId, at }: SharedValues, way: Way | undefined) {
  const isSuperseded =
    way === 'command' ? sql`coalesce(coalesce(e.created_at, ${at}) <= ${lastOf(value)}, false)` : sql`null::boolean`;
  const given = givenEvents(value).as<'e'>(sql`e(created_at, event_type, message_id, provider, event_data, position)`);
  return afterHead
    .insertInto('session_event')
    .columns([
      'session_id',
      'id',
      'organization_id',
      'created_at',
      'stored_at',
      'event_type',
      'message_id',
      'provider',
      'event_data',
      'is_superseded',
    ])
    .expression(
      afterHead
        .selectFrom(['head', given])
        .select([
          id.as('session_id'),
          sql`head.base + e.position`.as('id'),
          organizationId.as('organization_id'),
          sql`coalesce(e.created_at, ${at})`.as('created_at'),
          at.as('stored_at'),
          'e.event_type',
          'e.message_id',
          'e.provider',
          'e.event_data',
          isSuperseded.as('is_superseded'),
        ]),
    );
}

function givenEvents(value: ValueOf<Given>) {
  return sql<{
    created_at: string | null;
    event_type: string;
    message_id: string | null;
    provider: string;
    event_data: string;
    position: number;
  }>`
      unnest(${value('createdAt')}::timestamptz[], ${value('eventType')}::text[], ${value('messageId')}::uuid[],
        ${value('provider')}::text[], ${value('eventData')}::json[])
      with ordinality`;
}

/** The texts of the events are indexed later. */
function noteForSearch({ id, organizationId }: SharedValues) {
  return afterHead
    .insertInto('session_search')
    .columns(['session_id', 'organization_id', 'indexed_id', 'version'])
    .expression(
      afterHead
        .selectFrom('head')
        .select([
          id.as('session_id'),
          organizationId.as('organization_id'),
          sql<number>`0`.as('indexed_id'),
          sql<string>`gen_random_uuid()`.as('version'),
        ]),
    )
    .onConflict((conflict) =>
      conflict.columns(['session_id', 'organization_id']).doUpdateSet({ version: sql<string>`excluded.version` }),
    );
}

/** A transcript was seen when its lines were written, so that it has its place in time. */
function noteUse({ id, organizationId, at }: SharedValues, seenAt: RawBuilder<unknown> | undefined) {
  const seen =
    seenAt &&
    sql<string>`case when ${isOfTranscript()} then least(${at}, coalesce(${seenAt}::timestamptz, last_seen_at)) else ${at} end`;
  return db
    .updateTable('session')
    .set({ last_seen_at: seen ?? at })
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .where('last_seen_at', '<', sql<string>`${seen ?? at} - interval '1 minute'`)
    .where((eb) => eb.exists(afterHead.selectFrom('head').select('base')));
}
