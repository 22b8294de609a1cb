import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import { columnNames } from '../../core/postgres/queries.ts';
import { Organization } from '../organizations/entity.ts';
import type { PropertyValue } from './property-values.ts';

const EventOccurrenceSchema = defineEntity({
  name: 'EventOccurrence',
  tableName: 'event_occurrence',
  properties: {
    definitionId: p.uuid().primary(),
    occurredAt: p.datetime().primary(),
    id: p.uuid().primary(),
    organizationId: p.uuid(),
    receivedAt: p.datetime(),
    email: p.text().nullable(),
    utk: p.text().nullable(),
    /** The record it belongs to: as sent, or as custom matching found it. */
    objectId: p.text().nullable(),
    uuid: p.uuid().nullable(),
    properties: p.json<Record<string, PropertyValue>>().columnType('json'),
  },
  indexes: [{ name: 'event_occurrence_object_index', properties: ['definitionId', 'objectId', 'occurredAt', 'id'] }],
  partitionBy: { type: 'hash', expression: 'definition_id', partitions: 16 },
});

/**
 * Something that occurred. Read as rows, never as entities; the table is partitioned by definition, and refers to it without a foreign key:
 * rows of a deleted definition are out of reach at once, and purged afterwards, by `definition_id`.
 */
export class EventOccurrence extends EventOccurrenceSchema.class {}
EventOccurrenceSchema.setClass(EventOccurrence);

const EventOccurrenceUuidSchema = defineEntity({
  name: 'EventOccurrenceUuid',
  tableName: 'event_occurrence_uuid',
  properties: {
    definitionId: p.uuid().primary(),
    uuid: p.uuid().primary(),
    organizationId: p.uuid(),
    /** From here on the uuid counts as new. */
    expiresAt: p.datetime(),
  },
  indexes: [{ name: 'event_occurrence_uuid_expiry_index', properties: ['expiresAt'] }],
});

/** Remembers the uuid of an occurrence for a year. A table of its own: no constraint can tell years apart, nor span times of occurring. */
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
    objectId: p.text(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
});

/** Says which record has a value of a unique property, so that custom matching can link occurrences by it. */
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

/** How many occurrences an organization has sent in a month; its row is held by whoever adds to it. */
export class MonthlyOccurrenceCount extends MonthlyOccurrenceCountSchema.class {}
MonthlyOccurrenceCountSchema.setClass(MonthlyOccurrenceCount);

export type EventOccurrenceTables = InferKyselyDB<
  | typeof EventOccurrenceSchema
  | typeof EventOccurrenceUuidSchema
  | typeof ObjectIdentifierSchema
  | typeof MonthlyOccurrenceCountSchema
>;
export const EVENT_OCCURRENCE_COLUMNS = columnNames<EventOccurrenceTables, 'event_occurrence'>(
  EventOccurrenceSchema,
  'event_occurrence',
);
