// What the use of MCP connections and the gateway use of approvals.

export { DuplicateMember } from './arguments.ts';
export { ARGUMENTS_COLUMN } from './entity.ts';
export { SEE_TOOL_APPROVALS, isSeenBy } from './policy.ts';
export { type UsedApproval, useApproval } from './ask-or-use.ts';
