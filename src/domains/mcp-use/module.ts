import type { Module } from '../../core/module.ts';
import { mcpUseRoutes } from './rest.ts';

export const mcpUse = {
  entities: [],
  graphql: () => import('./graphql.ts'),
  routes: mcpUseRoutes,
  pages: [],
  jobs: () => [],
  cleanups: {},
  topics: [],
  deletionSteps: { ofUser: [], ofOrganization: [] },
  exports: [],
  replays: {},
} as const satisfies Module;
