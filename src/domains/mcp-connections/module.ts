import { toExported } from './documents.ts';
import { exportedList } from '../../core/exported-pages.ts';
import { DELETION_BATCH, type Module, SMALL_DELETION_BATCH, deletionStep } from '../../core/module.ts';
import {
  deleteAuthorizationsOf,
  deleteConnections,
  deleteExpiredAuthorizations,
  forgetConnectionOwner,
} from './deletion.ts';
import { McpAuthorization, McpConnection, McpTokenRevocation, McpToolDefinitions, McpUsedHandle } from './entity.ts';
import { deleteOldHandles } from './connection-handle.ts';
import { mcpRefreshJob } from './authorization/token-refresh-job.ts';
import { mcpTokenRevocationJob } from './authorization/token-revocation.ts';
import { mcpConnectionPages, mcpConnectionRoutes } from './rest.ts';
import { mcpConnectionTopic } from './topics.ts';
import { MCP_CONNECTIONS, readConnectionVersions, requireStillManaged } from './queries.ts';

export const mcpConnections = {
  entities: [McpConnection, McpAuthorization, McpTokenRevocation, McpUsedHandle, McpToolDefinitions],
  graphql: () => Promise.all([import('./graphql/operations.ts'), import('./graphql/read-operations.ts')]),
  routes: mcpConnectionRoutes,
  pages: mcpConnectionPages,
  jobs: () => [mcpRefreshJob, mcpTokenRevocationJob],
  cleanups: { authorizations: deleteExpiredAuthorizations, 'used handles': deleteOldHandles },
  topics: [{ topicOf: mcpConnectionTopic, read: readConnectionVersions }],
  deletionSteps: {
    ofUser: [
      deletionStep('personal connections', (context, { id }) =>
        deleteConnections(context, { personalOf: id }, SMALL_DELETION_BATCH),
      ),
      deletionStep('shared connections', ({ em }, { id }) => forgetConnectionOwner(em, id, DELETION_BATCH)),
      deletionStep('authorizations', ({ em }, { id }) => deleteAuthorizationsOf(em, id, DELETION_BATCH)),
    ],
    ofOrganization: [
      deletionStep('connections', (context, { id }) =>
        deleteConnections(context, { organizationId: id }, SMALL_DELETION_BATCH),
      ),
    ],
  },
  exports: [
    exportedList('mcpConnection', MCP_CONNECTIONS, { lineOf: toExported, ofPerson: (id) => ({ ownerIds: [id] }) }),
  ],
  replays: { McpServer: requireStillManaged },
} as const satisfies Module;
