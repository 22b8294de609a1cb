import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely';
import { within } from '../../core/postgres/reach.ts';
import { queriesOn } from '../../core/postgres/queries.ts';
import type { McpConnectionTables } from '../mcp-connections/entity.ts';
import { visibleTo } from '../mcp-connections/policy.ts';
import { MAX_MCP_SERVERS } from './input.ts';
import type { Caller } from './policy.ts';

/**
 * The MCP connections of a session are a list of ids. The rows decide which of them there are: a deleted connection is in no list, and one that
 * somebody keeps for themselves is in the lists that they read.
 */

const db = queriesOn<McpConnectionTables>();

/** Who reads: their ids, or the places of these in a prepared query. */
export type McpServerViewer = Pick<Caller<RawBuilder<unknown>, RawBuilder<unknown>>, 'organizationId' | 'userId'>;

/** The ids that the caller sees, of the session with the alias `s`. */
export function visibleMcpServers(viewer: McpServerViewer): RawBuilder<string[]> {
  return listedWhere(within(visibleTo(viewer), 'c'));
}

/** A list that replaces what the caller sees of the one of the session `s`; what they do not see stays behind it, up to the bound of the list. */
export function replacedMcpServers(given: RawBuilder<unknown>, viewer: McpServerViewer): RawBuilder<string[]> {
  const hidden = listedWhere(sql<SqlBool>`not (${within(visibleTo(viewer), 'c')})`);
  return sql`(${given}::text[] || ${hidden}::text[])[1:${sql.lit(MAX_MCP_SERVERS)}]`;
}

/** Text that is no id is passed over: gateways of version 0.1 still write names while the new version is rolled out. */
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
