import { OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { resolveBatched } from '../../../core/graphql/batches.ts';
import { connectionType, resolveConnection } from '../../../core/graphql/connections.ts';
import { NotFoundError } from '../../../core/errors.ts';
import { mutation } from '../../../core/graphql/mutations.ts';
import { nodeType, placeFromKey, uuidsOf } from '../../../core/graphql/nodes.ts';
import { orderType } from '../../../core/graphql/orders.ts';
import { RawJson } from '../../../core/text/raw-json.ts';
import { refusable } from '../../../core/graphql/refusable.ts';
import { needs, selectedColumns } from '../../../core/graphql/selection.ts';
import {
  DeletionPreviewType,
  EVENT_NAME,
  EventDefinition,
  definitionOf,
} from '../../event-definitions/graphql/types.ts';
import type { EventDefinitionRow } from '../../event-definitions/operations.ts';
import { OrganizationType } from '../../organizations/graphql/types.ts';
import './identifiers.ts';
import { eventOccurrenceFilter, occurrenceDaysInput, sendEventOccurrencesInput } from '../input.ts';
import { READ_USAGE } from '../policy.ts';
import { sendEventOccurrences } from '../operations.ts';
import {
  type DayCount,
  type MonthlyUsage,
  countEventOccurrences,
  countOccurrencesByDay,
  listEventOccurrences,
  readEventOccurrences,
  readMonthlyUsage,
} from '../read-operations.ts';
import type { EventOccurrenceRow, OccurrenceKey } from '../queries.ts';

const EventOccurrenceType = nodeType<EventOccurrenceRow>('EventOccurrence', {
  description: 'An occurrence of an event: something that happened at a moment in time.',
  keyOf: ({ definitionId, occurredAt, id }) => `${definitionId}:${Date.parse(occurredAt)}:${id}`,
  keyColumns: ['definitionId', 'occurredAt', 'id'],
  load: (context, keys, selected) => readEventOccurrences(context, keys.flatMap(occurrenceKeyOf), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'Its id in the database.' }),
    eventDefinition: t.field({
      type: EventDefinition,
      description: 'The definition of the event that occurred.',
      extensions: { ...OWN_STATEMENT, ...needs<EventOccurrenceRow>('definitionId') },
      resolve: ({ definitionId }, _, context, info) => definitionOf(definitionId, context, info),
    }),
    occurredAt: t.expose('occurredAt', { type: 'DateTime', description: 'When it occurred.' }),
    receivedAt: t.expose('receivedAt', { type: 'DateTime', description: 'When it was sent.' }),
    email: t.exposeString('email', {
      nullable: true,
      description: 'E-mail address of the contact in lower case; null when none was sent.',
    }),
    utk: t.exposeString('utk', {
      nullable: true,
      description: 'Token of the visiting contact; null when none was sent.',
    }),
    objectId: t.exposeString('objectId', {
      nullable: true,
      description:
        'Id of the record that it is linked to, as sent or as found by custom matching; null when there is none.',
    }),
    uuid: t.exposeString('uuid', {
      nullable: true,
      description: 'Deduplication key that it was sent with; null when it had none.',
    }),
    properties: t.field({
      type: 'JSON',
      description:
        'Values by property name, also of properties that were deleted since. A `DATE` is `YYYY-MM-DD`, a `DATETIME` ISO 8601 in UTC.',
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

const FilterInput = builder.inputType('EventOccurrenceFilter', {
  description: 'Which occurrences to list. All given conditions must be met.',
  validate: eventOccurrenceFilter,
  fields: (t) => ({
    objectId: t.string({ description: 'It is linked to this record; 1 to 255 characters.' }),
    email: t.string({
      description: 'It was sent with this e-mail address, at most 254 characters; case is ignored.',
    }),
    occurredFrom: t.field({ type: 'DateTime', description: 'It occurred at this moment or later.' }),
    occurredBefore: t.field({ type: 'DateTime', description: 'It occurred before this moment.' }),
  }),
});

const EVENT_OCCURRENCE_ORDER = orderType<'OCCURRED_AT'>('EventOccurrence', {
  of: 'event occurrences',
  fields: { OCCURRED_AT: 'When it occurred.' },
  otherwise: { field: 'OCCURRED_AT', direction: 'DESC' },
});

const EventOccurrenceConnection = connectionType(EventOccurrenceType, { of: 'event occurrences' });

builder.objectField(EventDefinition, 'occurrences', (t) =>
  t.connection(
    {
      type: EventOccurrenceType,
      description:
        'Its occurrences, latest first unless ordered otherwise. Always empty for `NO_OBJECT`, whose occurrences are not stored.',
      args: {
        filter: t.arg({ type: FilterInput, description: 'Which occurrences to list; all when absent.' }),
        orderBy: t.arg(EVENT_OCCURRENCE_ORDER.argument),
      },
      extensions: needs<EventDefinitionRow>('id'),
      resolve: ({ id }, args, context, info) => {
        const { filter, orderBy, ...page } = args;
        const columns = selectedColumns<EventOccurrenceRow>(info, 'EventOccurrence');
        const { direction } = EVENT_OCCURRENCE_ORDER.orderOf(orderBy);
        const list = { filter: filter ?? {}, direction, page, columns };
        return resolveConnection({ context, info, args }, id, {
          pages: listEventOccurrences(context, list),
          counts: countEventOccurrences(context, list.filter),
          countedBy: list.filter,
          columns,
        });
      },
    },
    EventOccurrenceConnection,
  ),
);

const DayCountType = builder.objectRef<DayCount>('EventOccurrenceDayCount').implement({
  description: 'How often an event occurred on a day.',
  fields: (t) => ({
    day: t.expose('day', { type: 'Date', description: 'The day in UTC.' }),
    count: t.exposeInt('count', { description: 'Occurrences on that day.' }),
  }),
});

builder.objectField(EventDefinition, 'occurrencesPerDay', (t) =>
  t.field({
    type: [DayCountType],
    description: 'The number of occurrences on each day in UTC, days without any included; at most 366 days.',
    args: {
      from: t.arg({ type: 'Date', description: 'The first day; 29 days before the last one when absent.' }),
      until: t.arg({ type: 'Date', description: 'The last day; today when absent.' }),
    },
    validate: occurrenceDaysInput,
    extensions: { ...OWN_STATEMENT, ...needs<EventDefinitionRow>('id') },
    resolve: async ({ id }, bounds, context, info) =>
      (await resolveBatched({ context, info, args: bounds }, id, countOccurrencesByDay(context, bounds))) ?? [],
  }),
);

builder.objectField(DeletionPreviewType, 'occurrenceCount', (t) =>
  t.int({
    description: 'Occurrences that would be lost.',
    extensions: OWN_STATEMENT,
    resolve: async ({ definition: { id } }, _, context, info) =>
      (await resolveBatched({ context, info }, id, countEventOccurrences(context, {}))) ?? 0,
  }),
);

const MonthlyUsageType = builder.objectRef<MonthlyUsage>('MonthlyOccurrenceUsage').implement({
  description:
    'How many event occurrences an organization has sent in this calendar month, those of `NO_OBJECT` included.',
  fields: (t) => ({
    month: t.exposeString('month', { description: 'The month in UTC, `YYYY-MM`.' }),
    count: t.expose('count', { type: 'BigInt', description: 'Occurrences sent so far.' }),
    limit: t.expose('limit', {
      type: 'BigInt',
      nullable: true,
      description: 'How many may be sent; null when there is no limit.',
    }),
    resetsAt: t.expose('resetsAt', { type: 'DateTime', description: 'When the next month begins.' }),
  }),
});

builder.objectField(OrganizationType, 'monthlyOccurrenceUsage', (t) =>
  t.field({
    type: MonthlyUsageType,
    description: 'Event occurrences sent in this month, and the limit.',
    extensions: {
      ...OWN_STATEMENT,
      ...refusable(READ_USAGE, { actingOrganization: true }),
    },
    resolve: ({ id }, _, context) => readMonthlyUsage(context, id),
  }),
);

const OccurrenceInput = builder.inputType('EventOccurrenceInput', {
  description: 'One occurrence to send.',
  fields: (t) => ({
    eventName: t.string({ required: true, description: EVENT_NAME }),
    properties: t.field({
      type: 'JSON',
      required: true,
      description:
        'An object of values by property name, each of the type of its property. Numbers and booleans may be text. Names with the prefix `hs_` mean the default property `svc_` of the same name.',
    }),
    email: t.string({ description: 'E-mail address, at most 254 characters; only for the primary object `CONTACT`.' }),
    utk: t.string({
      description: 'Token of a visitor, at most 255 characters; only for the primary object `CONTACT`.',
    }),
    objectId: t.string({
      description:
        'Id of the record, 1 to 255 characters. `CONTACT` needs one of `email`, `utk` and this; other objects need this, unless the definition has a custom matching id. Not for `NO_OBJECT`.',
    }),
    occurredAt: t.field({ type: 'DateTime', description: 'When it occurred; now when absent.' }),
    uuid: t.string({
      description:
        'Deduplication key, any text of 1 to 255 characters: a repeat for the same definition within a year is ignored.',
    }),
  }),
});

mutation('sendEventOccurrences', {
  access: sendEventOccurrences.access,
  description: 'Sends occurrences of one or several events. All are accepted or none.',
  schema: sendEventOccurrencesInput,
  input: (t) => ({
    inputs: t.field({ type: [OccurrenceInput], required: true, description: '1 to 500 occurrences.' }),
  }),
  errors: [NotFoundError],
  run: sendEventOccurrences,
  payload: (t) => ({
    acceptedCount: t.exposeInt('acceptedCount', {
      description: 'How many were given, ignored repeats included.',
    }),
  }),
});
