import type { Module } from '../../core/module.ts';
import { RunningExport } from './entity.ts';
import { organizationExportRoutes } from './rest.ts';

export const organizationExport = {
  entities: [RunningExport],
  graphql: () => Promise.resolve(),
  routes: organizationExportRoutes,
  pages: [],
  jobs: () => [],
  cleanups: {},
  topics: [],
  deletionSteps: { ofUser: [], ofOrganization: [] },
  exports: [],
  replays: {},
} as const satisfies Module;
