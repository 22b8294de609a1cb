import { exportedList } from '../../core/exported-pages.ts';
import { type Module, OPEN_TO_ROLE, SMALL_DELETION_BATCH, deletionStep } from '../../core/module.ts';
import { deleteServiceAccountRows, toServiceAccount } from '../users/public.ts';
import { SERVICE_ACCOUNTS } from './queries.ts';
import { serviceAccountRoutes } from './rest.ts';

export const serviceAccounts = {
  entities: [],
  graphql: () => import('./graphql.ts'),
  routes: serviceAccountRoutes,
  pages: [],
  jobs: () => [],
  cleanups: {},
  topics: [],
  deletionSteps: {
    ofUser: [],
    ofOrganization: [
      deletionStep('service accounts', ({ em }, { id }) => deleteServiceAccountRows(em, id, SMALL_DELETION_BATCH)),
    ],
  },
  exports: [exportedList('serviceAccount', SERVICE_ACCOUNTS, { lineOf: toServiceAccount })],
  replays: { ServiceAccount: OPEN_TO_ROLE },
} as const satisfies Module;
