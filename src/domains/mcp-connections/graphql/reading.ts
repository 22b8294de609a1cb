import { OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { connectionType, resolveList } from '../../../core/graphql/connections.ts';
import { NotFoundError } from '../../../core/errors.ts';
import { keyFromId, toGlobalId, uuidsOf } from '../../../core/graphql/nodes.ts';
import { orderType } from '../../../core/graphql/orders.ts';
import { describeAccess, refusable } from '../../../core/graphql/refusable.ts';
import { needs, selectedColumns } from '../../../core/graphql/selection.ts';
import { OrganizationType } from '../../organizations/graphql/types.ts';
import { mcpConnectionFilter } from '../input.ts';
import { listMcpConnections, readMcpConnections } from '../operations.ts';
import { READ_MCP_CONNECTIONS } from '../policy.ts';
import type { McpConnectionOrderField, McpConnectionRow } from '../queries.ts';
import { type McpConnectionChange, followMcpConnection } from '../subscription.ts';
import { TypeEnum, VisibilityEnum } from './enums.ts';
import { McpServerType } from './types.ts';

const McpServerConnection = connectionType(McpServerType, { of: 'MCP connections' });

const FilterInput = builder.inputType('McpServerFilter', {
  description: 'Which MCP connections to list. All given conditions must be met; an empty list matches nothing.',
  validate: mcpConnectionFilter,
  fields: (t) => ({
    types: t.field({ type: [TypeEnum], description: 'Reached in one of these ways.' }),
    visibilities: t.field({ type: [VisibilityEnum], description: 'With one of these visibilities.' }),
    search: t.string({
      description: 'Its name contains this text of at most 200 characters. Case is ignored; `%` and `_` are plain.',
    }),
    createdFrom: t.field({ type: 'DateTime', description: 'Registered at this moment or after it.' }),
    createdBefore: t.field({ type: 'DateTime', description: 'Registered before this moment.' }),
  }),
});

const MCP_SERVER_ORDER = orderType<McpConnectionOrderField>('McpServer', {
  of: 'MCP connections',
  fields: {
    NAME: 'What the connection is called.',
    CREATED_AT: 'Time of registration.',
    UPDATED_AT: 'Time of the last change.',
  },
  otherwise: { field: 'NAME', direction: 'ASC' },
});

builder.objectField(OrganizationType, 'mcpServers', (t) =>
  t.connection(
    {
      type: McpServerType,
      description: 'Its MCP connections that the caller may see, by name: the shared ones and their own personal ones.',
      args: {
        filter: t.arg({ type: FilterInput, description: 'Which ones; all when absent.' }),
        orderBy: t.arg(MCP_SERVER_ORDER.argument),
      },
      extensions: {
        ...refusable(listMcpConnections.access, { actingOrganization: true }),
        ...needs<{ id: string }>('id'),
      },
      resolve: ({ id: organizationId }, args, context, info) => {
        const { filter, orderBy, ...page } = args;
        const selected = selectedColumns<McpConnectionRow>(info, 'McpServer');
        const asked = { organizationId, filter: filter ?? {}, order: MCP_SERVER_ORDER.orderOf(orderBy), page };
        const list = () => listMcpConnections(context, asked, selected);
        return resolveList({ context, info, args }, organizationId, list, selected);
      },
    },
    McpServerConnection,
  ),
);

builder.queryField('mcpServer', (t) =>
  t.field({
    type: McpServerType,
    nullable: true,
    description: 'One MCP connection; null when there is none that the caller may see.',
    extensions: { ...OWN_STATEMENT, ...refusable(readMcpConnections.access) },
    args: { id: t.arg.id({ required: true, description: 'Either id of the connection.' }) },
    resolve: async (_, { id }, context, info) => {
      const keys = uuidsOf([String(keyFromId('McpServer', id))]);
      const selected = selectedColumns<McpConnectionRow>(info, 'McpServer');
      return (await readMcpConnections(context, keys, selected))[0] ?? null;
    },
  }),
);

type Changed = Extract<McpConnectionChange, { connection: unknown }>;
type Deleted = Extract<McpConnectionChange, { deletedId: unknown }>;

const ChangedType = builder.objectRef<Changed>('McpServerChanged').implement({
  description: 'An MCP connection has changed, or is as it was when the subscription began.',
  fields: (t) => ({
    mcpServer: t.field({
      type: McpServerType,
      description: 'The connection as it is now.',
      resolve: ({ connection }) => connection,
    }),
  }),
});

const DeletedType = builder.objectRef<Deleted>('McpServerDeleted').implement({
  description: 'An MCP connection was deleted. It is the last event of the subscription.',
  fields: (t) => ({
    deletedId: t.id({
      description: 'Global id of the connection that is gone.',
      resolve: ({ deletedId }) => toGlobalId('McpServer', deletedId),
    }),
  }),
});

const ChangeType = builder.unionType('McpServerChange', {
  description: 'What has happened to an MCP connection that is followed.',
  types: [ChangedType, DeletedType],
  resolveType: (change) => ('deletedId' in change ? DeletedType : ChangedType),
});

builder.subscriptionField('mcpServerChanged', (t) =>
  t.field({
    type: ChangeType,
    description: `Follows an MCP connection: as it is now, then each time it has changed, such as when its user has completed the authorization. Several changes in quick succession may come as one. Ends once it is deleted. ${describeAccess(READ_MCP_CONNECTIONS)} Ends with an error when the caller may no longer read connections.`,
    args: { mcpServerId: t.arg.id({ required: true, description: 'Either id of the connection.' }) },
    subscribe: (_, { mcpServerId }, context) => {
      const [mcpConnectionId] = uuidsOf([String(keyFromId('McpServer', mcpServerId))]);
      if (!mcpConnectionId) throw new NotFoundError('MCP connection not found');
      return followMcpConnection(context, { mcpConnectionId });
    },
    resolve: (change) => change,
  }),
);
