import { type RawBuilder, sql } from 'kysely';
import { type AuditValues, type NewAuditEntry, auditInsert, auditValues } from '../../core/audit.ts';
import { type AuthorityValues, authorityValues, hasAuthority } from '../../core/authority.ts';
import type { OrganizationId, SessionId, UserId } from '../../core/ids.ts';
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
  sumsOfAppended,
  sumsToJson,
} from '../sessions/public.ts';
import type { SessionEventTables } from './entity.ts';
import type { AppendSessionEventsInput } from './input.ts';
import type { AddedUsage, ReportedUsage } from './totals.ts';

const db = queriesOn<SessionEventTables & SessionTables>();
/** With `head`, the row of the assigned ids. There is no row when nothing can be appended. */
const afterHead = queriesOn<SessionEventTables & SessionTables & { head: { base: number } }>();

/** What a request appends, besides what the client sent. */
export interface Appended extends AppendSessionEventsInput {
  /** Identifies the lines from which the events were made. */
  readonly contentHash?: string | null;
  readonly usage?: ReportedUsage | undefined;
  /** Of lines: the new memory of the format, made from that of the stream in this version. Nothing is stored in another version. */
  readonly format?: { readonly memory: string; readonly version: string };
}

interface Given extends AuditValues, AuthorityValues, Partial<AddedUsage> {
  readonly seenAt?: string | null;
  readonly sessionId: SessionId;
  readonly organizationId: OrganizationId;
  readonly userId: UserId;
  readonly count: number;
  readonly batchId: string | null;
  readonly contentHash: string | null;
  readonly formatMemory?: string;
  readonly version?: string;
  readonly now: Date;
  readonly createdAt: Buffer;
  readonly eventType: Buffer;
  readonly messageId: Buffer;
  readonly provider: Buffer;
  readonly eventData: Buffer;
  /** JSON. */
  readonly sums?: string;
}

/**
 * One statement that checks the rights, assigns the ids, stores the events and the batch id, and writes the audit log
 * entry. It returns the id before the first event, and no row when the caller cannot append, the session is finished,
 * the batch is already stored, or the stream has changed since lines have used its memory.
 */
export function appendStatement(
  context: OperationContext,
  { sessionId, batchId, events, contentHash = null, usage, format }: Appended,
  entry: NewAuditEntry,
): Statement<{ base: number }> {
  const { role, ...caller } = callerOf(context.actor);
  const values: Given = {
    ...auditValues(entry),
    ...authorityValues(context),
    ...caller,
    ...(usage && { ...usage.total, sums: sumsToJson(usage.sums) }),
    ...(format && { formatMemory: format.memory, version: format.version, seenAt: latestOf(events) }),
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
  return appends({ role, hasUsage: usage !== undefined, hasMemory: format !== undefined }, values);
}

/** The latest time that lines have. */
function latestOf(events: Appended['events']): string | null {
  let latest: string | null = null;
  for (const { createdAt } of events)
    if (createdAt !== null && (latest === null || createdAt > latest)) latest = createdAt;
  return latest;
}

/** Values that the parts of the statement share. */
function sharedValues(value: ValueOf<Given>) {
  return {
    id: sql<string>`${value('sessionId')}::uuid`,
    organizationId: sql<string>`${value('organizationId')}::uuid`,
    batch: sql<string | null>`${value('batchId')}::text`,
    hash: sql<string | null>`${value('contentHash')}::text`,
    at: sql<string>`${value('now')}::timestamptz`,
    count: sql<number>`${value('count')}::int`,
  };
}
type SharedValues = ReturnType<typeof sharedValues>;

interface AppendShape {
  readonly role: Role;
  readonly hasUsage: boolean;
  readonly hasMemory: boolean;
}

const appends = preparedByShape<Given, AppendShape>()((value, shape) => {
  const shared = sharedValues(value);
  const appended = db
    .with('head', () => drawIds(value, shape, shared))
    .with('batch', () => rememberBatch(shared))
    .with('stored', () => storeEvents(value, shared))
    .with('seen', () => noteUse(shared, shape.hasMemory ? value('seenAt') : undefined))
    .with('searched', () => noteForSearch(shared))
    .with('recorded', () => auditInsert(value, 'head'));
  if (!shape.hasUsage) return appended.selectFrom('head').select('base');
  const { id: sessionId, organizationId, at } = shared;
  const sums = sql<string>`${value('sums')}::text`;
  return appended
    .with('summed', () => sumsOfAppended({ sessionId, organizationId, at, sums }))
    .selectFrom('head')
    .select('base');
});

function drawIds(
  value: ValueOf<Given>,
  { role, hasUsage, hasMemory }: AppendShape,
  { id, organizationId, batch, count }: SharedValues,
) {
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
      ...(hasUsage && addedUsage(value)),
      ...(hasMemory && { format_memory: sql<string>`${value('formatMemory')}::text` }),
    })
    .where('session_id', '=', id)
    .where('organization_id', '=', organizationId)
    .where('is_closed', '=', false)
    .where(hasAuthority(value))
    .where((eb) => eb.exists(isChangeable).and(eb.not(eb.exists(isStored))))
    .returning(sql<number>`last_id - ${count}`.as('base'));
  return hasMemory ? head.where(sql<boolean>`xmin = ${value('version')}::xid`) : head;
}

/** Adds to the totals of the session. A total stays null until something is added to it. */
function addedUsage(value: ValueOf<Given>) {
  return Object.fromEntries(
    USAGE_FIELDS.map((field) => {
      const column = sql.ref(snake(field));
      const type = sql.raw(field === 'costUsd' ? 'double precision' : 'bigint');
      const added = sql`${value(field)}::${type}`;
      return [snake(field), sql<number>`coalesce(${column} + ${added}, ${added}, ${column})`];
    }),
  );
}

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

function storeEvents(value: ValueOf<Given>, { id, organizationId, at }: SharedValues) {
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
    sql<string>`case when source ->> 'type' = 'transcript' then least(${at}, coalesce(${seenAt}::timestamptz, last_seen_at)) else ${at} end`;
  return db
    .updateTable('session')
    .set({ last_seen_at: seen ?? at })
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .where('last_seen_at', '<', sql<string>`${seen ?? at} - interval '1 minute'`)
    .where((eb) => eb.exists(afterHead.selectFrom('head').select('base')));
}
