import { uuidsOf } from '../../../core/graphql/global-ids.ts';
import { nodeType } from '../../../core/graphql/nodes.ts';
import { readMcpConnections } from '../operations.ts';
import type { McpConnectionRow } from '../queries.ts';
import {
  authorizationFields,
  identityFields,
  serverFields,
  settingsFields,
  statusFields,
  viewerFields,
} from './fields.ts';

export const McpServerType = nodeType<McpConnectionRow>('McpServer', {
  description:
    'An MCP connection: a registered MCP server with its configuration, authorization and status. Names of secrets are shown, their values never.',
  keyOf: ({ id }) => id,
  load: (context, keys, selected) => readMcpConnections(context, uuidsOf(keys), selected),
  fields: (t) => ({
    ...identityFields(t),
    ...serverFields(t),
    ...authorizationFields(t),
    ...settingsFields(t),
    ...statusFields(t),
    ...viewerFields(t),
  }),
});
