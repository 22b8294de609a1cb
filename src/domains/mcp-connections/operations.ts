import { ForbiddenError, type InputFault, ValidationError, nameTaken, notFound } from '../../core/errors.ts';
import { isEmptyUpdate, requireUnchanged } from '../../core/input/expected-version.ts';
import { groupBy } from '../../core/group-by.ts';
import type { McpConnectionId, OrganizationId } from '../../core/ids.ts';
import type { CountedPage, PageArguments } from '../../core/postgres/reading/keyset.ts';
import type { Columns } from '../../core/postgres/reading/columns.ts';
import { isUuid } from '../../core/text/uuids.ts';
import { type ActingOrganization, hasAccess, requireOrganization } from '../../core/access.ts';
import { type OperationContext, guarded, unchanged, write } from '../../core/operation.ts';
import { type ConnectionResult, saveOutcome } from './oauth/operations.ts';
import { connectRemote } from './remote/connect.ts';
import { type Credentials, mergeNamed, readCredentials, storeClientSecret } from './credentials.ts';
import { deleteConnectionRows } from './deletion.ts';
import { McpConnection } from './entity.ts';
import type {
  CreateMcpConnectionInput,
  McpConnectionReference,
  RemoteInput,
  UpdateMcpConnectionInput,
} from './input.ts';
import { revoke } from './oauth/authorization-flow.ts';
import { READ_MCP_CONNECTIONS, WRITE_MCP_CONNECTIONS, loadManaged, requireManager, targetOf } from './policy.ts';
import {
  type McpConnectionList,
  type McpConnectionRow,
  countConnections,
  findConnections,
  findReferenced,
  pageOfConnections,
} from './queries.ts';
import { mcpConnectionTopic } from './topics.ts';
import { clientOf } from './oauth/client.ts';
import { applyUpdate } from './connection-changes.ts';

const connectionNameTaken = ({ name = '' }: { name?: string }) => nameTaken(name, 'another MCP connection');

const CONFLICTS = {
  mcp_connection_shared_name_unique: connectionNameTaken,
  mcp_connection_personal_name_unique: connectionNameTaken,
};

const CREATION = {
  access: WRITE_MCP_CONNECTIONS,
  operation: 'createMcpConnection',
  target: ({ connection }: ConnectionResult) => targetOf(connection),
  conflicts: CONFLICTS,
};

/**
 * Registers a connection. A stdio command is stored and never run. A remote server is called first, outside any
 * transaction: it is connected at once, or an authorization is started. When the server fails, nothing is stored.
 * @throws ForbiddenError for a shared connection when the caller is not an administrator; ConflictError when the name is taken;
 * RemoteFailedError.
 */
export const createMcpConnection = guarded(
  WRITE_MCP_CONNECTIONS,
  async (context: OperationContext, input: CreateMcpConnectionInput): Promise<ConnectionResult> => {
    const organization = requireManager(context.actor, input.visibility);
    if (input.type === 'stdio') return storeStdio(context, input);
    await refuseTakenName(context, organization, input);
    const outcome = await connectRemote(context, context.outbound.begin(), serverOf(input), credentialsOf(input));
    return write(async (inner, { headers = {}, clientSecret }: RemoteInput) => {
      const connection = newConnection(inner, organization, input);
      inner.em.persist(connection);
      // The row must be inserted before the rows that refer to it.
      await inner.em.flush();
      connection.headerKeys = await mergeNamed(inner.em, inner.secrets, connection, {
        kind: 'header',
        changes: headers,
        names: [],
      });
      if (clientSecret !== undefined) await storeClientSecret(inner.em, inner.secrets, connection, clientSecret);
      return { connection, authorizationUrl: await saveOutcome(inner, connection, outcome, context.actor) };
    }, CREATION)(context, input);
  },
);

