import { builder } from '../../../core/graphql/builder.ts';
import { connectionType } from '../../../core/graphql/connections.ts';
import { filterType } from '../../../core/graphql/derived-inputs.ts';
import { orderType } from '../../../core/graphql/orders.ts';
import type { NamedRow } from '../../../core/postgres/reading/names.ts';
import { organizationList } from '../../organizations/graphql/organization-list.ts';
import { eventTypeFilter, listSessionEventTypes } from '../event-type-list.ts';

const EventTypeType = builder.objectRef<NamedRow>('SessionEventType').implement({
  description: 'A type of recorded events. It has no other properties, because types are free text.',
  fields: (t) => ({ name: t.exposeString('name', { description: 'The type, as `SessionEvent.eventType`.' }) }),
});

organizationList('eventTypes', {
  ...listSessionEventTypes.declaration,
  type: EventTypeType,
  connection: connectionType(EventTypeType, { of: 'event types' }),
  filter: {
    type: filterType('SessionEventTypeFilter', eventTypeFilter),
    description: 'Conditions on the event types. When absent, all types are included.',
  },
  order: orderType<'NAME'>('SessionEventType', {
    of: 'event types',
    fields: { NAME: 'The event type.' },
    otherwise: { field: 'NAME', direction: 'ASC' },
  }),
  list: listSessionEventTypes,
});
