import type { Module } from '../../core/module.ts';

export const apiLifecycle = {
  entities: [],
  graphql: () => import('./graphql.ts'),
  routes: [],
  pages: [],
  jobs: () => [],
  cleanups: {},
  topics: [],
  deletionSteps: { ofUser: [], ofOrganization: [] },
  exports: [],
  replays: {},
} as const satisfies Module;
