import type { Module } from '../../core/module.ts';
import { OPEN_TO_ROLE } from '../../core/module.ts';
import { EventDefinition, EventProperty } from './entity.ts';
import { eventDefinitionRoutes } from './rest.ts';
import { trackingPlanRoutes } from './rest-tracking-plan.ts';

export const eventDefinitions = {
  entities: [EventDefinition, EventProperty],
  graphql: () => Promise.all([import('./graphql/operations.ts'), import('./graphql/tracking-plan.ts')]),
  routes: [...eventDefinitionRoutes, ...trackingPlanRoutes],
  pages: [],
  jobs: () => [],
  cleanups: {},
  topics: [],
  deletionSteps: {
    ofUser: [],
    // Definitions are deleted after their occurrences, by the noun `event-occurrences`.
    ofOrganization: [],
  },
  replays: { EventDefinition: OPEN_TO_ROLE },
} as const satisfies Module;
