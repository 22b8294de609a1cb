import type { Module } from '../../core/module.ts';
import { ApiKey } from './entity.ts';
import { apiKeyTopic } from './entity.ts';
import { API_KEYS, readKeyVersions, requireStillReached } from './queries.ts';
import { apiKeyRoutes } from './rest.ts';
import { deleteOldCredentials } from './sign-ins.ts';
import { toApiKey } from './documents.ts';

export const apiKeys = {
  entities: [ApiKey],
  graphql: () => import('./graphql.ts'),
  routes: apiKeyRoutes,
  pages: [],
  jobs: () => [],
  cleanups: { 'sign-ins': deleteOldCredentials('SIGN_IN') },
  topics: [{ topicOf: apiKeyTopic, read: readKeyVersions }],
  deletionSteps: { ofUser: [], ofOrganization: [] },
  exports: [
    {
      kind: 'apiKey',
      isOfPeople: true,
      page: (context, page, personId) =>
        API_KEYS.page(context, {
          filter: { kind: 'KEY', ...(personId !== undefined && { ownerIds: [personId] }) },
          order: { field: 'CREATED_AT', direction: 'ASC' },
          page,
        }),
      lineOf: toApiKey,
    },
  ],
  replays: { ApiKey: requireStillReached },
} as const satisfies Module;
