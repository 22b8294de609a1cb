import { routesOf } from '../../core/http/route.ts';
import { retentionDocument, toRetention } from './documents.ts';
import { readOrganizationRetention, updateOrganizationRetention } from './operations.ts';

const route = routesOf('Organizations');

const PATH = '/v1/organizations/:organizationId/retention';

export const retentionRoutes = [
  route(`GET ${PATH}`, readOrganizationRetention, {
    output: retentionDocument,
    toDocument: toRetention,
  }),
  route(`PATCH ${PATH}`, updateOrganizationRetention, {
    optionalBody: false,
    output: retentionDocument,
    examples: { input: { sessionDays: 90, occurrenceDays: 400 } },
    toDocument: toRetention,
  }),
];
