import { exportedList } from '../../core/exported-pages.ts';
import type { Module } from '../../core/module.ts';
import { ScimUser, SuspendedMembership } from './entity.ts';
import { membershipRoutes } from './rest.ts';
import { MEMBERS, SUSPENDED_MEMBERS } from './queries.ts';

export const memberships = {
  entities: [SuspendedMembership, ScimUser],
  graphql: () => import('./graphql.ts'),
  routes: membershipRoutes,
  pages: [],
  jobs: () => [],
  cleanups: {},
  topics: [],
  deletionSteps: { ofUser: [], ofOrganization: [] },
  exports: [
    exportedList('member', MEMBERS, { field: 'JOINED_AT', ofPerson: (id) => ({ userIds: [id] }) }),
    exportedList('suspendedMember', SUSPENDED_MEMBERS, { field: 'JOINED_AT', ofPerson: (id) => ({ userIds: [id] }) }),
  ],
  replays: {},
} as const satisfies Module;
