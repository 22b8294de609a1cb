import type { Module } from '../../core/module.ts';
import { deletionStep, DELETION_BATCH, OPEN_TO_ROLE, SMALL_DELETION_BATCH } from '../../core/module.ts';
import { deleteSessions, forgetSessionCreator } from './deletion.ts';
import { forgetSourcesOf } from './ensure-operation.ts';
import {
  Artifact,
  DeletedSession,
  EnsuredSession,
  Project,
  PullRequest,
  Session,
  SessionSearch,
  SessionStream,
  TranscriptFile,
} from './entity.ts';
import { requireSessionChange } from './operations.ts';
import { readLastSessionChanges, readSessionVersions } from './queries.ts';
import { sessionRoutes } from './rest.ts';
import { UsageSum } from './usage-sum-entity.ts';
import { deleteSums, forgetSumCreator, mergeSlots } from './usage-sums.ts';
import { sessionTopic, sessionsTopic } from './topics.ts';
import { EXPORTED } from './exported.ts';

export const sessions = {
  entities: [
    Project,
    Session,
    Artifact,
    PullRequest,
    SessionStream,
    SessionSearch,
    DeletedSession,
    EnsuredSession,
    TranscriptFile,
    UsageSum,
  ],
  graphql: () => Promise.all([import('./graphql/operations.ts'), import('./graphql/recording-operations.ts')]),
  routes: sessionRoutes,
  pages: [],
  jobs: () => [],
  cleanups: { 'slots of usage sums': (em, at, batch) => mergeSlots(em, at, batch) },
  topics: [
    { topicOf: sessionTopic, read: readSessionVersions },
    { topicOf: sessionsTopic, read: readLastSessionChanges },
  ],
  deletionSteps: {
    ofUser: [
      {
        name: 'private sessions',
        run: ({ em }, { id, deletionJobId }) =>
          deleteSessions(em, { privateOf: id }, { batch: SMALL_DELETION_BATCH, deletionJobId }),
      },
      deletionStep('other sessions', ({ em }, { id }) => forgetSessionCreator(em, id, DELETION_BATCH)),
      deletionStep('sources of sessions', ({ em }, { id }) => forgetSourcesOf(em, id, DELETION_BATCH)),
      // After the sessions, which then have no creator for whom anything is added.
      deletionStep('creator of usage sums', ({ em }, { id }) => forgetSumCreator(em, id, DELETION_BATCH)),
    ],
    ofOrganization: [
      {
        name: 'sessions',
        run: ({ em }, { id, deletionJobId }) =>
          deleteSessions(em, { organizationId: id }, { batch: SMALL_DELETION_BATCH, deletionJobId }),
      },
      deletionStep('usage sums', ({ em }, { id }) => deleteSums(em, id, DELETION_BATCH)),
    ],
  },
  exports: EXPORTED,
  replays: {
    // The answer to a deletion has only the id.
    Session: async (context, id, operation) =>
      operation === 'deleteSession' ? undefined : requireSessionChange(context, id),
    PullRequest: OPEN_TO_ROLE,
  },
} as const satisfies Module;
