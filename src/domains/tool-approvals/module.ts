import { exportedList } from '../../core/exported-pages.ts';
import { type Module, OPEN_TO_ROLE } from '../../core/module.ts';
import { toToolApproval } from './documents.ts';
import { ToolApproval } from './entity.ts';
import { TOOL_APPROVALS, deleteOldApprovals, forgetExpiredArguments } from './queries.ts';
import { toolApprovalRoutes } from './rest.ts';

export const toolApprovals = {
  entities: [ToolApproval],
  graphql: () => import('./graphql.ts'),
  routes: toolApprovalRoutes,
  pages: [],
  jobs: () => [],
  cleanups: { 'tool approvals': deleteOldApprovals, 'arguments of tool approvals': forgetExpiredArguments },
  topics: [],
  deletionSteps: { ofUser: [], ofOrganization: [] },
  exports: [
    exportedList('toolApproval', TOOL_APPROVALS, { lineOf: toToolApproval, ofPerson: (id) => ({ userIds: [id] }) }),
  ],
  replays: { ToolApproval: OPEN_TO_ROLE },
} as const satisfies Module;
