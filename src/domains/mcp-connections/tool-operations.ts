import type { EntityManager } from '@mikro-orm/postgresql';
import { Concurrency } from '../../core/concurrency.ts';
import type { McpConnectionId } from '../../core/ids.ts';
import { ConflictError, NotFoundError, RemoteFailedError, notFound } from '../../core/errors.ts';
import type { Actor } from '../../core/access.ts';
import { type OperationContext, defineOperation } from '../../core/operation.ts';
import { WORK } from '../../core/work-budget.ts';
import { filterOf } from '../../core/postgres/reading/reach.ts';
import { McpConnection } from './entity.ts';
import { mcpConnectionReference } from './input.ts';
import { WRITE_MCP_CONNECTIONS, reachedBy, targetOf } from './policy.ts';
import { type ServerInfo, checkServer } from './remote/client.ts';
import { type Tool, cutNotice, listTools, readTool } from './remote/tools.ts';
import type { McpConnectionRow } from './queries.ts';
import { useServer } from './remote/session.ts';
import { keptList, readServerList, requireNoRecentFailure } from './server-lists.ts';

/** Operations that call the MCP server. */

/** Everybody who can see the connection can test it. The call itself records the outcome in the row. */
export const testMcpConnection = defineOperation({
  name: 'testMcpConnection',
  description:
    'Tests whether a remote server accepts the stored credentials, and updates the status of the connection.',
  access: WRITE_MCP_CONNECTIONS,
  input: mcpConnectionReference,
  errors: [NotFoundError, ConflictError, RemoteFailedError],
  callsOut: true,
  prepare: async (context, { mcpConnectionId }) => {
    const connection = await loadVisible(context.em.fork(), context.actor, mcpConnectionId);
    if (connection.type === 'stdio')
      throw new ConflictError('WRONG_STATE', 'a stdio connection is only stored and cannot be tested');
    return useServer(context, connection, checkServer);
  },
  run: async ({ em, actor, now }, { mcpConnectionId }, info: ServerInfo) => {
    const connection = await loadVisible(em, actor, mcpConnectionId);
    // Uses are recorded once a minute, but whoever tests sees when.
    if (connection.status === 'CONNECTED') connection.lastCheckedAt = now();
    return { connection, info };
  },
  target: ({ connection }) => targetOf(connection),
});

async function loadVisible(em: EntityManager, actor: Actor, id: McpConnectionId): Promise<McpConnection> {
  const connection = await em.findOne(McpConnection, { $and: [{ id }, filterOf<McpConnection>(reachedBy(actor))] });
  if (!connection) throw notFound('MCP connection');
  return connection;
}

export interface ConnectionTool extends Tool {
  readonly connectionId: McpConnectionId;
}

interface ToolList {
  readonly tools: readonly ConnectionTool[];
  /** Says that the server has more tools; null when it does not. */
  readonly notice: string | null;
  readonly readAt: string;
}

/** The lists that each request reads, and the work that asks the next servers. */
interface Asking {
  readonly lists: Map<string, Promise<ToolList>>;
  readonly limit: Concurrency;
}
const asking = new WeakMap<OperationContext, Asking>();

/** The columns of a connection by which its tools are read. */
export const TOOL_COLUMNS = [
  'id',
  'type',
  'listVersion',
  'status',
  'statusReason',
  'lastCheckedAt',
  'updatedAt',
] as const satisfies readonly (keyof McpConnectionRow)[];

/** The tools of the server, kept for up to 60 seconds; null for stdio. @throws RemoteFailedError with the cause. */
export async function readTools(
  context: OperationContext,
  row: Pick<McpConnectionRow, (typeof TOOL_COLUMNS)[number]>,
): Promise<ToolList | null> {
  if (row.type === 'stdio') return null;
  const { lists, limit }: Asking = asking.get(context) ?? {
    lists: new Map(),
    limit: new Concurrency(WORK.toolServers),
  };
  asking.set(context, { lists, limit });
  const key = `${row.id} ${row.listVersion}`;
  let list = lists.get(key);
  if (!list) lists.set(key, (list = readToolList(context, row, limit)));
  return list;
}

async function readToolList(
  context: OperationContext,
  row: Pick<McpConnectionRow, (typeof TOOL_COLUMNS)[number]>,
  limit: Concurrency,
): Promise<ToolList> {
  const load = () =>
    limit.run(async () => {
      const connection = await loadVisible(context.em.fork(), context.actor, row.id);
      const listed = await context.budget.callOut(context.pools.calls, () =>
        useServer(context, connection, (client, _, work) => listTools(client, work.signal)),
      );
      return { ...listed, readAt: context.now() };
    });
  const kept = keptList(context, row, 'tools/list');
  if (!kept) requireNoRecentFailure(row, context.now());
  const { items, isModern, isCut, readAt } = kept ?? (await readServerList(context, row, 'tools/list', { load }));
  return {
    tools: items.map((item) => ({ ...readTool(item, isModern), connectionId: row.id })),
    notice: isCut ? cutNotice(items.length) : null,
    readAt: readAt.toISOString(),
  };
}
