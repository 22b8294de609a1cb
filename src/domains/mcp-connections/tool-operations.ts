import type { EntityManager } from '@mikro-orm/postgresql';
import { LRUCache } from 'lru-cache';
import { ConflictError, invalid, notFound } from '../../core/errors.ts';
import { type Actor, type OperationContext, guarded, write } from '../../core/operation.ts';
import type { Outbound } from '../../core/outbound/outbound.ts';
import { filterOf } from '../../core/postgres/reach.ts';
import { McpConnection } from './entity.ts';
import type { McpConnectionReference } from './input.ts';
import { WRITE_MCP_CONNECTIONS, reachedBy, targetOf } from './policy.ts';
import { type ServerInfo, type Tool, checkServer, listTools } from './remote/client.ts';
import type { McpConnectionRow } from './queries.ts';
import { useServer } from './remote/session.ts';

/** Operations that ask the live server. */

/** Asks the server whether it answers with what is stored, and notes the outcome. For everybody who sees the connection. */
export const testMcpConnection = guarded(
  WRITE_MCP_CONNECTIONS,
  async (
    context: OperationContext,
    { mcpConnectionId }: McpConnectionReference,
  ): Promise<{ connection: McpConnection; info: ServerInfo }> => {
    const connection = await loadVisible(context.em.fork(), context.actor, mcpConnectionId);
    if (connection.type === 'stdio')
      throw new ConflictError('WRONG_STATE', 'a stdio connection is only stored; there is nothing to test');
    const info = await useServer(context, connection, checkServer);
    return { connection: await recordTest(context, mcpConnectionId), info };
  },
);

/** The outcome is on the row by now. */
const recordTest = write(({ em, actor }, id: string) => loadVisible(em, actor, id), {
  access: WRITE_MCP_CONNECTIONS,
  operation: 'testMcpConnection',
  target: targetOf,
});

async function loadVisible(em: EntityManager, actor: Actor, id: string): Promise<McpConnection> {
  const connection = await em.findOne(McpConnection, { $and: [{ id }, filterOf<McpConnection>(reachedBy(actor))] });
  if (!connection) throw notFound('MCP connection');
  return connection;
}

/** Bounded by the characters of JSON in it, because a server decides how long the descriptions of its tools are. */
const CACHE = {
  ttl: 30_000,
  maxSize: 16 * 1024 * 1024,
  sizeCalculation: (tools: Tool[]) => JSON.stringify(tools).length,
};
/** Servers that one request may ask, since each takes as long as it likes within its bounds. */
const MAX_SERVERS = 10;

/** One cache a gateway; what is in it was read with the credentials of the connection, and is given only to those who see the connection. */
const caches = new WeakMap<Outbound, LRUCache<string, Tool[]>>();
const asked = new WeakMap<object, number>();

/** The tools of the live server, remembered for 30 seconds; null for stdio. @throws RemoteFailedError with the cause. */
export async function readTools(
  context: OperationContext,
  row: Pick<McpConnectionRow, 'id' | 'type' | 'updatedAt'>,
): Promise<Tool[] | null> {
  if (row.type === 'stdio') return null;
  const cache = caches.get(context.outbound) ?? new LRUCache<string, Tool[]>(CACHE);
  caches.set(context.outbound, cache);
  const key = `${row.id} ${row.updatedAt}`;
  const known = cache.get(key);
  if (known) return known;
  const count = (asked.get(context) ?? 0) + 1;
  if (count > MAX_SERVERS)
    throw invalid('tools', `at most ${MAX_SERVERS} servers are asked for their tools in one request`);
  asked.set(context, count);
  const tools = await useServer(
    context,
    await loadVisible(context.em.fork(), context.actor, row.id),
    (client, _, work) => listTools(client, work.signal),
  );
  cache.set(key, tools);
  return tools;
}
