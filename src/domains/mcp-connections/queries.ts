import { sql } from 'kysely';
import { type McpConnectionId, type OrganizationId, type UserId, isUuid } from '../../core/ids.ts';
import { type Actor, requireOrganization } from '../../core/access.ts';
import type { OperationContext } from '../../core/operation.ts';
import { defineList } from '../../core/postgres/reading/lists.ts';
import { type Readable, type RowOf, anyOf, asRow, prepared, queriesOn } from '../../core/postgres/reading/queries.ts';
import { isWithin, within } from '../../core/postgres/reading/reach.ts';
import type { McpConnection, McpConnectionTables } from './entity.ts';
import type { McpConnectionFilter } from './input.ts';
import { isShownTo, reachedBy, requireManager } from './policy.ts';
import { isOpenTo } from './tool-rules.ts';
import { LIST_VERSION, listVersionOf } from './server-lists.ts';
import { notFound } from '../../core/errors.ts';

const db = queriesOn<McpConnectionTables>();

/** The columns that clients can read. Columns about tokens are excluded. */
const SHOWN = [
  'id',
  'name',
  'type',
  'visibility',
  'ownerId',
  'command',
  'args',
  'envKeys',
  'serverUrl',
  'authType',
  'headerKeys',
  'clientId',
  'oauthRegistration',
  'scope',
  'status',
  'statusReason',
  'connectedAt',
  'lastCheckedAt',
  'authorizationExpiresAt',
  'grantedScopes',
  'tokenExpiresAt',
  'handle',
  'toolPolicy',
  'access',
  'toolRules',
  'approverGroupIds',
  'onToolChange',
  'recordToolCalls',
  'audience',
  'resource',
  'allowMissingPkceMetadata',
  'createdAt',
  'updatedAt',
] as const satisfies readonly (keyof Connection)[];
type Connection = RowOf<Readable<McpConnectionTables>['mcp_connection']>;

/** A connection as clients read it. A row has the selected columns only; without a selection it has all of these. */
export interface McpConnectionRow extends Pick<Connection, (typeof SHOWN)[number]> {
  /** The authorization server that issued the tokens. */
  readonly issuer: string | null;
  /** Changes when what is kept of the server's lists may no longer be valid. */
  readonly listVersion: string;
}

const visibleConnections = (actor: Actor) =>
  db
    .selectFrom('mcp_connection as c')
    .where(within(reachedBy(actor), 'c'))
    .where(isShownTo(viewerOf(actor)));

function viewerOf(actor: Actor) {
  const { id: organizationId, role } = requireOrganization(actor);
  return { organizationId, userId: actor.userId, isAdmin: role === 'admin' };
}

export type McpConnectionOrderField = 'NAME' | 'CREATED_AT' | 'UPDATED_AT';

/** The connections that the caller can see. */
export const MCP_CONNECTIONS = defineList<
  McpConnectionRow,
  McpConnectionFilter & { readonly ownerIds?: readonly UserId[] },
  McpConnectionOrderField
>()(db.selectFrom('mcp_connection as c'), {
  name: 'MCP_CONNECTION',
  alias: 'c',
  columns: [...SHOWN, 'issuer', 'listVersion'],
  expressions: { issuer: () => sql`c.authorization_server ->> 'issuer'`, listVersion: () => LIST_VERSION },
  reach: ({ actor }) => reachedBy(actor),
  where: (value) =>
    isShownTo({
      userId: sql`${value('userId')}::uuid`,
      organizationId: sql`${value('organizationId')}::uuid`,
      isAdmin: sql`${value('isAdmin')}::boolean`,
    }),
  values: ({ now, actor }) => ({ now: now(), ...viewerOf(actor) }),
  filter: ({ oneOf, containing, between }) => ({
    ownerIds: oneOf('ownerId', 'uuid'),
    types: oneOf('type'),
    visibilities: oneOf('visibility'),
    // The status that `standingOf` gives.
    statuses: (statuses, value) =>
      sql`case when c.status = 'PENDING_AUTHORIZATION' and c.authorization_expires_at <= ${value('now')}::timestamptz
          then 'AUTHORIZATION_REQUIRED' else c.status end = any(${statuses}::text[])`,
    search: containing('name'),
    ...between('created', 'createdAt'),
  }),
  orders: {
    NAME: { name: 'text' },
    CREATED_AT: { createdAt: 'timestamptz' },
    UPDATED_AT: { updatedAt: 'timestamptz' },
  },
  otherwise: { field: 'NAME', direction: 'ASC' },
});

/** The connections that the caller can see and whose id or name is one of the references. */
export function findReferenced(
  { sql: reader, actor }: OperationContext,
  references: readonly string[],
): Promise<Pick<McpConnectionRow, 'id' | 'name'>[]> {
  const ids = references.filter(isUuid);
  return reader.all(
    visibleConnections(actor)
      .select(['c.id', 'c.name'])
      .where((eb) => eb.or([eb('c.id', '=', anyOf('uuid', ids)), eb('c.name', '=', anyOf('text', references))]))
      .orderBy('c.id'),
  );
}

/** The row of a connection that was just written. */
export function connectionRow(connection: McpConnection): McpConnectionRow {
  const { owner, authorizationServer, ...properties } = connection;
  return {
    ...asRow({ ...properties, ownerId: owner?.id }, SHOWN),
    issuer: authorizationServer?.issuer ?? null,
    listVersion: listVersionOf(connection),
  };
}

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

const findConnection = prepared<{ id: McpConnectionId; userId: UserId; organizationId: OrganizationId }>()((value) =>
  db
    .selectFrom('mcp_connection as c')
    .select(['c.organization_id as organizationId', 'c.owner_id as ownerId', 'c.visibility'])
    .select(isOpenTo({ userId: value('userId'), organizationId: value('organizationId') }).as('isOpen'))
    .where('c.id', '=', value('id')),
);

/**
 * Checks that a stored answer about a connection can be replayed to the caller. An answer about a deleted connection
 * can always be replayed.
 * @throws NotFoundError when the caller cannot see the connection; ForbiddenError for a shared connection when the caller is not an
 * administrator.
 */
export async function requireStillManaged(
  { sql: reader, actor }: OperationContext,
  id: McpConnectionId,
  operation: string,
): Promise<void> {
  const { id: organizationId, role } = requireOrganization(actor);
  const connection = await reader.primary.first(findConnection({ id, userId: actor.userId, organizationId }));
  if (!connection) return;
  const isUse = operation === 'callMcpTool';
  const isShown = connection.isOpen || (!isUse && role === 'admin');
  if (!isShown || !isWithin(reachedBy(actor), connection)) throw notFound('MCP connection');
  if (!isUse) requireManager(actor, connection.visibility);
}
