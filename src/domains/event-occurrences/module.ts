import { exportedList } from '../../core/exported-pages.ts';
import type { EventDefinitionId } from '../../core/ids.ts';
import { RawJson } from '../../core/text/raw-json.ts';
import type { Module } from '../../core/module.ts';
import { deletionStep, DELETION_BATCH, OPEN_TO_ROLE } from '../../core/module.ts';
import {
  EventOccurrence,
  EventOccurrenceUuid,
  EventViolation,
  MonthlyOccurrenceCount,
  ObjectIdentifier,
  SentOccurrenceCount,
} from './entity.ts';
import { sentOccurrencesJob } from './feed-job.ts';
import { deleteDefinitions, deleteIdentifiersOf } from './organization-deletion.ts';
import { objectDeletionJob } from './object-deletion.ts';
import { eventPurgeJob } from './purge.ts';
import { eventOccurrenceRoutes } from './rest.ts';
import { deleteExpiredUuids } from './send-queries.ts';
import { deleteOldViolations } from './violation-queries.ts';
import { type EventOccurrenceRow, pagesOfOccurrences } from './queries.ts';
import { IDENTIFIERS } from './identifier-queries.ts';
import { type EventDefinitionRow } from '../event-definitions/public.ts';

export const eventOccurrences = {
  entities: [
    EventOccurrence,
    EventOccurrenceUuid,
    MonthlyOccurrenceCount,
    ObjectIdentifier,
    SentOccurrenceCount,
    EventViolation,
  ],
  graphql: () => Promise.all([import('./graphql/occurrences.ts'), import('./graphql/violations.ts')]),
  routes: eventOccurrenceRoutes,
  pages: [],
  jobs: () => [eventPurgeJob, objectDeletionJob, sentOccurrencesJob],
  cleanups: { 'occurrence uuids': deleteExpiredUuids, 'event violations': deleteOldViolations },
  topics: [],
  deletionSteps: {
    ofUser: [],
    ofOrganization: [
      deletionStep('event definitions', ({ em }, { id }) => deleteDefinitions(em, id)),
      deletionStep('object identifiers', ({ em }, { id }) => deleteIdentifiersOf(em, id, DELETION_BATCH)),
    ],
  },
  exports: [
    {
      kind: 'eventOccurrence',
      below: 'eventDefinition',
      pages: (context, page, ids: readonly EventDefinitionId[], columns) =>
        pagesOfOccurrences(context, { filter: {}, direction: 'ASC', page, columns })(ids),
      lineOf: (
        { id, objectId, email, utk, uuid, occurredAt, receivedAt, properties }: EventOccurrenceRow,
        {
          fullyQualifiedName: eventType,
          primaryObject: objectType,
        }: EventDefinitionRow & { fullyQualifiedName: string },
      ) => ({
        id,
        eventType,
        objectType,
        objectId,
        email,
        utk,
        uuid,
        occurredAt,
        receivedAt,
        properties: new RawJson(properties),
      }),
    },
    exportedList('objectIdentifier', IDENTIFIERS),
  ],
  replays: { ObjectIdentifier: OPEN_TO_ROLE },
} as const satisfies Module;
