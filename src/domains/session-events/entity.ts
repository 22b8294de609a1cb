import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import type { OrganizationId, SessionId } from '../../core/ids.ts';
import { Organization } from '../organizations/public.ts';
import { Session } from '../sessions/public.ts';
import type { EntryKind } from './entry-fold.ts';

const SessionEventBatchSchema = defineEntity({
  name: 'SessionEventBatch',
  tableName: 'session_event_batch',
  properties: {
    sessionId: p.uuid().$type<SessionId>().primary(),
    batchId: p.text().primary(),
    organizationId: p.uuid().$type<OrganizationId>(),
    firstId: p.bigint('number'),
    lastId: p.bigint('number'),
    createdAt: p.datetime(),
    /** SHA-256 of the lines from which the events were made. Null when the events themselves were sent. */
    contentHash: p.text().nullable(),
  },
});

/** The id of an appended batch, so that a retry stores nothing. Like events, it is purged after its session is deleted. */
export class SessionEventBatch extends SessionEventBatchSchema.class {}
SessionEventBatchSchema.setClass(SessionEventBatch);

const SessionEventSchema = defineEntity({
  name: 'SessionEvent',
  tableName: 'session_event',
  properties: {
    sessionId: p.uuid().$type<SessionId>().primary(),
    id: p.bigint('number').primary(),
    organizationId: p.uuid().$type<OrganizationId>(),
    /** When the event happened, as the runner said. */
    createdAt: p.datetime(),
    /** When the event was stored. Null for events of earlier versions. */
    storedAt: p.datetime().nullable(),
    eventType: p.text(),
    messageId: p.uuid().nullable(),
    provider: p.text(),
    /** The column type is `json` and not `jsonb`, because it keeps the text unchanged, with unknown fields and their order. */
    eventData: p.json<object>().columnType('json'),
    /** Of a run that is recorded by its command: whether the transcript of the agent has what happened. Null for all other events. */
    isSuperseded: p.boolean().nullable(),
  },
  partitionBy: { type: 'hash', expression: 'session_id', partitions: 16 },
});

/** One recorded event. It is never loaded as an entity. The table is partitioned by session (see docs/storage.md). */
export class SessionEvent extends SessionEventSchema.class {}
SessionEventSchema.setClass(SessionEvent);

const SessionTextSchema = defineEntity({
  name: 'SessionText',
  tableName: 'session_text',
  properties: {
    sessionId: p.uuid().$type<SessionId>().primary(),
    item: p.text().primary(),
    organizationId: p.uuid().$type<OrganizationId>().primary(),
    /** 0 for the title of the session. */
    eventId: p.bigint('number'),
    createdAt: p.datetime(),
    document: p.text().columnType('tsvector'),
  },
  indexes: [
    { name: 'session_text_event_index', properties: ['sessionId', 'eventId'] },
    { name: 'session_text_newest_index', properties: ['organizationId', 'createdAt', 'sessionId', 'item'] },
    {
      name: 'session_text_document_index',
      expression:
        'create index "session_text_document_index" on "session_text" using gin ("document") with (fastupdate = off)',
    },
  ],
});

/** A text that can be searched: the title of a session, a message, or the input or output of a tool. It is never loaded as an entity. */
export class SessionText extends SessionTextSchema.class {}
SessionTextSchema.setClass(SessionText);

const TranscriptLineSchema = defineEntity({
  name: 'TranscriptLine',
  tableName: 'transcript_line',
  properties: {
    sessionId: p.uuid().$type<SessionId>().primary(),
    /** Empty for lines without a place in a file, whose line is the id of their event. */
    file: p.text().primary(),
    line: p.bigint('number').primary(),
    organizationId: p.uuid().$type<OrganizationId>().primary(),
    /** A hash of the id that the agent gave the line, or else of its bytes. */
    key: p.uuid(),
    /** The same of the line as it is stored, where credentials were replaced. */
    storedKey: p.uuid().nullable(),
    /** The first event of the line, or of the one that it repeats. */
    eventId: p.bigint('number').nullable(),
    isRepeated: p.boolean(),
    /** The line itself, where that of its event has other bytes, or it is blank. */
    text: p.text().nullable(),
    /** Whether the line ends with a carriage return, which is not part of its event. */
    hasReturn: p.boolean().default(false),
  },
  indexes: [
    { name: 'transcript_line_key_index', properties: ['sessionId', 'key'] },
    {
      name: 'transcript_line_stored_index',
      properties: ['sessionId', 'storedKey'],
      where: 'stored_key is not null',
    },
  ],
});

/** A line of a transcript that has arrived, by which it is not stored again. It is never loaded as an entity. */
export class TranscriptLine extends TranscriptLineSchema.class {}
TranscriptLineSchema.setClass(TranscriptLine);

