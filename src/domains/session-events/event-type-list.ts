import { sql } from 'kysely';
import { z } from 'zod';
import { requireOrganization } from '../../core/access.ts';
import type { OrganizationId } from '../../core/ids.ts';
import { text } from '../../core/input/validation.ts';
import { defineOperation } from '../../core/operation.ts';
import { type NameList, type NamedRow, pageOfNames } from '../../core/postgres/reading/names.ts';
import { queriesOn } from '../../core/postgres/reading/queries.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import {
  READ_SESSIONS,
  type SessionTables,
  callerOf,
  createdWithin,
  readableBy,
  sessionsCreated,
} from '../sessions/public.ts';

export const eventTypeFilter = z
  .strictObject({
    name: text({ max: 100 }).nullish().describe('As `search`.'),
    search: text({ max: 100 })
      .nullish()
      .describe('Event types that contain this text. Case is ignored; there are no wildcards.'),
    ...sessionsCreated,
  })
  .describe('Conditions on the event types of sessions. A type is listed when it meets all of them.');
type EventTypeFilter = z.output<typeof eventTypeFilter>;

const db = queriesOn<SessionTables>();

export const listSessionEventTypes = defineOperation({
  name: 'listSessionEventTypes',
  description:
    'Lists the types of the events in the sessions that the caller can read, by name: the values of `SessionEventFilter.eventTypes`. At most 100 types of one session are listed, some seconds after they were recorded.',
  access: READ_SESSIONS,
  run: async (
    { actor, sql: reader },
    { organizationId, ...list }: NameList & { filter: EventTypeFilter; organizationId: OrganizationId },
  ) => {
    requireOrganization(actor, organizationId);
    const recorded = db
      .selectFrom('session_search as q')
      .innerJoin('session as s', (join) =>
        join.onRef('s.id', '=', 'q.session_id').onRef('s.organization_id', '=', 'q.organization_id'),
      )
      .select(sql<string>`unnest(q.event_types)`.as('name'))
      .where('q.organization_id', '=', callerOf(actor).organizationId)
      .where(within(readableBy(callerOf(actor)), 's'))
      .where((eb) => eb.and(createdWithin(list.filter)))
      .$castTo<NamedRow>();
    return pageOfNames(reader, 'SESSION_EVENT_TYPE', recorded, list);
  },
});
