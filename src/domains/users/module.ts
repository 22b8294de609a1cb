import type { Module } from '../../core/module.ts';
import { OPEN_TO_ROLE } from '../../core/module.ts';
import { User } from './entity.ts';
import { userRoutes } from './rest.ts';

export const users = {
  entities: [User],
  graphql: () => import('./graphql.ts'),
  routes: userRoutes,
  pages: [],
  jobs: () => [],
  cleanups: {},
  topics: [],
  deletionSteps: { ofUser: [], ofOrganization: [] },
  exports: [],
  replays: { User: OPEN_TO_ROLE },
} as const satisfies Module;
