import type { Cases } from '../../support/operations/cases.ts';

export const operationManifests: Cases = {
  publishOperationManifest: { creates: 'OperationManifest' },
  retireOperationManifest: { target: 'OperationManifest', targetId: ({ manifestId }) => manifestId },
};
