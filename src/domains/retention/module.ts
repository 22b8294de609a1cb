import type { Module } from '../../core/module.ts';
import { OrganizationRetention } from './entity.ts';
import { retentionJob } from './retention-job.ts';
import { retentionRoutes } from './rest.ts';

export const retention = {
  entities: [OrganizationRetention],
  graphql: () => import('./graphql.ts'),
  routes: retentionRoutes,
  pages: [],
  jobs: () => [retentionJob],
  cleanups: {},
  topics: [],
  deletionSteps: { ofUser: [], ofOrganization: [] },
  exports: [],
  replays: {},
} as const satisfies Module;
