import type { Module } from '../../core/module.ts';
import { deletionStep, DELETION_BATCH, OPEN_TO_ROLE, SMALL_DELETION_BATCH } from '../../core/module.ts';
import { deleteSessions, forgetSessionCreator } from './deletion.ts';
import { Artifact, Project, PullRequest, Session, SessionSearch, SessionStream } from './entity.ts';
import { requireSessionChange } from './operations.ts';
import { readLastSessionChanges, readSessionVersions } from './queries.ts';
import { sessionRoutes } from './rest.ts';
import { sessionTopic, sessionsTopic } from './topics.ts';

export const sessions = {
  entities: [Project, Session, Artifact, PullRequest, SessionStream, SessionSearch],
  graphql: () => Promise.all([import('./graphql/operations.ts'), import('./graphql/recording-operations.ts')]),
  routes: sessionRoutes,
  pages: [],
  jobs: () => [],
  cleanups: {},
  topics: [
    { topicOf: sessionTopic, read: readSessionVersions },
    { topicOf: sessionsTopic, read: readLastSessionChanges },
  ],
  deletionSteps: {
    ofUser: [
      {
        name: 'private sessions',
        run: ({ em }, { id }) => deleteSessions(em, { privateOf: id }, SMALL_DELETION_BATCH),
      },
      deletionStep('public sessions', ({ em }, { id }) => forgetSessionCreator(em, id, DELETION_BATCH)),
    ],
    ofOrganization: [
      { name: 'sessions', run: ({ em }, { id }) => deleteSessions(em, { organizationId: id }, SMALL_DELETION_BATCH) },
    ],
  },
  replays: { Session: (context, id) => requireSessionChange(context, id), PullRequest: OPEN_TO_ROLE },
} as const satisfies Module;
