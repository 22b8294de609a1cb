import type { Module } from '../../core/module.ts';
import { SessionEvent, SessionEventBatch } from './entity.ts';
import { sessionEventRoutes } from './rest.ts';

export const sessionEvents = {
  entities: [SessionEventBatch, SessionEvent],
  graphql: () => import('./graphql/operations.ts'),
  routes: sessionEventRoutes,
  pages: [],
  jobs: () => [],
  cleanups: {},
  topics: [],
  deletionSteps: { ofUser: [], ofOrganization: [] },
  replays: {},
} as const satisfies Module;
