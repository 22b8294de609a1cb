import { builder } from '../../../core/graphql/builder.ts';
import { filterType } from '../../../core/graphql/derived-inputs.ts';
import { listType } from '../../../core/graphql/lists.ts';
import type { NamedRow } from '../../../core/postgres/reading/names.ts';
import { organizationList } from '../../organizations/graphql/organization-list.ts';
import { eventTypeFilter, listSessionEventTypes } from '../event-type-list.ts';

const EventTypeType = builder.objectRef<NamedRow>('SessionEventType').implement({
  description: 'A type of recorded events. It has no other properties, because types are free text.',
  fields: (t) => ({ name: t.exposeString('name', { description: 'The type, as `SessionEvent.eventType`.' }) }),
});

const EVENT_TYPE_LIST = listType(EventTypeType, {
  of: 'event types',
  filter: filterType('SessionEventTypeFilter', eventTypeFilter),
  conditions: 'Conditions on the event types. When absent, all types are included.',
  fields: { NAME: 'The event type.' },
  otherwise: { field: 'NAME', direction: 'ASC' },
});
organizationList('eventTypes', EVENT_TYPE_LIST, listSessionEventTypes);
