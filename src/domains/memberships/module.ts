import type { Module } from '../../core/module.ts';
import { membershipRoutes } from './rest.ts';

export const memberships = {
  entities: [],
  graphql: () => import('./graphql.ts'),
  routes: membershipRoutes,
  pages: [],
  jobs: () => [],
  cleanups: {},
  topics: [],
  deletionSteps: { ofUser: [], ofOrganization: [] },
  replays: {},
} as const satisfies Module;
