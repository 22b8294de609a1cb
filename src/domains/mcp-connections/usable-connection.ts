import { sql } from 'kysely';
import { ConflictError, type RemoteFailedError } from '../../core/errors.ts';
import type { GroupId, McpConnectionId, OrganizationId, UserId } from '../../core/ids.ts';
import { requireOrganization } from '../../core/access.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type Statement, type ValueOf, anyOf, prepared, queriesOn } from '../../core/postgres/reading/queries.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import type { SecretTables } from '../../core/secrets/secret-store.ts';
import { CONNECTION_TABLE, type Credentials, HEADER, TOKENS, openCredentials } from './credentials.ts';
import type { AuthType, McpConnectionTables } from './entity.ts';
import { usableToken } from './authorization/token-refresh.ts';
import { visibleTo } from './policy.ts';
import type { McpConnectionRow } from './queries.ts';
import { readChallenge } from './remote/challenges.ts';
import type { Access } from './remote/client.ts';
import { AuthorizationNeeded } from './remote/errors.ts';
import { isNoted, noteFailure, noteSuccess } from './remote/session.ts';
import { type Checked, LIST_VERSION, type ListedConnection } from './server-lists.ts';
import { standingOf } from './status.ts';
import { type ToolRules, groupsForRules, isOpenTo, rulesFor } from './tool-rules.ts';

/** What others need to send requests with the credentials of a connection. */

const db = queriesOn<McpConnectionTables & SecretTables>();

interface Caller {
  readonly organizationId: OrganizationId;
  readonly userId: UserId;
}

const callerIn = (value: ValueOf<Caller>) => ({
  organizationId: value('organizationId'),
  userId: value('userId'),
});

/** The connections that a caller may use, with what {@link UsableConnection} has. */
const usableBy = (value: ValueOf<Caller>) =>
  db
    .selectFrom('mcp_connection as c')
    .select([
      'c.id',
      'c.name',
      'c.handle',
      'c.type',
      'c.server_url as serverUrl',
      'c.auth_type as authType',
      'c.status',
    ])
    .select(['c.status_reason as statusReason', 'c.authorization_expires_at as authorizationExpiresAt'])
    .select(['c.last_checked_at as lastCheckedAt', 'c.updated_at as updatedAt', LIST_VERSION.as('listVersion')])
    .select('c.token_version as tokenVersion')
    .select(['c.refresh_after as refreshAfter', 'c.token_expires_at as tokenExpiresAt'])
    .select(['c.tool_policy as toolPolicy', 'c.tool_rules as toolRules', 'c.record_tool_calls as recordToolCalls'])
    .select('c.on_tool_change as onToolChange')
    .select(groupsForRules(callerIn(value)).as('groupIds'))
    .select((eb) =>
      eb
        .selectFrom('secret as s')
        .select(sql<Record<string, string>>`coalesce(json_object_agg(s.field, s.sealed), '{}')`.as('secrets'))
        .where('s.owner_table', '=', CONNECTION_TABLE)
        .whereRef('s.owner_id', '=', 'c.id')
        .whereRef('s.organization_id', '=', 'c.organization_id')
        .where(sql<boolean>`(s.field = ${sql.lit(TOKENS)} or starts_with(s.field, ${sql.lit(HEADER)}))`)
        .as('secrets'),
    )
    .where(within(visibleTo(callerIn(value)), 'c'))
    .where(isOpenTo(callerIn(value)));

const findUsable = prepared<Caller & { readonly ids: readonly McpConnectionId[] }>()((value) =>
  usableBy(value).where('c.id', '=', anyOf('uuid', value('ids'))),
);
const findAllUsable = prepared<Caller & { readonly limit: number }>()((value) =>
  usableBy(value).orderBy('c.handle').limit(value('limit')),
);

/** A remote server that the caller may use, with the rules that count for the caller. */
export interface UsableConnection extends ListedConnection, Checked, ToolRules {
  readonly name: string;
  readonly handle: string;
  readonly serverUrl: string;
  readonly authType: AuthType;
  readonly tokenVersion: number;
  readonly refreshAfter: string | null;
  readonly tokenExpiresAt: string | null;
  /** Whether calls of a session are among its events. */
  readonly recordToolCalls: McpConnectionRow['recordToolCalls'];
  /** Encrypted, by field. */
  readonly secrets: Readonly<Record<string, string>>;
}

/** A connection that runs where the agent runs. */
export interface StdioConnection {
  readonly id: McpConnectionId;
  readonly name: string;
  readonly handle: string;
  readonly serverUrl: null;
}

/**
 * Reads a connection with its encrypted credentials, in one statement. Undefined for one that the caller cannot see.
 * @throws ConflictError for a stdio connection.
 */
export async function findUsableConnection(
  context: OperationContext,
  id: McpConnectionId,
): Promise<UsableConnection | undefined> {
  const [connection] = await findUsableConnections(context, [id]);
  if (connection?.serverUrl !== null) return connection;
  throw new ConflictError('WRONG_STATE', 'a stdio connection runs where the agent runs, and cannot be used here');
}

