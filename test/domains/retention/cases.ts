import type { Cases } from '../../support/operations/cases.ts';

export const retention: Cases = {
  updateOrganizationRetention: {
    input: ({ organizationId }) => ({ organizationId, auditLogDays: 365 }),
    body: () => ({ auditLogDays: 365 }),
    target: 'Organization',
    selects: 'retention { auditLogDays }',
  },
};