const storeStdio = write(
  async (context, input: Extract<CreateMcpConnectionInput, { type: 'stdio' }>): Promise<ConnectionResult> => {
    const { em, secrets, actor } = context;
    const connection = newConnection(context, requireOrganization(actor), input);
    em.persist(connection);
    await em.flush();
    connection.envKeys = await mergeNamed(em, secrets, connection, {
      kind: 'env',
      changes: input.env ?? {},
      names: [],
    });
    return { connection, authorizationUrl: null };
  },
  CREATION,
);

/** An early check, so that no server is called in vain. The unique constraints give the final answer. */
async function refuseTakenName(
  { em, actor }: OperationContext,
  { id }: ActingOrganization,
  { name, visibility }: CreateMcpConnectionInput,
): Promise<void> {
  const taken = await em.fork().count(McpConnection, {
    organization: id,
    name,
    visibility,
    ...(visibility === 'personal' && { owner: actor.userId }),
  });
  if (taken > 0) throw connectionNameTaken({ name });
}

function serverOf({ serverUrl, authType, clientId, scope }: RemoteInput) {
  return {
    serverUrl,
    authType,
    clientId: clientId ?? null,
    scope: scope ?? null,
    challengedScope: null,
    grantedScopes: null,
    authorizationServer: null,
  };
}

function credentialsOf({ headers = {}, clientSecret }: RemoteInput): Credentials {
  return { headers, clientSecret, registration: undefined, tokens: undefined };
}

function newConnection(
  { em, actor, now, newId }: OperationContext,
  organization: ActingOrganization,
  input: CreateMcpConnectionInput,
): McpConnection {
  const isStdio = input.type === 'stdio';
  const remote = isStdio ? undefined : input;
  const at = now();
  return em.create(McpConnection, {
    id: newId(),
    organization: organization.id,
    owner: actor.userId,
    name: input.name,
    type: input.type,
    visibility: input.visibility,
    command: isStdio ? input.command : null,
    args: isStdio ? input.args : null,
    envKeys: [],
    serverUrl: remote?.serverUrl ?? null,
    authType: remote?.authType ?? null,
    headerKeys: [],
    clientId: remote?.clientId ?? null,
    oauthRegistration: remote?.authType === 'oauth' ? (remote.oauthRegistration ?? 'automatic') : null,
    scope: remote?.scope ?? null,
    status: isStdio ? 'STORED' : 'AUTHORIZATION_REQUIRED',
    createdAt: at,
    updatedAt: at,
  });
}

/**
 * Changes a connection without calling a server. A new address or a new client deletes the authorization, because credentials must never be
 * sent to another server.
 * @throws ConflictError when the connection or its status was changed since `expectedUpdatedAt`.
 */
export const updateMcpConnection = guarded(
  WRITE_MCP_CONNECTIONS,
  async (context: OperationContext, input: UpdateMcpConnectionInput): Promise<McpConnection> => {
    const connection = await update(context, input);
    context.notifier.publish(mcpConnectionTopic(connection.id));
    return connection;
  },
);

const update = write(
  async (context, input: UpdateMcpConnectionInput) => {
    const connection = await loadManaged(context.em, context.actor, input.mcpConnectionId, { lock: true });
    requireUnchanged(connection, input);
    const { mcpConnectionId: _id, expectedUpdatedAt: _expected, ...changes } = input;
    if (isEmptyUpdate(changes)) return unchanged(connection);
    await applyUpdate(context, connection, changes);
    return connection;
  },
  { access: WRITE_MCP_CONNECTIONS, operation: 'updateMcpConnection', target: targetOf, conflicts: CONFLICTS },
);

/** Deletes a connection with all its secrets, then revokes its tokens if the authorization server supports that (RFC 7009). */
export const deleteMcpConnection = guarded(
  WRITE_MCP_CONNECTIONS,
  async (context: OperationContext, { mcpConnectionId }: McpConnectionReference): Promise<McpConnection> => {
    const { connection, credentials } = await remove(context, { mcpConnectionId });
    context.notifier.publish(mcpConnectionTopic(connection.id));
    const { tokens, registration, clientSecret } = credentials;
    const server = connection.authorizationServer;
    const client = clientOf(connection, server, registration, clientSecret);
    if (server && client && tokens)
      await revoke(context.outbound.begin(REVOCATION_MS), server, client, tokens.refreshToken ?? tokens.accessToken);
    return connection;
  },
);

