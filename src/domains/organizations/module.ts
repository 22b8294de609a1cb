import type { Module } from '../../core/module.ts';
import { OPEN_TO_ROLE } from '../../core/module.ts';
import { Membership, Organization } from './entity.ts';
import { organizationRoutes } from './rest.ts';

export const organizations = {
  entities: [Organization, Membership],
  graphql: () => import('./graphql/operations.ts'),
  routes: organizationRoutes,
  pages: [],
  jobs: () => [],
  cleanups: {},
  topics: [],
  deletionSteps: { ofUser: [], ofOrganization: [] },
  exports: [],
  replays: { Organization: OPEN_TO_ROLE },
} as const satisfies Module;
