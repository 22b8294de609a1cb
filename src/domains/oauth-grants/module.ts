import type { Module } from '../../core/module.ts';
import { deleteOldCredentials } from '../api-keys/public.ts';
import { deleteExpiredArtifacts } from './artifacts.ts';
import { OAuthArtifact, OAuthGrant } from './entity.ts';
import { connectedAppRoutes } from './rest.ts';

export const oauthGrants = {
  entities: [OAuthGrant, OAuthArtifact],
  graphql: () => import('./graphql.ts'),
  routes: connectedAppRoutes,
  pages: [],
  jobs: () => [],
  cleanups: { 'OAuth tokens': deleteExpiredArtifacts, 'OAuth grants': deleteOldCredentials('OAUTH_GRANT') },
  topics: [],
  deletionSteps: { ofUser: [], ofOrganization: [] },
  exports: [],
  replays: {},
} as const satisfies Module;
