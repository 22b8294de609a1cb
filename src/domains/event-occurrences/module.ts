import type { Module } from '../../core/module.ts';
import { deletionStep, DELETION_BATCH, OPEN_TO_ROLE } from '../../core/module.ts';
import {
  EventOccurrence,
  EventOccurrenceUuid,
  MonthlyOccurrenceCount,
  ObjectIdentifier,
  SentOccurrenceCount,
} from './entity.ts';
import { sentOccurrencesJob } from './feed-job.ts';
import { deleteDefinitions, deleteIdentifiersOf } from './organization-deletion.ts';
import { objectDeletionJob } from './object-deletion.ts';
import { eventPurgeJob } from './purge.ts';
import { eventOccurrenceRoutes } from './rest.ts';
import { objectDeletionRoutes } from './rest-object-deletion.ts';
import { deleteExpiredUuids } from './send-queries.ts';
import { EventViolation } from './violation-entity.ts';
import { deleteOldViolations } from './violation-queries.ts';

export const eventOccurrences = {
  entities: [
    EventOccurrence,
    EventOccurrenceUuid,
    MonthlyOccurrenceCount,
    ObjectIdentifier,
    SentOccurrenceCount,
    EventViolation,
  ],
  graphql: () =>
    Promise.all([
      import('./graphql/occurrences.ts'),
      import('./graphql/object-deletion.ts'),
      import('./graphql/violations.ts'),
    ]),
  routes: [...eventOccurrenceRoutes, ...objectDeletionRoutes],
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
  replays: { ObjectIdentifier: OPEN_TO_ROLE },
} as const satisfies Module;
