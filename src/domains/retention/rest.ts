import { routesOf } from '../../core/http/route.ts';
import { retentionDocument, toRetention } from './documents.ts';
import { readOrganizationRetention, updateOrganizationRetention } from './operations.ts';

const route = routesOf('Organizations');

const at = { path: '/v1/organizations/:organizationId/retention' } as const;

export const retentionRoutes = [
  route(readOrganizationRetention, {
    ...at,
    method: 'GET',
    output: retentionDocument,
    toDocument: toRetention,
  }),
  route(updateOrganizationRetention, {
    optionalBody: false,
    ...at,
    method: 'PATCH',
    output: retentionDocument,
    examples: { input: { sessionDays: 90, occurrenceDays: 400 } },
    toDocument: toRetention,
  }),
];
