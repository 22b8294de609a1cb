import { type Ordering, type Page, type PageArguments, keyset } from '../../core/keyset.ts';
import type { Actor, OperationContext } from '../../core/operation.ts';
import type { Timestamp } from '../../core/sql.ts';
import type { McpConnection } from './entity.ts';

type Same = 'id' | 'name' | 'type' | 'visibility' | 'envKeys' | 'headerKeys' | 'status';
type Nullable =
  | 'command'
  | 'args'
  | 'serverUrl'
  | 'authType'
  | 'clientId'
  | 'oauthRegistration'
  | 'scope'
  | 'statusReason'
  | 'grantedScopes';
type Moment = 'connectedAt' | 'lastCheckedAt' | 'authorizationExpiresAt' | 'tokenExpiresAt';

/** A connection as it is read; the entity has the same shape, but for the issuer. */
export interface McpConnectionRow
  extends Pick<McpConnection, Same>, Partial<Pick<McpConnection, Nullable>>, Partial<Record<Moment, Timestamp | null>> {
  readonly authorizationServer?: { readonly issuer: string } | null;
  readonly createdAt: Timestamp;
  readonly updatedAt: Timestamp;
}

const COLUMNS = `c.id, c.name, c.type, c.visibility, c.command, c.args, c.env_keys as "envKeys", c.server_url as "serverUrl", c.auth_type as "authType",
  c.header_keys as "headerKeys", c.client_id as "clientId", c.oauth_registration as "oauthRegistration", c.scope, c.status, c.status_reason as "statusReason",
  c.connected_at as "connectedAt", c.last_checked_at as "lastCheckedAt", c.authorization_expires_at as "authorizationExpiresAt",
  json_build_object('issuer', c.authorization_server->>'issuer') as "authorizationServer", c.granted_scopes as "grantedScopes", c.token_expires_at as "tokenExpiresAt",
  c.created_at as "createdAt", c.updated_at as "updatedAt"`;

/** Shared ones of the organization, and the caller's own. */
const VISIBLE = `c.organization_id = $1 and (c.visibility = 'shared' or c.owner_id = $2)`;

const BY_NAME: Ordering<McpConnectionRow> = {
  name: 'MCP_CONNECTION',
  direction: 'ASC',
  columns: [
    { sql: 'c.name', type: 'text', of: (row) => row.name },
    { sql: 'c.id', type: 'uuid', of: (row) => row.id },
  ],
};

export interface McpConnectionFilter {
  readonly visibility?: McpConnection['visibility'] | null;
  readonly type?: McpConnection['type'] | null;
}

function conditions({ userId }: Actor, organizationId: string, filter: McpConnectionFilter, values: unknown[]): string {
  values.push(organizationId, userId);
  return [
    VISIBLE,
    ...(filter.visibility ? [`c.visibility = $${values.push(filter.visibility)}`] : []),
    ...(filter.type ? [`c.type = $${values.push(filter.type)}`] : []),
  ].join(' and ');
}

export async function pageOfConnections(
  { sql, actor }: OperationContext,
  organizationId: string,
  filter: McpConnectionFilter,
  page: PageArguments,
): Promise<Page<McpConnectionRow>> {
  const values: unknown[] = [];
  const where = conditions(actor, organizationId, filter, values);
  const query = keyset(BY_NAME, page, values);
  const rows = await sql.query<McpConnectionRow>(
    `select ${COLUMNS} from mcp_connection c where ${where} and ${query.where} order by ${query.orderBy} limit $${values.push(query.limit)}`,
    values,
  );
  return query.toPage(rows);
}

export async function countConnections(
  { sql, actor }: OperationContext,
  organizationId: string,
  filter: McpConnectionFilter,
): Promise<number> {
  const values: unknown[] = [];
  const where = conditions(actor, organizationId, filter, values);
  const [row] = await sql.query<{ count: number }>(
    `select count(*)::int as count from mcp_connection c where ${where}`,
    values,
  );
  return row?.count ?? 0;
}

export function findConnectionRows(
  { sql, actor }: OperationContext,
  organizationId: string,
  ids: readonly string[],
): Promise<McpConnectionRow[]> {
  return sql.query<McpConnectionRow>(`select ${COLUMNS} from mcp_connection c where ${VISIBLE} and c.id = any($3)`, [
    organizationId,
    actor.userId,
    ids,
  ]);
}

/** Which of the texts are ids or names of connections that the caller can see. */
export async function findKnownReferences(
  { sql, actor }: OperationContext,
  organizationId: string,
  references: readonly string[],
): Promise<Set<string>> {
  const rows = await sql.query<{ id: string; name: string }>(
    `select c.id, c.name from mcp_connection c where ${VISIBLE} and (c.id::text = any($3) or c.name = any($4))`,
    [organizationId, actor.userId, references.map((reference) => reference.toLowerCase()), references],
  );
  const ids = new Set(rows.map(({ id }) => id));
  const names = new Set(rows.map(({ name }) => name));
  return new Set(references.filter((reference) => names.has(reference) || ids.has(reference.toLowerCase())));
}
