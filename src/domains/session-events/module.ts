import type { Module } from '../../core/module.ts';
import { SessionEvent, SessionEventBatch, SessionText } from './entity.ts';
import { deleteOrphanedBatches, sessionPurgeJob } from './purge.ts';
import { searchRoutes } from './rest-search.ts';
import { sessionEventRoutes } from './rest.ts';

export const sessionEvents = {
  entities: [SessionEventBatch, SessionEvent, SessionText],
  graphql: () =>
    Promise.all([
      import('./graphql/operations.ts'),
      import('./graphql/search.ts'),
      import('./graphql/event-types.ts'),
      import('./graphql/redaction.ts'),
      import('./graphql/outline.ts'),
    ]),
  routes: [...sessionEventRoutes, ...searchRoutes],
  pages: [],
  jobs: () => [sessionPurgeJob],
  cleanups: { 'batch ids of deleted sessions': deleteOrphanedBatches },
  topics: [],
  deletionSteps: { ofUser: [], ofOrganization: [] },
  replays: {},
} as const satisfies Module;
