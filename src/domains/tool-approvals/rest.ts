import { exampleOf } from '../../core/documents.ts';
import { routesOf } from '../../core/http/route.ts';
import { listDocument, readList } from '../../core/input/lists.ts';
import { toToolApproval, toolApprovalDocument } from './documents.ts';
import { listToolApprovalsInput } from './input.ts';
import { decideToolApproval, listToolApprovals } from './operations.ts';

const route = routesOf('MCP connections');

export const toolApprovalRoutes = [
  route('GET /v1/tool-approvals', listToolApprovals, {
    summary: 'Lists calls of tools that need an approval, newest first.',
    input: listToolApprovalsInput,
    output: listDocument(toolApprovalDocument),
    run: (context, { states, ...page }) =>
      readList(page, (given) => listToolApprovals(context, { filter: { states }, page: given }), toToolApproval),
  }),
  route('POST /v1/tool-approvals/:toolApprovalId/decide', decideToolApproval, {
    output: toolApprovalDocument,
    status: 200,
    examples: {
      input: { decision: 'APPROVE' },
      output: { ...exampleOf(toolApprovalDocument), state: 'APPROVED' },
    },
    toDocument: toToolApproval,
  }),
];
