import type { Module } from '../../core/module.ts';
import { ApiKey } from './entity.ts';
import { apiKeyTopic } from './entity.ts';
import { readKeyVersions } from './queries.ts';
import { requireStillReached } from './replayed-keys.ts';
import { apiKeyRoutes } from './rest.ts';
import { deleteOldCredentials } from './sign-ins.ts';

export const apiKeys = {
  entities: [ApiKey],
  graphql: () => import('./graphql.ts'),
  routes: apiKeyRoutes,
  pages: [],
  jobs: () => [],
  cleanups: { 'sign-ins': deleteOldCredentials('SIGN_IN') },
  topics: [{ topicOf: apiKeyTopic, read: readKeyVersions }],
  deletionSteps: { ofUser: [], ofOrganization: [] },
  replays: { ApiKey: requireStillReached },
} as const satisfies Module;
