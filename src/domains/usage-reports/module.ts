import type { Module } from '../../core/module.ts';
import { usageReportRoutes } from './rest.ts';

/** Reports on the sums that `sessions` writes. */
export const usageReports = {
  entities: [],
  graphql: () => import('./graphql.ts'),
  routes: usageReportRoutes,
  pages: [],
  jobs: () => [],
  cleanups: {},
  topics: [],
  deletionSteps: { ofUser: [], ofOrganization: [] },
  exports: [],
  replays: {},
} as const satisfies Module;
