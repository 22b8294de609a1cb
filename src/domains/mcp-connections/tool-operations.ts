import type { EntityManager } from '@mikro-orm/postgresql';
import { LRUCache } from 'lru-cache';
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
import { type Tool, type ToolList as ListedTools, listTools } from './remote/tools.ts';
import type { McpConnectionRow } from './queries.ts';
import { useServer } from './remote/session.ts';

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

/** A tool of a connection. */
export interface ConnectionTool extends Tool {
  readonly connectionId: McpConnectionId;
}

interface ToolList extends ListedTools {
  readonly tools: readonly ConnectionTool[];
  readonly readAt: string;
}

/**
 * Tools are read with the credentials of the connection and returned only to callers who can see it. The cache is
 * bounded by the size of the JSON, because a server decides how long the descriptions of its tools are.
 */
const newToolCache = () =>
  new LRUCache<string, ToolList>({
    ttl: 30_000,
    maxSize: 16 * 1024 * 1024,
    sizeCalculation: sizeOf,
  });
/** @throws RemoteFailedError for tools that are nested too deeply to be written as JSON. */
function sizeOf({ tools }: ToolList): number {
  try {
    return JSON.stringify(tools).length;
  } catch (error) {
    throw new RemoteFailedError('the server returned tools that are nested too deeply', error);
  }
}

/** The servers that each request has asked, and the work that asks the next ones. */
interface Asking {
  readonly calls: Map<string, Promise<ToolList>>;
  readonly limit: Concurrency;
}
const asking = new WeakMap<OperationContext, Asking>();

/** The tools of the server, cached for 30 seconds; null for stdio. @throws RemoteFailedError with the cause. */
export async function readTools(
  context: OperationContext,
  row: Pick<McpConnectionRow, 'id' | 'type' | 'updatedAt'>,
): Promise<ToolList | null> {
  if (row.type === 'stdio') return null;
  const cache = context.caches.of(newToolCache);
  const key = `${row.id} ${row.updatedAt}`;
  const known = cache.get(key);
  if (known) return known;
  const { calls, limit }: Asking = asking.get(context) ?? {
    calls: new Map(),
    limit: new Concurrency(WORK.toolServers),
  };
  asking.set(context, { calls, limit });
  const started = calls.get(key);
  if (started) return started;
  const reading = limit.run(async () => {
    const connection = await loadVisible(context.em.fork(), context.actor, row.id);
    const listed = await useServer(context, connection, (client, _, work) => listTools(client, work.signal));
    const tools = listed.tools.map((tool) => ({ ...tool, connectionId: row.id }));
    const list = { ...listed, tools, readAt: context.now().toISOString() };
    cache.set(key, list);
    return list;
  });
  calls.set(key, reading);
  return reading;
}