/** Maximum time for the revocation. The connection is already deleted, so the answer does not wait longer for a slow server. */
const REVOCATION_MS = 5_000;

const remove = write(
  async ({ em, actor, secrets }, { mcpConnectionId }: McpConnectionReference) => {
    const connection = await loadManaged(em, actor, mcpConnectionId, { lock: true });
    const credentials = await readCredentials(em, secrets, connection.id);
    await deleteConnectionRows(em, [connection.id]);
    return { connection, credentials };
  },
  { access: WRITE_MCP_CONNECTIONS, operation: 'deleteMcpConnection', target: ({ connection }) => targetOf(connection) },
);

/** The connections with these ids that the caller can see. */
export const readMcpConnections = guarded(
  READ_MCP_CONNECTIONS,
  (
    context: OperationContext,
    ids: readonly McpConnectionId[],
    selected?: Columns<McpConnectionRow>,
  ): Promise<McpConnectionRow[]> => findConnections(context, ids, selected),
);

/** Reads one connection. @throws NotFoundError when the caller cannot see it. */
export const readMcpConnection = guarded(
  READ_MCP_CONNECTIONS,
  async (context: OperationContext, { mcpConnectionId }: McpConnectionReference): Promise<McpConnectionRow> => {
    const [row] = await findConnections(context, [mcpConnectionId]);
    if (!row) throw notFound('MCP connection');
    return row;
  },
);

/**
 * Lists the connections of the acting organization that the caller can see, by name by default.
 * @throws ValidationError (400) when another organization is given.
 */
export const listMcpConnections = guarded(
  READ_MCP_CONNECTIONS,
  async (
    context: OperationContext,
    { organizationId, page, ...list }: McpConnectionList & { organizationId?: OrganizationId; page: PageArguments },
    selected?: Columns<McpConnectionRow>,
  ): Promise<CountedPage<McpConnectionRow>> => {
    requireOrganization(context.actor, organizationId);
    return {
      page: await pageOfConnections(context, list, page, selected),
      total: () => countConnections(context, list.filter),
    };
  },
);

/**
 * Resolves references to ids of connections, without duplicates and in the given order. A reference is an id, or a name that exactly one
 * visible connection has. Names require the scope for reading, because names could be guessed otherwise.
 * @throws ForbiddenError (403) for a name without that scope; ValidationError for every reference that cannot be resolved.
 */
export async function resolveMcpConnections(
  context: OperationContext,
  references: readonly string[],
  path: string,
): Promise<McpConnectionId[]> {
  if (references.length === 0) return [];
  const isNamed = references.some((reference) => !isUuid(reference));
  if (isNamed && !hasAccess(context.actor, READ_MCP_CONNECTIONS))
    throw new ForbiddenError(`${path}: an API key without the scope mcp_connections.read must give ids, not names`);
  const known = await findReferenced(context, references);
  const ids = new Set(known.map(({ id }) => id));
  const named = groupBy(known, ({ name }) => name);
  const resolved = references.map((reference) => {
    const id = reference.toLowerCase();
    return ids.has(id) ? [id] : (named.get(reference) ?? []).map((connection) => connection.id);
  });
  const faults = resolved.flatMap((found, index) =>
    found.length === 1 ? [] : [referenceFault(references[index] ?? '', found, [path, String(index)])],
  );
  if (faults.length > 0) throw new ValidationError(faults);
  return [...new Set(resolved.flat())];
}

function referenceFault(reference: string, found: readonly string[], path: readonly string[]): InputFault {
  return found.length === 0
    ? {
        path,
        code: 'NOT_FOUND',
        message: `${reference} is neither the id nor the name of an MCP connection that you can see`,
      }
    : {
        path,
        code: 'NOT_ALLOWED',
        message: `${reference} is the name of ${found.length} MCP connections; give an id: ${found.join(' or ')}`,
      };
}
