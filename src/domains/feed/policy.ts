import { type SqlBool, sql } from 'kysely';
import { type Access, type Actor, hasAccess } from '../../core/access.ts';
import { FEED_TYPES, type FeedType } from '../../core/feed.ts';
import { queriesOn } from '../../core/postgres/reading/queries.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import { EVENT_DEFINITIONS } from '../event-definitions/public.ts';
import { READ_MCP_CONNECTIONS, isOpenTo } from '../mcp-connections/public.ts';
import { READ_MEMBERS } from '../memberships/public.ts';
import { SEE_TOOL_APPROVALS, isSeenBy } from '../tool-approvals/public.ts';
import { type Caller, READ_SESSIONS, type SessionTables, readableBy } from '../sessions/public.ts';

/** Everybody in the organization can read its feed, which shows them what they may see otherwise. */
export const READ_FEED: Access = { scopes: [], inOrganization: true };

const ADMINISTRATORS: Access = { scopes: [], inOrganization: true, role: 'admin' };

/** What a caller needs to see entries of a type: the access to its objects. */
const ACCESS_OF: Readonly<Record<FeedType, Access>> = {
  'session.created': READ_SESSIONS,
  'session.state_changed': READ_SESSIONS,
  'session.pull_request_changed': READ_SESSIONS,
  'session.deleted': READ_SESSIONS,
  'mcp_connection.status_changed': READ_MCP_CONNECTIONS,
  'mcp_connection.deleted': READ_MCP_CONNECTIONS,
  'mcp_connection.tools_changed': READ_MCP_CONNECTIONS,
  'tool_approval.requested': SEE_TOOL_APPROVALS,
  'tool_approval.decided': SEE_TOOL_APPROVALS,
  'event_definition.created': EVENT_DEFINITIONS,
  'event_definition.changed': EVENT_DEFINITIONS,
  'event_definition.deleted': EVENT_DEFINITIONS,
  'event_occurrences.sent': EVENT_DEFINITIONS,
  'member.joined': READ_MEMBERS,
  'member.left': READ_MEMBERS,
  'deletion_job.finished': ADMINISTRATORS,
  'webhook.failing': ADMINISTRATORS,
  'webhook.disabled': ADMINISTRATORS,
};

/** The types that the caller can see, of the asked ones or of all. */
export const visibleTypes = (actor: Actor, asked: readonly FeedType[] | null | undefined): FeedType[] =>
  FEED_TYPES.filter((type) => (asked?.includes(type) ?? true) && hasAccess(actor, ACCESS_OF[type]));

/** The entries `e` that a caller can read, of types that they can see. Each of `caller` is an id, or a parameter of a prepared query. */
export function readableEntries<Organization, User>(caller: Caller<Organization, User>) {
  const sessions = queriesOn<SessionTables>();
  // Not `exists`, for which PostgreSQL can read all sessions of the organization to test the few entries of a page.
  const isReadable = sessions
    .selectFrom('session as s')
    .select(sql`true`.as('isReadable'))
    .whereRef('s.id', '=', sql.ref<string>('e.subject_id'))
    .where(within(readableBy(caller), 's'));
  // Of a deleted session, the entry itself says who could read it. Administrators can read all sessions.
  const isOwn = sql`(e.reader_id is null or e.reader_id = ${caller.userId})`;
  const isOfDeleted = caller.role === 'admin' ? sql`true` : isOwn;
  // Entries about a connection that was deleted have nothing but its id.
  const isOfOpen =
    caller.role === 'admin'
      ? isOwn
      : sql`${isOwn} and coalesce((select ${isOpenTo(caller)} from mcp_connection as c where c.id = e.subject_id), true)`;
  const isOfSeen =
    caller.role === 'admin'
      ? isOwn
      : sql`(select ${isSeenBy({ ...caller, isAdmin: sql.lit(false) })}
    from tool_approval as a join mcp_connection as c on c.id = a.connection_id where a.id = e.subject_id
      and a.organization_id = ${caller.organizationId})`;
  return sql<SqlBool>`e.organization_id = ${caller.organizationId}
    and case when e.subject_type = 'McpServer' then ${isOfOpen} when e.subject_type = 'ToolApproval' then ${isOfSeen} when e.subject_type <> 'Session' then ${isOwn} when e.type = 'session.deleted' then ${isOfDeleted} else ${isReadable} end`;
}
