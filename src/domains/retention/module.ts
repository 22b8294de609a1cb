import type { Module } from '../../core/module.ts';
import { requireOrganization } from '../../core/access.ts';
import { toRetention } from './documents.ts';
import { OrganizationRetention } from './entity.ts';
import { readOrganizationRetention } from './operations.ts';
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
  exports: [
    {
      kind: 'retention',
      page: async (context) => {
        const { id } = requireOrganization(context.actor);
        const rows = [toRetention(await readOrganizationRetention(context, { organizationId: id }))];
        return { rows, hasNextPage: false, hasPreviousPage: false, cursorOf: () => '' };
      },
    },
  ],
  replays: {},
} as const satisfies Module;
