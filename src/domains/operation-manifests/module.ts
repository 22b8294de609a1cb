import type { Module } from '../../core/module.ts';
import { OPEN_TO_ROLE } from '../../core/module.ts';
import { OperationManifest, PublishedDocument } from './entity.ts';
import { deleteUnusedManifests } from './operations.ts';
import { operationManifestRoutes } from './rest.ts';

export const operationManifests = {
  entities: [OperationManifest, PublishedDocument],
  graphql: () => Promise.resolve(),
  routes: operationManifestRoutes,
  pages: [],
  jobs: () => [],
  cleanups: { 'operation manifests': deleteUnusedManifests },
  topics: [],
  deletionSteps: { ofUser: [], ofOrganization: [] },
  exports: [],
  replays: { OperationManifest: OPEN_TO_ROLE },
} as const satisfies Module;
