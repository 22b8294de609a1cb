import { exportedList } from '../../core/exported-pages.ts';
import type { Module } from '../../core/module.ts';
import { OPEN_TO_ROLE } from '../../core/module.ts';
import { Invitation } from './entity.ts';
import { INVITATIONS, deleteExpiredInvitations } from './queries.ts';
import { invitationRoutes } from './rest.ts';

export const invitations = {
  entities: [Invitation],
  graphql: () => import('./graphql.ts'),
  routes: invitationRoutes,
  pages: [],
  jobs: () => [],
  cleanups: { invitations: deleteExpiredInvitations },
  topics: [],
  deletionSteps: { ofUser: [], ofOrganization: [] },
  exports: [exportedList('invitation', INVITATIONS)],
  replays: { OrganizationInvitation: OPEN_TO_ROLE },
} as const satisfies Module;
