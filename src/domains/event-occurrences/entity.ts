import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import type { ApiKeyId, EventDefinitionId, OrganizationId } from '../../core/ids.ts';
import { columnNames } from '../../core/postgres/reading/queries.ts';
import { Organization } from '../organizations/public.ts';
import type { UnmatchedReason } from './input.ts';
import type { PropertyValue } from './property-values.ts';
import type { InputFaultCode } from '../../core/errors.ts';

const EventOccurrenceSchema = defineEntity({
  name: 'EventOccurrence',
  tableName: 'event_occurrence',
  properties: {
    definitionId: p.uuid().$type<EventDefinitionId>().primary(),
    occurredAt: p.datetime().primary(),
    id: p.uuid().primary(),
    organizationId: p.uuid().$type<OrganizationId>(),
    receivedAt: p.datetime(),
    email: p.text().nullable(),
    utk: p.text().nullable(),
    /** Id of the record that the occurrence is linked to: either sent with it, or found by custom matching. */
    objectId: p.text().nullable(),
    /** The deduplication key that the client sent. It can be any text, not only a UUID. */
    uuid: p.text().nullable(),
    /** Why custom matching has found no record; null if it was not asked, or has found one. */
    unmatchedReason: p.text().$type<UnmatchedReason>().nullable(),
    properties: p.json<Record<string, PropertyValue>>().columnType('json'),
  },
  indexes: [
    { name: 'event_occurrence_object_index', properties: ['definitionId', 'objectId', 'occurredAt', 'id'] },
    {
      name: 'event_occurrence_email_index',
      properties: ['definitionId', 'email', 'occurredAt', 'id'],
      where: 'email is not null',
    },
    {
      name: 'event_occurrence_utk_index',
      properties: ['definitionId', 'utk'],
      where: 'utk is not null',
    },
    {
      name: 'event_occurrence_unmatched_index',
      properties: ['definitionId', 'occurredAt', 'id', 'unmatchedReason'],
      where: 'unmatched_reason is not null',
    },
  ],
  partitionBy: { type: 'hash', expression: 'definition_id', partitions: 16 },
});

/**
 * An occurrence of an event. It is never loaded as an entity. The table is partitioned by definition and has no foreign
 * key to the definition. All queries join the definition, so that rows of a deleted definition are not found; a job
 * deletes them.
 */
export class EventOccurrence extends EventOccurrenceSchema.class {}
EventOccurrenceSchema.setClass(EventOccurrence);

const EventOccurrenceUuidSchema = defineEntity({
  name: 'EventOccurrenceUuid',
  tableName: 'event_occurrence_uuid',
  properties: {
    definitionId: p.uuid().$type<EventDefinitionId>().primary(),
    uuid: p.text().primary(),
    organizationId: p.uuid().$type<OrganizationId>(),
    /** From this time on the uuid counts as new. */
    expiresAt: p.datetime(),
  },
  indexes: [{ name: 'event_occurrence_uuid_expiry_index', properties: ['expiresAt'] }],
});

/**
 * The uuids of the last year. A unique constraint on occurrences would not do: it cannot expire, and would have to
 * contain `occurredAt`.
 */
export class EventOccurrenceUuid extends EventOccurrenceUuidSchema.class {}
EventOccurrenceUuidSchema.setClass(EventOccurrenceUuid);

