import { randomUUID } from 'node:crypto';
import type { Cases } from '../../support/operations/cases.ts';

export const users: Cases = {
  updateViewer: {
    isOnlyInGraphQL: true,
    input: () => ({ name: `Ann ${randomUUID()}` }),
    target: 'User',
    targetId: (to) => to.callers.admin.userId,
    organizationId: null,
  },
};
