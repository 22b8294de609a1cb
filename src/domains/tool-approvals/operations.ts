import { ConflictError, ForbiddenError, NotFoundError } from '../../core/errors.ts';
import { requireOrganization } from '../../core/access.ts';
import { publishToFeed } from '../../core/feed.ts';
import { defineOperation, guarded } from '../../core/operation.ts';
import { SecretError } from '../../core/secrets/secrets.ts';
import { ToolApproval, placeOfArguments } from './entity.ts';
import { decideToolApprovalInput } from './input.ts';
import { DECIDE_TOOL_APPROVALS, SEE_TOOL_APPROVALS, isPersonThemselves } from './policy.ts';
import { TOOL_APPROVALS, type ToolApprovalRow } from './queries.ts';
import type { OperationContext } from '../../core/operation.ts';

const NOUN = 'tool approval';

export const decideToolApproval = defineOperation({
  name: 'decideToolApproval',
  description:
    'Decides whether a call of a tool may be made, once. People decide: members of the approver groups of the connection, or administrators if it names none; never whose call it is, nor who made the key of the call, nor by a connected app.',
  access: DECIDE_TOOL_APPROVALS,
  input: decideToolApprovalInput,
  errors: [NotFoundError, ConflictError],
  run: async (context, { toolApprovalId, decision }) => {
    const { em, actor, now } = context;
    const row = await TOOL_APPROVALS.one(context, toolApprovalId, NOUN);
    if (!row.isForCaller || !isPersonThemselves(actor))
      throw new ForbiddenError(
        'you cannot decide about this call: an approver does it who neither makes the call nor made its key, signed in or with an own key',
      );
    const state = decision === 'APPROVE' ? 'APPROVED' : 'DENIED';
    const { id: organization } = requireOrganization(actor);
    const open = { organization, id: toolApprovalId, state: 'PENDING' as const, expiresAt: { $gt: now() } };
    const decided = { state, decidedBy: actor.userId, decidedAt: now(), sealedArguments: null } as const;
    if ((await em.nativeUpdate(ToolApproval, open, decided)) === 0)
      throw new ConflictError('WRONG_STATE', 'the call was decided already, or waited for too long');
    publishToFeed(em, {
      organizationId: organization,
      type: 'tool_approval.decided',
      subjectType: 'ToolApproval',
      subjectId: toolApprovalId,
      data: { state, mcpConnectionId: row.connectionId },
    });
    return { ...row, state };
  },
  target: ({ id, argumentsDigest, state }) => ({ type: 'ToolApproval', id, detail: `${state} ${argumentsDigest}` }),
  answer: (context, { id }) => TOOL_APPROVALS.one(context, id, NOUN),
});

export const listToolApprovals = defineOperation({
  name: 'listToolApprovals',
  description:
    'Calls of tools that need an approval, newest first by default. Administrators and approvers see all of theirs, others their own. Kept for 30 days.',
  access: SEE_TOOL_APPROVALS,
  run: TOOL_APPROVALS.read,
});

export const readToolApprovals = guarded(SEE_TOOL_APPROVALS, TOOL_APPROVALS.find);

/** All of the arguments as JSON; null once they were decided or have expired. */
export async function readArguments(
  { secrets }: OperationContext,
  { id, sealedArguments, state }: Pick<ToolApprovalRow, 'id' | 'sealedArguments' | 'state'>,
): Promise<string | null> {
  if (sealedArguments === null || state !== 'PENDING') return null;
  return secrets.open(sealedArguments, placeOfArguments(id)).catch((error: unknown) => {
    if (error instanceof SecretError) return null;
    throw error;
  });
}
