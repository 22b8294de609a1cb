import { exportedList } from '../../core/exported-pages.ts';
import type { Module } from '../../core/module.ts';
import { FormerMembership, ScimUser, SuspendedMembership } from './entity.ts';
import { membershipRoutes } from './rest.ts';
import { FORMER_MEMBERS, MEMBERS, SUSPENDED_MEMBERS } from './queries.ts';

export const memberships = {
  entities: [SuspendedMembership, FormerMembership, ScimUser],
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
    exportedList('formerMember', FORMER_MEMBERS, { field: 'LEFT_AT', ofPerson: (id) => ({ userIds: [id] }) }),
  ],
  replays: {},
} as const satisfies Module;
