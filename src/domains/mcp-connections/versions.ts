import { sql } from 'kysely';
import type { McpConnectionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { anyOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { McpConnectionTables } from './entity.ts';

const db = queriesOn<McpConnectionTables>();

/** A version of each connection, which changes with its state. It includes whether the pending authorization has expired, which changes no row. */
export async function readConnectionVersions(
  { sql: reader, now }: Pick<OperationContext, 'sql' | 'now'>,
  ids: readonly McpConnectionId[],
): Promise<Map<McpConnectionId, string>> {
  const isOver = sql`c.authorization_expires_at <= ${now()}`;
  const rows = await reader.all(
    db
      .selectFrom('mcp_connection as c')
      .select(['c.id', sql<string>`concat_ws(' ', c.updated_at, c.status, c.last_checked_at, ${isOver})`.as('version')])
      .where('c.id', '=', anyOf('uuid', ids)),
  );
  return new Map(rows.map(({ id, version }) => [id, version]));
}
