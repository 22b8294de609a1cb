import type { Module } from '../../core/module.ts';
import { deleteExpiredArtifacts } from './artifacts.ts';
import { OAuthArtifact, OAuthGrant } from './entity.ts';
import { deleteOldGrants } from './grants.ts';
import { connectedAppRoutes } from './rest.ts';

export const oauthGrants = {
  entities: [OAuthGrant, OAuthArtifact],
  graphql: () => import('./graphql.ts'),
  routes: connectedAppRoutes,
  pages: [],
  jobs: () => [],
  cleanups: { 'OAuth tokens': deleteExpiredArtifacts, 'OAuth grants': deleteOldGrants },
  topics: [],
  deletionSteps: { ofUser: [], ofOrganization: [] },
  replays: {},
} as const satisfies Module;
