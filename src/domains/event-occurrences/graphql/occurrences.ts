import { exposed, nullable } from '../../../core/graphql/fields.ts';
import { OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { resolveBatched } from '../../../core/graphql/batches.ts';
import { enumOf } from '../../../core/graphql/enums.ts';
import { keysOf } from '../../../core/keys-of.ts';
import { filterType, inputType } from '../../../core/graphql/derived-inputs.ts';
import { mutation, one } from '../../../core/graphql/mutations.ts';
import { placeFromKey, uuidsOf } from '../../../core/graphql/global-ids.ts';
import { nodeType } from '../../../core/graphql/nodes.ts';
import { listBelow, listType } from '../../../core/graphql/lists.ts';
import { RawJson } from '../../../core/text/raw-json.ts';
import { refusable } from '../../../core/graphql/refusable.ts';
import { needs } from '../../../core/graphql/selection.ts';
import { WORK } from '../../../core/work-budget.ts';
import { DeletionPreviewType, EventDefinition, definitionOf } from '../../event-definitions/graphql/types.ts';
import { EVENT_DEFINITIONS, type EventDefinitionRow } from '../../event-definitions/public.ts';
import { OrganizationType } from '../../organizations/graphql/types.ts';
import type { OrganizationRow } from '../../organizations/public.ts';
import { ObjectIdentifierType } from './identifiers.ts';
import { type DayCount, countAllOccurrencesByDay, countOccurrencesByDay } from '../day-counts.ts';
import {
  UNMATCHED_REASONS,
  type UnmatchedReason,
  eventOccurrenceFilter,
  occurrenceDaysInput,
  propertyCondition,
  sendEventOccurrenceInput,
} from '../input.ts';
import { READ_USAGE } from '../policy.ts';
import { sendEventOccurrences } from '../operations.ts';
import {
  type MonthlyUsage,
  countEventOccurrences,
  listEventOccurrences,
  readEventOccurrences,
  readMonthlyUsage,
} from '../read-operations.ts';
import type { EventOccurrenceRow, OccurrenceKey } from '../queries.ts';
import { DeletionJobType } from '../../user-deletions/graphql.ts';
import { deletionJobRow } from '../../user-deletions/public.ts';
import { deleteObjectOccurrences } from '../object-deletion.ts';
import { countObjectOccurrences, listObjectOccurrences } from '../object-occurrences.ts';

const UnmatchedReasonEnum = enumOf<UnmatchedReason>(
  'UnmatchedReason',
  'Why custom matching has linked an occurrence to no record.',
  keysOf(UNMATCHED_REASONS),
  UNMATCHED_REASONS,
);

const EventOccurrenceType = nodeType<EventOccurrenceRow>('EventOccurrence', {
  description: 'An occurrence of an event: something that happened at a certain time.',
  keyOf: ({ definitionId, occurredAt, id }) => `${definitionId}:${Date.parse(occurredAt)}:${id}`,
  keyColumns: ['definitionId', 'occurredAt', 'id'],
  stored: {
    table: 'event_occurrence',
    joins: 'join event_definition d on d.id = t.definition_id and d.organization_id = t.organization_id',
    datedKey: (moment) => `t.definition_id || ':' || ${moment} || ':' || t.id`,
  },
  load: (context, keys, selected) => readEventOccurrences(context, keys.flatMap(occurrenceKeyOf), selected),
  fields: (t) => ({
    databaseId: t.expose('id', {
      type: 'DatabaseId',
      description: 'The id of the occurrence in the database; `node` finds none of version 1.0 by it.',
    }),
    eventDefinition: t.field({
      type: EventDefinition,
      description: 'The definition of the event that occurred.',
      extensions: { ...OWN_STATEMENT, ...needs<EventOccurrenceRow>('definitionId') },
      resolve: ({ definitionId }, _, context, info) => definitionOf(definitionId, context, info),
    }),
    ...exposed(t, {
      occurredAt: ['DateTime', 'When the event occurred.'],
      receivedAt: ['DateTime', 'When the gateway received the occurrence.'],
      email: [nullable('String'), 'E-mail address of the contact, in lower case. Null when none was sent.'],
      utk: [nullable('String'), 'Token of the visitor. Null when none was sent.'],
      uuid: [nullable('String'), 'Deduplication key that was sent. Null when none was sent.'],
    }),
    objectId: t.exposeString('objectId', {
      nullable: true,
      description:
        'Id of the record that the occurrence is linked to: either sent with it, or found by custom matching. Null when it is not linked.',
    }),
    unmatchedReason: t.expose('unmatchedReason', {
      type: UnmatchedReasonEnum,
      nullable: true,
      description:
        'Why custom matching has linked the occurrence to no record. Null if it is linked, if it has an e-mail address or token and no value to find the record by, for an event without custom matching, and for an occurrence that an earlier version has stored. It never changes.',
    }),
    properties: t.field({
      type: 'JSON',
      description:
        'An object of values by property name. Values of properties that were deleted since are included. A `DATE` is `YYYY-MM-DD`, a `DATETIME` is ISO 8601 in UTC.',
      extensions: needs<EventOccurrenceRow>('properties'),
      resolve: ({ properties }) => new RawJson(properties),
    }),
  }),
});

function occurrenceKeyOf(key: string): OccurrenceKey[] {
  const end = key.indexOf(':');
  const [definitionId] = uuidsOf([key.slice(0, end)]);
  const place = placeFromKey(key.slice(end + 1));
  return definitionId !== undefined && place ? [{ definitionId, occurredAt: place.moment, id: place.id }] : [];
}

inputType('EventPropertyCondition', propertyCondition);
const EVENT_OCCURRENCE_LIST = listType(EventOccurrenceType, {
  of: 'event occurrences',
  filter: filterType('EventOccurrenceFilter', eventOccurrenceFilter),
  conditions: 'Conditions on the occurrences. When absent, all occurrences are listed.',
  fields: { OCCURRED_AT: 'When the event occurred.' },
  otherwise: { field: 'OCCURRED_AT', direction: 'DESC' },
});

builder.objectField(EventDefinition, 'occurrences', (t) =>
  listBelow(t, EVENT_OCCURRENCE_LIST, {
    description:
      'Occurrences of the event, latest first by default. Always empty for `NO_OBJECT`, whose occurrences are not stored.',
    rows: {
      pagesBelow: (context, { order, ...asked }, columns) =>
        listEventOccurrences(context, { ...asked, direction: order.direction, columns }),
      countsBelow: countEventOccurrences,
    },
  }),
);

builder.objectField(ObjectIdentifierType, 'occurrences', (t) =>
  listBelow(t, EVENT_OCCURRENCE_LIST, {
    description: 'Occurrences of all events that are linked to the record, latest first by default.',
    rows: {
      pagesBelow: (context, { order, ...asked }, columns) =>
        listObjectOccurrences(context, { ...asked, direction: order.direction, columns }),
      countsBelow: countObjectOccurrences,
    },
  }),
);

const DayCountType = builder.objectRef<DayCount>('EventOccurrenceDayCount').implement({
  description: 'How often an event, or any event of an organization, occurred on a day.',
  fields: (t) => ({
    day: t.expose('day', { type: 'Date', description: 'The day in UTC.' }),
    count: t.exposeInt('count', { description: 'Occurrences on that day.' }),
    refusedCount: t.exposeInt('refusedCount', {
      nullable: true,
      description:
        'Occurrences that were sent on that day and refused because of their faults. Null for days before the last 30, whose counts are deleted.',
    }),
  }),
});

const DAYS_ARGUMENTS = builder.args((t) => ({
  from: t.field({ type: 'Date', description: 'The first day. When absent, 29 days before the last day.' }),
  before: t.field({ type: 'Date', description: 'The day after the last one. When absent, tomorrow.' }),
  until: t.field({
    type: 'Date',
    description: 'The last day, which is included.',
    deprecationReason: 'Use `before`, which is excluded. Removed on 2027-12-01.',
  }),
}));

builder.objectField(EventDefinition, 'occurrencesPerDay', (t) =>
  t.field({
    type: [DayCountType],
    description: 'The number of occurrences on each day in UTC, days without occurrences included; at most 366 days.',
    args: DAYS_ARGUMENTS,
    validate: occurrenceDaysInput,
    extensions: { ...OWN_STATEMENT, ...needs<EventDefinitionRow>('id') },
    resolve: async ({ id }, bounds, context, info) =>
      (await resolveBatched({ context, info, args: bounds }, id, countOccurrencesByDay(context, bounds))) ?? [],
  }),
);

builder.objectField(OrganizationType, 'eventOccurrencesPerDay', (t) =>
  t.field({
    type: [DayCountType],
    description: `The number of stored occurrences of all events on each day in UTC, days without occurrences included; at most 366 days and ${WORK.countedRows.toLocaleString('en')} occurrences. Refused occurrences of names that no event has are included.`,
    args: DAYS_ARGUMENTS,
    validate: occurrenceDaysInput,
    extensions: {
      ...OWN_STATEMENT,
      ...refusable(EVENT_DEFINITIONS, { actingOrganization: true }),
      ...needs<OrganizationRow>('id'),
    },
    resolve: ({ id }, bounds, context) => countAllOccurrencesByDay(context, id, bounds),
  }),
);

builder.objectField(DeletionPreviewType, 'occurrenceCount', (t) =>
  t.int({
    description: 'The number of occurrences that would be deleted.',
    extensions: OWN_STATEMENT,
    resolve: async ({ definition: { id } }, _, context, info) =>
      (await resolveBatched({ context, info }, id, countEventOccurrences(context, {}))) ?? 0,
  }),
);

const MonthlyUsageType = builder.objectRef<MonthlyUsage>('MonthlyOccurrenceUsage').implement({
  description:
    'How many event occurrences an organization has sent in this calendar month (UTC). Occurrences of `NO_OBJECT` count too.',
  fields: (t) => ({
    month: t.exposeString('month', { description: 'The month in UTC, `YYYY-MM`.' }),
    count: t.expose('count', { type: 'BigInt', description: 'Occurrences sent so far.' }),
    limit: t.expose('limit', {
      type: 'BigInt',
      nullable: true,
      description: 'The maximum for the month. Null when there is no limit.',
    }),
    resetsAt: t.expose('resetsAt', { type: 'DateTime', description: 'When the next month begins.' }),
  }),
});

builder.objectField(OrganizationType, 'monthlyOccurrenceUsage', (t) =>
  t.field({
    type: MonthlyUsageType,
    description: 'How many event occurrences were sent in this month, and the limit.',
    extensions: {
      ...OWN_STATEMENT,
      ...refusable(READ_USAGE, { actingOrganization: true }),
    },
    resolve: ({ id }, _, context) => readMonthlyUsage(context, id),
  }),
);

inputType('EventOccurrenceInput', sendEventOccurrenceInput, {
  types: { properties: 'JSON', email: 'String', objectId: 'String' },
});

mutation(sendEventOccurrences, {
  payload: (t) => ({
    acceptedCount: t.exposeInt('acceptedCount', {
      description: 'The number of occurrences in the input, ignored repeats included.',
    }),
  }),
});

mutation(deleteObjectOccurrences, {
  types: { email: 'String', objectId: 'String' },
  payload: one(
    'deletionJob',
    DeletionJobType,
    'The job that deletes them. Query `deletionJob` to follow it.',
    deletionJobRow,
  ),
});
