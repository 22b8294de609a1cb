import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import type { OrganizationId, SessionId } from '../../core/ids.ts';
import { Organization } from '../organizations/public.ts';

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

export type SessionEventTables = InferKyselyDB<
  | typeof CountedMessageSchema
  | typeof SessionEventBatchSchema
  | typeof SessionEventSchema
  | typeof SessionTextSchema
  | typeof TranscriptLineSchema
>;
