import type { Cases } from '../../support/operations/cases.ts';

export const organizationDeletions: Cases = {
  deleteOrganization: {
    isOnlyInGraphQL: true,
    input: ({ organizationId, slug }) => ({ organizationId, confirmSlug: slug }),
    target: 'Organization',
    organizationId: null,
  },
};
