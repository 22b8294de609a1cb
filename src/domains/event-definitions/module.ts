import { requireOrganization } from '../../core/access.ts';
import type { Module } from '../../core/module.ts';
import { OPEN_TO_ROLE } from '../../core/module.ts';
import { EventDefinition, EventProperty } from './entity.ts';
import { eventDefinitionRoutes } from './rest.ts';
import { DEFINITIONS } from './queries.ts';
import { customPropertiesOf } from './property-queries.ts';
import { fullyQualifiedName } from './computed-fields.ts';

export const eventDefinitions = {
  entities: [EventDefinition, EventProperty],
  graphql: () => import('./graphql/operations.ts'),
  routes: eventDefinitionRoutes,
  pages: [],
  jobs: () => [],
  cleanups: {},
  topics: [],
  deletionSteps: {
    ofUser: [],
    // Definitions are deleted after their occurrences, by the noun `event-occurrences`.
    ofOrganization: [],
  },
  exports: [
    {
      kind: 'eventDefinition',
      page: async (context, page) => {
        const found = await DEFINITIONS.page(context, {
          filter: {},
          order: { field: 'CREATED_AT', direction: 'ASC' },
          page,
        });
        const properties = await customPropertiesOf(context)(found.rows.map(({ id }) => id));
        const organization = requireOrganization(context.actor);
        const rows = found.rows.map((row) => ({
          ...row,
          fullyQualifiedName: fullyQualifiedName(row, organization),
          properties: properties.get(row.id) ?? [],
        }));
        return { ...found, rows };
      },
    },
  ],
  replays: { EventDefinition: OPEN_TO_ROLE },
} as const satisfies Module;
