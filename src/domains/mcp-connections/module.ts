import { DELETION_BATCH, type Module, SMALL_DELETION_BATCH, deletionStep } from '../../core/module.ts';
import {
  deleteAuthorizationsOf,
  deleteConnections,
  deleteExpiredAuthorizations,
  forgetConnectionOwner,
} from './deletion.ts';
import { McpAuthorization, McpConnection, McpTokenRevocation } from './entity.ts';
import { mcpRefreshJob } from './oauth/token-refresh-job.ts';
import { mcpTokenRevocationJob } from './oauth/token-revocation.ts';
import { requireStillManaged } from './replayed-connections.ts';
import { mcpConnectionPages, mcpConnectionRoutes } from './rest.ts';
import { mcpConnectionTopic } from './topics.ts';
import { readConnectionVersions } from './queries.ts';

export const mcpConnections = {
  entities: [McpConnection, McpAuthorization, McpTokenRevocation],
  graphql: () => Promise.all([import('./graphql/operations.ts'), import('./graphql/read-operations.ts')]),
  routes: mcpConnectionRoutes,
  pages: mcpConnectionPages,
  jobs: () => [mcpRefreshJob, mcpTokenRevocationJob],
  cleanups: { authorizations: deleteExpiredAuthorizations },
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
  replays: { McpServer: requireStillManaged },
} as const satisfies Module;
