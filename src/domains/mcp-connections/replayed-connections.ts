import type { McpConnectionId } from '../../core/ids.ts';
import { notFound } from '../../core/errors.ts';
import type { OperationContext } from '../../core/operation.ts';
import { isWithin } from '../../core/postgres/reading/reach.ts';
import { prepared, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { McpConnectionTables } from './entity.ts';
import { reachedBy, requireManager } from './policy.ts';

const db = queriesOn<McpConnectionTables>();

const findConnection = prepared<{ id: McpConnectionId }>()((value) =>
  db
    .selectFrom('mcp_connection')
    .select(['organization_id as organizationId', 'owner_id as ownerId', 'visibility'])
    .where('id', '=', value('id')),
);

/**
 * Checks that a stored answer about a connection can be replayed to the caller. An answer about a deleted connection
 * can always be replayed.
 * @throws NotFoundError when the caller cannot see the connection; ForbiddenError for a shared connection when the caller is not an
 * administrator.
 */
export async function requireStillManaged(
  { sql, actor }: OperationContext,
  id: McpConnectionId,
  operation: string,
): Promise<void> {
  const connection = await sql.primary.first(findConnection({ id }));
  if (!connection) return;
  if (!isWithin(reachedBy(actor), connection)) throw notFound('MCP connection');
  // Everybody who sees a connection can use it.
  if (operation !== 'callMcpTool') requireManager(actor, connection.visibility);
}
