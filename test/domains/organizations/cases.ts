import { randomUUID } from 'node:crypto';
import type { Cases } from '../../support/operations/cases.ts';

export const organizations: Cases = {
  updateOrganization: {
    isOnlyInGraphQL: true,
    input: ({ organizationId }) => ({ organizationId, name: `Renamed ${randomUUID()}` }),
    target: 'Organization',
  },
  updateOrganizationKeyPolicy: {
    input: ({ organizationId }) => ({ organizationId, maxDays: 365 }),
    body: () => ({ maxDays: 365 }),
    target: 'Organization',
    selects: 'keyPolicy { maxDays }',
  },
};
