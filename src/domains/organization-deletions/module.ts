import type { Module } from '../../core/module.ts';
import { organizationDeletionJob } from './deletion-job.ts';

export const organizationDeletions = {
  entities: [],
  graphql: () => import('./graphql.ts'),
  routes: [],
  pages: [],
  jobs: (steps) => [organizationDeletionJob(steps)],
  cleanups: {},
  topics: [],
  deletionSteps: { ofUser: [], ofOrganization: [] },
  exports: [],
  replays: {},
} as const satisfies Module;
