import { builder } from '../../../core/graphql/builder.ts';
import { filterType } from '../../../core/graphql/derived-inputs.ts';
import { NotFoundError } from '../../../core/errors.ts';
import { keyFromId, toGlobalId, uuidsOf } from '../../../core/graphql/global-ids.ts';
import { listType } from '../../../core/graphql/lists.ts';
import { nodeQuery } from '../../../core/graphql/nodes.ts';
import { withAccess } from '../../../core/graphql/refusable.ts';
import { organizationList } from '../../organizations/graphql/organization-list.ts';
import { mcpConnectionFilter } from '../input.ts';
import { listMcpConnections, readMcpConnections } from '../operations.ts';
import { READ_MCP_CONNECTIONS } from '../policy.ts';
import { type McpConnectionChange, followMcpConnection } from '../subscription.ts';
import { StatusEnum } from './enums.ts';
import { McpServerType } from './types.ts';

const MCP_SERVER_LIST = listType(McpServerType, {
  of: 'MCP connections',
  filter: filterType('McpServerFilter', mcpConnectionFilter, { types: { statuses: StatusEnum } }),
  conditions: 'Conditions on the connections. When absent, all connections are listed.',
  fields: {
    NAME: 'Name of the connection.',
    CREATED_AT: 'Time of creation.',
    UPDATED_AT: 'Time of the last change.',
  },
  otherwise: { field: 'NAME', direction: 'ASC' },
});
organizationList('mcpServers', MCP_SERVER_LIST, listMcpConnections);

nodeQuery('mcpServer', McpServerType, {
  description: 'One MCP connection. Null when the caller can see no such connection.',
  of: 'connection',
  access: readMcpConnections.access,
  read: readMcpConnections,
});

type Changed = Extract<McpConnectionChange, { connection: unknown }>;
type Deleted = Extract<McpConnectionChange, { deletedId: unknown }>;

const ChangedType = builder.objectRef<Changed>('McpServerChanged').implement({
  description: 'The state of an MCP connection when the subscription begins, and after each change.',
  fields: (t) => ({
    mcpServer: t.field({
      type: McpServerType,
      description: 'The connection in its current state.',
      resolve: ({ connection }) => connection,
    }),
  }),
});

const DeletedType = builder.objectRef<Deleted>('McpServerDeleted').implement({
  description: 'An MCP connection was deleted. This is the last event of the subscription.',
  fields: (t) => ({
    deletedId: t.id({
      description: 'Global id of the deleted connection.',
      resolve: ({ deletedId }) => toGlobalId('McpServer', deletedId),
    }),
  }),
});

const ChangeType = builder.unionType('McpServerChange', {
  description: 'An event of the subscription `mcpServerChanged`.',
  types: [ChangedType, DeletedType],
  resolveType: (change) => ('deletedId' in change ? DeletedType : ChangedType),
});

builder.subscriptionField('mcpServerChanged', (t) =>
  t.field({
    type: ChangeType,
    extensions: { access: READ_MCP_CONNECTIONS },
    description: withAccess(
      'Sends the current state of an MCP connection, and then its state after each change, such as a completed authorization. Several changes in quick succession can be sent as one. Ends when the connection is deleted.',
      READ_MCP_CONNECTIONS,
      'Ends with an error when the caller loses the right to read connections.',
    ),
    args: { mcpServerId: t.arg.id({ required: true, description: '`id` or `databaseId` of the connection.' }) },
    subscribe: (_, { mcpServerId }, context) => {
      const [mcpConnectionId] = uuidsOf([String(keyFromId('McpServer', mcpServerId))]);
      if (!mcpConnectionId) throw new NotFoundError('MCP connection not found');
      return followMcpConnection(context, { mcpConnectionId });
    },
    resolve: (change) => change,
  }),
);
