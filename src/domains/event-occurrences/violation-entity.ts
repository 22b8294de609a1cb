import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import type { InputFaultCode } from '../../core/errors.ts';
import type { ApiKeyId, EventDefinitionId } from '../../core/ids.ts';
import { columnNames } from '../../core/postgres/reading/queries.ts';
import { Organization } from '../organizations/public.ts';

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
