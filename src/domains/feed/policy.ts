import { type SqlBool, sql } from 'kysely';
import { type Access, type Actor, hasAccess } from '../../core/access.ts';
import { FEED_TYPES, type FeedType } from '../../core/feed.ts';
import { queriesOn } from '../../core/postgres/reading/queries.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import { EVENT_DEFINITIONS } from '../event-definitions/public.ts';
import { READ_MCP_CONNECTIONS } from '../mcp-connections/public.ts';
import { READ_MEMBERS } from '../memberships/public.ts';
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
  return sql<SqlBool>`e.organization_id = ${caller.organizationId}
    and case when e.subject_type <> 'Session' then ${isOwn} when e.type = 'session.deleted' then ${isOfDeleted} else ${isReadable} end`;
}
