import { ConflictError } from '../../core/errors.ts';
import { OWN_STATEMENT, builder } from '../../core/graphql/builder.ts';
import { shown } from '../../core/graphql/derived-fields.ts';
import { filterType } from '../../core/graphql/derived-inputs.ts';
import { enumOf } from '../../core/graphql/enums.ts';
import { listType } from '../../core/graphql/lists.ts';
import { mutation, one } from '../../core/graphql/mutations.ts';
import { entityType, nodeQuery } from '../../core/graphql/nodes.ts';
import { referenceTo, resolveReference } from '../../core/graphql/references.ts';
import { needs } from '../../core/graphql/selection.ts';
import { McpServerType } from '../mcp-connections/graphql/types.ts';
import { readMcpConnections } from '../mcp-connections/public.ts';
import { actorField } from '../organizations/graphql/actors.ts';
import { organizationList } from '../organizations/graphql/organization-list.ts';
import { sessionField } from '../sessions/graphql/types.ts';
import { toolApprovalDocument } from './documents.ts';
import { TOOL_APPROVAL_STATES } from './entity.ts';
import { DECISIONS, toolApprovalFilter } from './input.ts';
import { decideToolApproval, listToolApprovals, readArguments, readToolApprovals } from './operations.ts';
import { DECIDE_TOOL_APPROVALS, isPersonThemselves } from './policy.ts';
import type { ToolApprovalRow } from './queries.ts';
import { hasAccess } from '../../core/access.ts';

const StateEnum = enumOf('ToolApprovalState', 'What became of a call that needs an approval.', TOOL_APPROVAL_STATES, {
  PENDING: 'Nobody has decided yet.',
  APPROVED: 'The call may be made once.',
  DENIED: 'The call may not be made.',
  USED: 'The call was made. Its outcome can be unknown.',
  EXPIRED: 'It was not used within 15 minutes.',
});

enumOf('ToolApprovalDecision', 'A decision about the call of a tool.', DECISIONS, {
  APPROVE: 'The call may be made once.',
  DENY: 'The call may not be made; the same call is not asked for again for a while.',
});

const ToolApprovalType = entityType<ToolApprovalRow>('ToolApproval', {
  stored: { table: 'tool_approval' },
  description:
    'A call of a tool that somebody else must approve before it is made, once: bound to the connection, the tool, its definition, the arguments and the caller.',
  read: readToolApprovals,
  fields: (t) => ({
    ...shown(t, toolApprovalDocument, ['toolName', 'argumentsDigest', 'preview', 'createdAt', 'expiresAt']),
    state: t.expose('state', { type: StateEnum, description: toolApprovalDocument.shape.state.description }),
    mcpServer: referenceTo(McpServerType, readMcpConnections)(
      t,
      'connectionId',
      'The connection. Null when the caller can no longer see it.',
    ),
    caller: actorField(t, 'userId', 'Whose call it is. Null when that person has left the organization.'),
    session: sessionField(t, 'sessionId', 'The session of the call. Null for none, and if the caller cannot read it.'),
    decidedBy: actorField(t, 'decidedById', 'Who has decided. Null when nobody has, or that person has left.'),
    decidedAt: t.expose('decidedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was decided. Null when it was not.',
    }),
    arguments: t.string({
      nullable: true,
      description: 'All of the arguments as JSON. Null once it is decided or has expired: then there is `preview`.',
      extensions: needs<ToolApprovalRow>('id', 'sealedArguments', 'state'),
      resolve: (row, _, context) => readArguments(context, row),
    }),
    viewerCanDecide: t.boolean({
      description: 'Whether the caller can decide now.',
      extensions: needs<ToolApprovalRow>('state', 'isForCaller'),
      resolve: ({ state, isForCaller }, _, { actor }) =>
        state === 'PENDING' && isForCaller && hasAccess(actor, DECIDE_TOOL_APPROVALS) && isPersonThemselves(actor),
    }),
  }),
});

organizationList(
  'toolApprovals',
  listType(ToolApprovalType, {
    of: 'approvals',
    filter: filterType('ToolApprovalFilter', toolApprovalFilter),
    conditions: 'Conditions on the approvals. When absent, all are listed.',
    fields: { CREATED_AT: 'Time when it was asked for.' },
    otherwise: { field: 'CREATED_AT', direction: 'DESC' },
  }),
  listToolApprovals,
);

nodeQuery('toolApproval', ToolApprovalType, {
  description: 'One call that needs an approval. Null when the caller can see no such call.',
  of: 'approval',
  access: readToolApprovals.access,
  read: readToolApprovals,
});

mutation(decideToolApproval, {
  ids: { toolApprovalId: 'ToolApproval' },
  payload: one('toolApproval', ToolApprovalType, 'The approval.'),
});

builder.objectField(ConflictError, 'toolApproval', (t) =>
  t.field({
    type: ToolApprovalType,
    nullable: true,
    description: 'For `APPROVAL_REQUIRED` and `APPROVAL_DENIED` the call. Null for other reasons.',
    extensions: OWN_STATEMENT,
    resolve: ({ toolApprovalId = null }, _, context, info) =>
      resolveReference({ context, info }, 'ToolApproval', toolApprovalId, readToolApprovals),
  }),
);
