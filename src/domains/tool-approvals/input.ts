import { z } from 'zod';
import type { ToolApprovalId } from '../../core/ids.ts';
import { listInput } from '../../core/input/lists.ts';
import { createdBetween } from '../../core/input/moments.ts';
import { idSchema } from '../../core/input/validation.ts';
import { TOOL_APPROVAL_STATES } from './entity.ts';

export const DECISIONS = ['APPROVE', 'DENY'] as const;

const state = z.enum(TOOL_APPROVAL_STATES);

export const decideToolApprovalInput = z.strictObject({
  toolApprovalId: idSchema<ToolApprovalId>().describe('Id of the approval.'),
  decision: z.enum(DECISIONS).describe('Whether the call may be made, once.'),
});

export const toolApprovalFilter = z
  .strictObject({
    states: z.array(state).max(100).nullish().describe('In any of these states.'),
    ...createdBetween,
  })
  .describe('Conditions on approvals. A condition with an empty list matches nothing.');
export type ToolApprovalFilter = z.output<typeof toolApprovalFilter>;

export const listToolApprovalsInput = z.strictObject({
  ...listInput,
  states: z.array(state).max(100).optional().describe('In this state. Can be repeated, at most 100 times.'),
});