const CountedMessageSchema = defineEntity({
  name: 'CountedMessage',
  tableName: 'counted_message',
  properties: {
    organization: () => p.manyToOne(Organization).primary().deleteRule('cascade'),
    ownerId: p.uuid().primary(),
    agent: p.text().primary(),
    /** A hash of the id that the provider of the model gave the message. */
    message: p.uuid().primary(),
    sessionId: p.uuid().$type<SessionId>(),
    /** Null while the session is there. */
    expiresAt: p.datetime().nullable(),
  },
  indexes: [
    { name: 'counted_message_owner_index', properties: ['ownerId'] },
    { name: 'counted_message_session_index', properties: ['sessionId'] },
    { name: 'counted_message_expiry_index', properties: ['expiresAt'], where: 'expires_at is not null' },
  ],
});

/** A message of a model whose usage counts in a session. It is never loaded as an entity. */
export class CountedMessage extends CountedMessageSchema.class {}
CountedMessageSchema.setClass(CountedMessage);

const SessionFoldSchema = defineEntity({
  name: 'SessionFold',
  tableName: 'session_fold',
  properties: {
    session: () => p.manyToOne(Session).primary().deleteRule('cascade'),
    organization: () => p.manyToOne(Organization).primary().deleteRule('cascade'),
    /** Id of the last event that was folded. */
    foldedId: p.bigint('number'),
    /** Id of the last event before the last end of the session of which the entries know. */
    closedId: p.bigint('number'),
    /** Changes with each fold, so that each event is folded once. */
    version: p.bigint('number'),
    /** What the fold remembers, as JSON. */
    memory: p.text(),
    /** How many superseded events the entries leave out; -1 when they are made anew. */
    superseded: p.integer().default(0),
    /** Events before this id were pruned. */
    prunedUntil: p.bigint('number').default(0),
  },
});

/** How far the events of a session are folded into entries. It is never loaded as an entity. */
export class SessionFold extends SessionFoldSchema.class {}
SessionFoldSchema.setClass(SessionFold);

const SessionEntrySchema = defineEntity({
  name: 'SessionEntry',
  tableName: 'session_entry',
  properties: {
    sessionId: p.uuid().$type<SessionId>().primary(),
    /** Id of the first event. */
    id: p.bigint('number').primary(),
    organizationId: p.uuid().$type<OrganizationId>().primary(),
    kind: p.text().$type<EntryKind>(),
    turn: p.integer(),
    startedAt: p.datetime(),
    endedAt: p.datetime().nullable(),
    lastEventId: p.bigint('number'),
    isFailed: p.boolean(),
    /** The events that say so. */
    failedEvents: p.text().columnType('int8multirange').nullable(),
    isFinal: p.boolean(),
    startsSubagent: p.boolean(),
    subagentId: p.text().nullable(),
    callId: p.text().nullable(),
    toolName: p.text().nullable(),
    model: p.text().nullable(),
    events: p.text().columnType('int8multirange'),
    /** The events that have the text, or the input of a call. */
    parts: p.text().columnType('int8multirange'),
    /** The event that has the output of a call. */
    outputId: p.bigint('number').nullable(),
    /** The last event before the end of the session that has changed the entry. */
    closedWith: p.bigint('number').nullable(),
  },
  indexes: [
    { name: 'session_entry_changed_index', properties: ['sessionId', 'lastEventId'] },
    {
      name: 'session_entry_subagent_index',
      properties: ['sessionId', 'subagentId', 'id'],
      where: 'subagent_id is not null',
    },
    { name: 'session_entry_call_index', properties: ['sessionId', 'callId'], where: 'call_id is not null' },
    { name: 'session_entry_turn_index', properties: ['sessionId', 'turn', 'id'] },
    { name: 'session_entry_failed_index', properties: ['sessionId', 'id'], where: 'is_failed' },
    { name: 'session_entry_closed_index', properties: ['sessionId', 'closedWith'], where: 'closed_with is not null' },
  ],
});

/** An entry of a session, without its texts, which its events have. It is never loaded as an entity. */
export class SessionEntry extends SessionEntrySchema.class {}
SessionEntrySchema.setClass(SessionEntry);

const RemovedEntrySchema = defineEntity({
  name: 'RemovedEntry',
  tableName: 'removed_entry',
  properties: {
    sessionId: p.uuid().$type<SessionId>().primary(),
    id: p.bigint('number').primary(),
    organizationId: p.uuid().$type<OrganizationId>().primary(),
    kind: p.text().$type<EntryKind>(),
    /** The id that the entry has since, if some of its events are left. */
    nextId: p.bigint('number').nullable(),
  },
});

/** An entry that is no more, because its first event was pruned or superseded: who follows the session forgets it. It is never loaded as an entity. */
export class RemovedEntry extends RemovedEntrySchema.class {}
RemovedEntrySchema.setClass(RemovedEntry);

export type SessionEventTables = InferKyselyDB<
  | typeof SessionEntrySchema
  | typeof RemovedEntrySchema
  | typeof SessionFoldSchema
  | typeof CountedMessageSchema
  | typeof SessionEventBatchSchema
  | typeof SessionEventSchema
  | typeof SessionTextSchema
  | typeof TranscriptLineSchema
>;