/** The same for several connections, in the order of the ids. */
export async function findUsableConnections(
  context: OperationContext,
  ids: readonly McpConnectionId[],
): Promise<(UsableConnection | StdioConnection)[]> {
  const rows = await context.sql.primary.all(findUsable({ ...callerOf(context), ids }));
  const found = new Map(rows.map((row) => [row.id, connectionOf(context, row)]));
  return ids.flatMap((id) => found.get(id) ?? []);
}

/** The first connections that the caller may use, in the order of their handles. */
export async function findAllUsableConnections(
  context: OperationContext,
  limit: number,
): Promise<(UsableConnection | StdioConnection)[]> {
  const rows = await context.sql.primary.all(findAllUsable({ ...callerOf(context), limit }));
  return rows.map((row) => connectionOf(context, row));
}

const callerOf = ({ actor }: OperationContext): Caller => ({
  organizationId: requireOrganization(actor).id,
  userId: actor.userId,
});

type UsableRow = ReturnType<typeof findUsable> extends Statement<infer Row> ? Row : never;

function connectionOf({ now }: OperationContext, row: UsableRow): UsableConnection | StdioConnection {
  const { id, name, handle, type, serverUrl, authType, secrets, groupIds, ...rest } = row;
  if (type === 'stdio' || serverUrl === null || authType === null) return { id, name, handle, serverUrl: null };
  const toolRules = rulesFor(rest.toolRules, new Set<GroupId>(groupIds));
  return {
    ...rest,
    ...standingOf(row, now()),
    toolRules,
    id,
    name,
    handle,
    serverUrl,
    authType,
    secrets: secrets ?? {},
  };
}

/** The credentials for one request, and the version of the token among them. */
export interface CurrentAccess extends Access {
  readonly tokenVersion: number | undefined;
}

/**
 * The current credentials; a token that is due is refreshed first. With `refused`, only a token newer than that version; undefined without one.
 * @throws AuthorizationNeeded when a person must authorize the connection first; RemoteFailedError when the token cannot be refreshed now.
 */
export async function accessOf(context: OperationContext, connection: UsableConnection): Promise<CurrentAccess>;
export async function accessOf(
  context: OperationContext,
  connection: UsableConnection,
  refused: number,
): Promise<CurrentAccess | undefined>;
export async function accessOf(
  context: OperationContext,
  connection: UsableConnection,
  refused?: number,
): Promise<CurrentAccess | undefined> {
  const { id, authType, status, tokenVersion } = connection;
  if (refused === undefined && authType === 'static_headers')
    return { headers: (await credentialsOf(context, connection)).headers, tokenVersion: undefined };
  if (refused === undefined && !isDue(connection, context.now())) {
    const { tokens } = await credentialsOf(context, connection);
    if (tokens) return { accessToken: tokens.accessToken, tokenVersion };
    // Without credentials nothing is sent to a server that has asked for them.
    if (status !== 'CONNECTED' && status !== 'UNREACHABLE') throw new AuthorizationNeeded({});
    return { tokenVersion: undefined };
  }
  const token = await usableToken(context, id, { refused });
  if (token) return { accessToken: token.accessToken, tokenVersion: token.version };
  if (refused === undefined) throw new AuthorizationNeeded({});
  return undefined;
}

const isDue = ({ refreshAfter, tokenExpiresAt }: UsableConnection, now: Date): boolean =>
  [refreshAfter, tokenExpiresAt].some((time) => time !== null && Date.parse(time) <= now.getTime());

const credentialsOf = ({ secrets: box }: OperationContext, { id, secrets }: UsableConnection): Promise<Credentials> =>
  openCredentials(box, id, secrets);

/** What an answer says about the authorization (RFC 6750, section 3); undefined if it is neither 401 nor 403 for a missing scope. */
export function authorizationNeededBy(
  status: number,
  header: string | null,
  serverUrl: string,
): AuthorizationNeeded | undefined {
  if (status !== 401 && status !== 403) return undefined;
  const challenge = readChallenge(header, serverUrl);
  const isStepUp = status === 403 && challenge.error === 'insufficient_scope';
  return status === 401 || isStepUp ? new AuthorizationNeeded(challenge, isStepUp) : undefined;
}

/** Records in the status that the connection works, at most once a minute. */
export async function noteUse(context: OperationContext, connection: UsableConnection): Promise<void> {
  const { id, status, lastCheckedAt } = connection;
  const checkedAt = lastCheckedAt === null ? null : new Date(lastCheckedAt);
  if (!isNoted(status, checkedAt, context.now())) await noteSuccess(context, id);
}

/** Records a failure in the status. @returns the error to throw. */
export const noteRefusal = async (
  context: OperationContext,
  { id }: UsableConnection,
  error: AuthorizationNeeded | RemoteFailedError,
): Promise<unknown> => noteFailure(context, id, error);
