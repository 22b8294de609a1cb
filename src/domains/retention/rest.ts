import { z } from 'zod';
import { documentOf } from '../../core/http/documents.ts';
import { route } from '../../core/http/route.ts';
import { readOrganizationRetention, updateOrganizationRetention } from './operations.ts';
import type { Retention } from './periods.ts';
import { RETENTION_TEXTS } from './texts.ts';

const days = z.int().nullable();

const retentionDocument = documentOf(RETENTION_TEXTS, {
  sessionDays: days,
  occurrenceDays: days,
  auditLogDays: days,
  isLimitedByOperator: z.boolean(),
}).meta({ id: 'Retention' });

const toDocument = ({ sessionDays, occurrenceDays, auditLogDays, isLimitedByOperator }: Retention) => ({
  sessionDays,
  occurrenceDays,
  auditLogDays,
  isLimitedByOperator,
});

const at = { path: '/v1/organizations/:organizationId/retention', tag: 'Organizations', status: 200 } as const;
const example = { sessionDays: 90, occurrenceDays: 400, auditLogDays: null, isLimitedByOperator: false };

export const retentionRoutes = [
  route(readOrganizationRetention, {
    ...at,
    method: 'GET',
    output: retentionDocument,
    examples: { output: example },
    toDocument,
  }),
  route(updateOrganizationRetention, {
    ...at,
    method: 'PATCH',
    output: retentionDocument,
    examples: { input: { sessionDays: 90, occurrenceDays: 400 }, output: example },
    toDocument,
  }),
];
