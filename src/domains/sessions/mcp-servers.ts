import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely';
import { queriesOn } from '../../core/postgres/reading/queries.ts';
import { type McpConnectionTables, isVisibleTo } from '../mcp-connections/public.ts';
import { MAX_MCP_SERVERS } from './input.ts';
import type { Caller } from './policy.ts';

/**
 * The MCP connections of a session are stored as a list of ids. Queries join the connections, so that a deleted
 * connection is in no list and a personal connection is shown only to its owner.
 */

const db = queriesOn<McpConnectionTables>();

/** The parameters for the caller in a prepared query. */
export interface McpServerViewer extends Pick<
  Caller<RawBuilder<unknown>, RawBuilder<unknown>>,
  'organizationId' | 'userId'
> {
  readonly isAdmin: RawBuilder<unknown>;
}

/** The ids that the caller can see, of the session with the alias `s`. */
export const visibleMcpServers = (viewer: McpServerViewer): RawBuilder<string[]> => listedWhere(isVisibleTo(viewer));

/** Replaces the visible ids of the session `s`. Ids that the caller cannot see stay at the end of the list, up to its maximum length. */
export function replacedMcpServers(given: RawBuilder<unknown>, viewer: McpServerViewer): RawBuilder<string[]> {
  const hidden = listedWhere(sql<SqlBool>`not ${isVisibleTo(viewer)}`);
  // `coalesce` changes nothing. Citus 13.2 ends with a segmentation fault if a column is set to a part of a list.
  return sql`coalesce((${given}::text[] || ${hidden}::text[])[1:${sql.lit(MAX_MCP_SERVERS)}], '{}')`;
}

/** Ignores text that is not an id, because gateways of version 0.1 write names during a rolling upgrade. */
const listed = sql<{ id: string; place: number }>`
  (select case when m.id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then m.id::uuid end, m.place
    from unnest(s.mcp_servers) with ordinality as m(id, place))`;

function listedWhere(condition: Expression<SqlBool>): RawBuilder<string[]> {
  const ids = db
    .selectFrom(listed.as<'l'>(sql`l(id, place)`))
    .innerJoin('mcp_connection as c', 'c.id', 'l.id')
    .select('c.id')
    .where(condition)
    .orderBy('l.place');
  return sql`array(${ids})`;
}
