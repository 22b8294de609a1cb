import { exportedList } from '../../core/exported-pages.ts';
import { type Module, OPEN_TO_ROLE } from '../../core/module.ts';
import { toGroup } from './documents.ts';
import { Group, GroupMember } from './entity.ts';
import { GROUPS } from './queries.ts';
import { groupRoutes } from './rest.ts';

export const groups = {
  entities: [Group, GroupMember],
  graphql: () => import('./graphql.ts'),
  routes: groupRoutes,
  pages: [],
  jobs: () => [],
  cleanups: {},
  topics: [],
  deletionSteps: { ofUser: [], ofOrganization: [] },
  exports: [exportedList('group', GROUPS, { lineOf: toGroup })],
  replays: { Group: OPEN_TO_ROLE },
} as const satisfies Module;
