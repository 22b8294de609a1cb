import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import type { OrganizationId, SessionId } from '../../core/ids.ts';

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

export type SessionEventTables = InferKyselyDB<
  typeof SessionEventBatchSchema | typeof SessionEventSchema | typeof SessionTextSchema
>;