const ObjectIdentifierSchema = defineEntity({
  name: 'ObjectIdentifier',
  tableName: 'object_identifier',
  properties: {
    organization: () => p.manyToOne(Organization).primary().deleteRule('cascade'),
    objectType: p.text().primary(),
    propertyName: p.text().primary(),
    value: p.text().primary(),
    /** Identifies the row for clients. It has a default, because the column was added to a table with rows. */
    id: p.uuid().defaultRaw('gen_random_uuid()'),
    objectId: p.text(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
  uniques: [{ name: 'object_identifier_id_unique', properties: ['id'] }],
  indexes: [
    { name: 'object_identifier_created_index', properties: ['organization', 'createdAt', 'id'] },
    { name: 'object_identifier_object_index', properties: ['organization', 'objectType', 'objectId'] },
  ],
});

/** Maps a value of a unique property to the record that has it. Custom matching uses it to link occurrences to records. */
export class ObjectIdentifier extends ObjectIdentifierSchema.class {}
ObjectIdentifierSchema.setClass(ObjectIdentifier);

const MonthlyOccurrenceCountSchema = defineEntity({
  name: 'MonthlyOccurrenceCount',
  tableName: 'monthly_occurrence_count',
  properties: {
    organization: () => p.manyToOne(Organization).primary().deleteRule('cascade'),
    /** `YYYY-MM` in UTC. */
    month: p.text().primary(),
    count: p.bigint('number'),
  },
});

/** How many occurrences an organization has sent in a month. */
export class MonthlyOccurrenceCount extends MonthlyOccurrenceCountSchema.class {}
MonthlyOccurrenceCountSchema.setClass(MonthlyOccurrenceCount);

const SentOccurrenceCountSchema = defineEntity({
  name: 'SentOccurrenceCount',
  tableName: 'sent_occurrence_count',
  properties: {
    organization: () => p.manyToOne(Organization).primary().deleteRule('cascade'),
    definitionId: p.uuid().$type<EventDefinitionId>().primary(),
    /** The beginning of the minute. */
    minute: p.datetime().primary(),
    count: p.bigint('number'),
  },
  indexes: [{ name: 'sent_occurrence_count_minute_index', properties: ['minute'] }],
});

/** How many occurrences of a definition were sent in a minute, until a job moves it to the feed. */
export class SentOccurrenceCount extends SentOccurrenceCountSchema.class {}
SentOccurrenceCountSchema.setClass(SentOccurrenceCount);

export type EventOccurrenceTables = InferKyselyDB<
  | typeof EventOccurrenceSchema
  | typeof EventOccurrenceUuidSchema
  | typeof ObjectIdentifierSchema
  | typeof MonthlyOccurrenceCountSchema
  | typeof SentOccurrenceCountSchema
>;
export const OBJECT_IDENTIFIER_COLUMNS = columnNames<EventOccurrenceTables, 'object_identifier'>(
  ObjectIdentifierSchema,
  'object_identifier',
);
export const EVENT_OCCURRENCE_COLUMNS = columnNames<EventOccurrenceTables, 'event_occurrence'>(
  EventOccurrenceSchema,
  'event_occurrence',
);

const EventViolationSchema = defineEntity({
  name: 'EventViolation',
  tableName: 'event_violation',
  properties: {
    organization: () => p.manyToOne(Organization).primary().deleteRule('cascade'),
    hour: p.datetime().primary(),
    /** {@link UNKNOWN_EVENT} if there was no such event. Not a foreign key: the row expires soon after a deletion of the definition. */
    definitionId: p.uuid().$type<EventDefinitionId>().primary(),
    reason: p.text().$type<InputFaultCode>().primary(),
    /** Empty if the fault is not in a property. Of {@link UNKNOWN_EVENT} it is the name of the event that was sent. */
    property: p.text().primary(),
    /** Not a foreign key, because keys of deleted accounts are deleted. */
    keyId: p.uuid().$type<ApiKeyId>().primary(),
    id: p.uuid().defaultRaw('gen_random_uuid()'),
    count: p.bigint('number'),
    /** The refused occurrences whose first fault this is, so that each is counted once in all rows. */
    occurrences: p.bigint('number').default(0),
  },
  uniques: [{ name: 'event_violation_id_unique', properties: ['organization', 'id'] }],
  indexes: [
    { name: 'event_violation_hour_index', properties: ['hour'] },
    { name: 'event_violation_definition_index', properties: ['organization', 'definitionId', 'hour'] },
  ],
});

/** How many occurrences were refused in an hour, by definition, reason, property and key. There are no values. */
export class EventViolation extends EventViolationSchema.class {}
EventViolationSchema.setClass(EventViolation);

export type EventViolationTables = InferKyselyDB<typeof EventViolationSchema>;
export const EVENT_VIOLATION_COLUMNS = columnNames<EventViolationTables, 'event_violation'>(
  EventViolationSchema,
  'event_violation',
);

/** The definition id of an event that does not exist, because a primary key cannot be null. */
export const UNKNOWN_EVENT = '00000000-0000-0000-0000-000000000000';
