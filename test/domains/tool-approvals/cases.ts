import type { Cases } from '../../support/operations/cases.ts';

export const toolApprovals: Cases = {
  decideToolApproval: {
    input: ({ toolApprovalId }) => ({ toolApprovalId, decision: 'APPROVE' }),
    body: () => ({ decision: 'APPROVE' }),
    target: 'ToolApproval',
  },
};
