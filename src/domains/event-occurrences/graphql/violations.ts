import { OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { InputFaultCodeEnum } from '../../../core/graphql/errors.ts';
import { acceptingIds } from '../../../core/graphql/global-ids.ts';
import { entityType } from '../../../core/graphql/nodes.ts';
import { listType } from '../../../core/graphql/lists.ts';
import { needs } from '../../../core/graphql/selection.ts';
import { apiKeyField } from '../../api-keys/graphql.ts';
import { READ_API_KEYS } from '../../api-keys/public.ts';
import { EventDefinition, definitionOf } from '../../event-definitions/graphql/types.ts';
import { organizationList } from '../../organizations/graphql/organization-list.ts';
import { UNKNOWN_EVENT } from '../entity.ts';
import { eventViolationFilter } from '../input.ts';
import type { EventViolationRow } from '../violation-queries.ts';
import { listEventViolations, readEventViolations } from '../violations.ts';

const EventViolationType = entityType<EventViolationRow>('EventViolation', {
  stored: { table: 'event_violation' },
  description:
    'How many occurrences of an event were refused in an hour for one reason, in one property, with one API key; those of an event that does not exist by the name that was sent. An occurrence with several faults counts once for each. Kept for 30 days.',
  read: readEventViolations,
  databaseId: 'The id of the count in the database.',
  fields: (t) => ({
    hour: t.expose('hour', { type: 'DateTime', description: 'The beginning of the hour in UTC.' }),
    eventDefinition: t.field({
      type: EventDefinition,
      nullable: true,
      description: 'The definition of the event. Null if no such event existed, and after its deletion.',
      extensions: { ...OWN_STATEMENT, ...needs<EventViolationRow>('definitionId') },
      resolve: ({ definitionId }, _, context, info) =>
        definitionId === UNKNOWN_EVENT ? null : definitionOf(definitionId, context, info),
    }),
    unknownEventName: t.string({
      nullable: true,
      description:
        'The name that was sent if no event has it, at most 100 characters. Null if the event existed, or if too many names were refused in the hour.',
      extensions: needs<EventViolationRow>('definitionId', 'property'),
      resolve: ({ definitionId, property }) => (definitionId === UNKNOWN_EVENT && property) || null,
    }),
    reason: t.expose('reason', {
      type: InputFaultCodeEnum,
      description: 'The broken rule. `NOT_FOUND`: no such event.',
    }),
    property: t.string({
      nullable: true,
      description:
        'Name of the property with the fault. Null if the fault is elsewhere, or if too many properties were refused in the hour.',
      extensions: needs<EventViolationRow>('definitionId', 'property'),
      resolve: ({ definitionId, property }) => (definitionId !== UNKNOWN_EVENT && property) || null,
    }),
    apiKey: apiKeyField(
      t,
      'keyId',
      'The API key that sent them, which may be revoked. Null if it is an unbound key of another user.',
      READ_API_KEYS,
    ),
    count: t.expose('count', { type: 'BigInt', description: 'Number of refused occurrences.' }),
  }),
});

const FilterInput = builder.inputType('EventViolationFilter', {
  description:
    'Conditions on counts of refused occurrences. A count is listed when it meets all of them. A condition with an empty list matches nothing.',
  validate: acceptingIds(eventViolationFilter, { eventDefinitionIds: 'EventDefinition' }),
  fields: (t) => ({
    eventDefinitionIds: t.idList({
      description: 'Counts of any of these definitions, at most 100. Each is an `id` or `databaseId`.',
    }),
    isUnknownEvent: t.boolean({
      description: 'True lists counts of names that no event has, false those of events that existed.',
    }),
    reasons: t.field({ type: [InputFaultCodeEnum], description: 'Counts with any of these reasons, at most 100.' }),
    hourFrom: t.field({ type: 'DateTime', description: 'Counts of this hour or later.' }),
    hourBefore: t.field({ type: 'DateTime', description: 'Counts of hours before this time.' }),
  }),
});

const EVENT_VIOLATION_LIST = listType(EventViolationType, {
  of: 'counts of refused occurrences',
  filter: FilterInput,
  conditions: 'Conditions on the counts. When absent, all counts are listed.',
  fields: { HOUR: 'The hour.' },
  otherwise: { field: 'HOUR', direction: 'DESC' },
});
organizationList('eventViolations', EVENT_VIOLATION_LIST, listEventViolations);
