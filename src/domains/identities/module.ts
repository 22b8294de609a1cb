import { exportedList } from '../../core/exported-pages.ts';
import type { Module } from '../../core/module.ts';
import { Identity, SignInToken } from './entity.ts';
import { IDENTITIES } from './queries.ts';
import { deleteExpiredTokens } from './tokens.ts';

export const identities = {
  entities: [Identity, SignInToken],
  graphql: () => import('./graphql.ts'),
  routes: [],
  pages: [],
  jobs: () => [],
  cleanups: { 'sign-in tokens': deleteExpiredTokens },
  topics: [],
  deletionSteps: { ofUser: [], ofOrganization: [] },
  exports: [exportedList('identity', IDENTITIES)],
  replays: {},
} as const satisfies Module;
