import { type ExpressionBuilder, sql } from 'kysely';
import type { McpConnectionId } from '../../core/ids.ts';
import { countOf } from '../../core/postgres/reading/counts.ts';
import { type Order, type Page, type PageArguments, orderingBy, planPage } from '../../core/postgres/reading/keyset.ts';
import type { Actor } from '../../core/access.ts';
import type { OperationContext } from '../../core/operation.ts';
import {
  type Readable,
  type RowOf,
  anyOf,
  asRow,
  contains,
  queriesOn,
  snake,
} from '../../core/postgres/reading/queries.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import { isUuid } from '../../core/text/uuids.ts';
import { type Columns, withColumns } from '../../core/postgres/reading/columns.ts';
import type { McpConnection, McpConnectionTables } from './entity.ts';
import type { McpConnectionFilter } from './input.ts';
import { reachedBy } from './policy.ts';

const db = queriesOn<McpConnectionTables>();
type Aliased = Readable<McpConnectionTables> & { c: Readable<McpConnectionTables>['mcp_connection'] };

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
}

const ALL: readonly (keyof McpConnectionRow)[] = [...SHOWN, 'issuer'];

const selectionOf = (name: keyof McpConnectionRow) =>
  (name === 'issuer' ? sql<string | null>`c.authorization_server ->> 'issuer'` : sql.ref(`c.${snake(name)}`)).as(name);

const visibleConnections = (actor: Actor) => db.selectFrom('mcp_connection as c').where(within(reachedBy(actor), 'c'));

/** The visible connections, with the selected columns. */
function connectionsWith(names: readonly (keyof McpConnectionRow)[], { actor }: OperationContext) {
  return (
    visibleConnections(actor)
      .select(names.map(selectionOf))
      // The selected columns have the names of the row's properties.
      .$castTo<McpConnectionRow>()
  );
}

export type McpConnectionOrderField = 'NAME' | 'CREATED_AT' | 'UPDATED_AT';

const ORDERED_BY = {
  name: 'MCP_CONNECTION',
  prefix: 'c.',
  columns: {
    NAME: { property: 'name', type: 'text' },
    CREATED_AT: { property: 'createdAt', type: 'timestamptz' },
    UPDATED_AT: { property: 'updatedAt', type: 'timestamptz' },
  },
} as const;
const BY_NAME: Order<McpConnectionOrderField> = { field: 'NAME', direction: 'ASC' };

export interface McpConnectionList {
  readonly filter: McpConnectionFilter;
  /** By name when absent. */
  readonly order?: Order<McpConnectionOrderField>;
}

/** The status that `standingOf` gives. */
const currentStatus = (at: Date) => sql<string>`case when c.status = 'PENDING_AUTHORIZATION'
  and c.authorization_expires_at <= ${at.toISOString()}::timestamptz then 'AUTHORIZATION_REQUIRED' else c.status end`;

/** The conditions of a list. strpos has no wildcards, unlike LIKE. */
function fits({ types, visibilities, statuses, search, createdFrom, createdBefore }: McpConnectionFilter, at: Date) {
  return (eb: ExpressionBuilder<Aliased, 'c'>) =>
    eb.and([
      ...(types ? [eb('c.type', '=', anyOf('text', types))] : []),
      ...(visibilities ? [eb('c.visibility', '=', anyOf('text', visibilities))] : []),
      ...(statuses ? [eb(currentStatus(at), '=', anyOf('text', statuses))] : []),
      ...(search == null ? [] : [contains(sql`c.name`, search)]),
      ...(createdFrom == null ? [] : [eb('c.created_at', '>=', createdFrom)]),
      ...(createdBefore == null ? [] : [eb('c.created_at', '<', createdBefore)]),
    ]);
}

export async function pageOfConnections(
  context: OperationContext,
  { filter, order = BY_NAME }: McpConnectionList,
  page: PageArguments,
  asked?: Columns<McpConnectionRow>,
): Promise<Page<McpConnectionRow>> {
  const ordering = orderingBy<McpConnectionRow, McpConnectionOrderField>(ORDERED_BY, order);
  const plan = planPage(ordering, page);
  const names = withColumns<McpConnectionRow>(asked, ALL, 'id', ordering.property);
  const connections = connectionsWith(names, context).where(fits(filter, context.now()));
  return plan.toPage(await context.sql.page(plan.apply(connections)));
}

export function countConnections(
  { sql: reader, actor, now }: OperationContext,
  filter: McpConnectionFilter,
): Promise<number> {
  return countOf(reader, visibleConnections(actor).where(fits(filter, now())));
}

/** The connections with these ids that the caller can see, in any order. */
export function findConnections(
  context: OperationContext,
  ids: readonly McpConnectionId[],
  asked?: Columns<McpConnectionRow>,
): Promise<McpConnectionRow[]> {
  const connections = connectionsWith(withColumns<McpConnectionRow>(asked, ALL, 'id'), context);
  return context.sql.all(connections.where('c.id', '=', anyOf('uuid', ids)));
}

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
  return { ...asRow({ ...properties, ownerId: owner?.id }, SHOWN), issuer: authorizationServer?.issuer ?? null };
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
