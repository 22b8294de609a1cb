import type { Cases } from '../../support/operations/cases.ts';

export const broadcasts: Cases = {
  createBroadcast: {
    body: ({ channelGuid }) => ({ channelGuid, content: { body: 'News' } }),
    creates: 'Broadcast',
  },
  cancelBroadcast: { target: 'Broadcast' },
};
