import type { Cases } from '../../support/operations/cases.ts';

export const oauthGrants: Cases = {
  revokeConnectedApp: {
    input: (to) => ({ connectedAppId: to.connectedAppId }),
    target: 'ApiKey',
    targetId: (to) => to.connectedAppId,
  },
};
