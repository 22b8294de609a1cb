import type { Module } from '../../core/module.ts';
import { deletionStep, DELETION_BATCH, OPEN_TO_ROLE } from '../../core/module.ts';
import { EventOccurrence, EventOccurrenceUuid, MonthlyOccurrenceCount, ObjectIdentifier } from './entity.ts';
import { deleteDefinitions, deleteIdentifiersOf } from './organization-deletion.ts';
import { eventPurgeJob } from './purge.ts';
import { eventOccurrenceRoutes } from './rest.ts';
import { deleteExpiredUuids } from './send-queries.ts';

export const eventOccurrences = {
  entities: [EventOccurrence, EventOccurrenceUuid, MonthlyOccurrenceCount, ObjectIdentifier],
  graphql: () => import('./graphql/occurrences.ts'),
  routes: eventOccurrenceRoutes,
  pages: [],
  jobs: () => [eventPurgeJob],
  cleanups: { 'occurrence uuids': deleteExpiredUuids },
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
