import {
  ConflictError,
  ForbiddenError,
  type InputFault,
  NotFoundError,
  RemoteFailedError,
  ValidationError,
  nameTaken,
  notFound,
} from '../../core/errors.ts';
import { sentences } from '../../core/text/wording.ts';
import { isEmptyUpdate, requireUnchanged } from '../../core/input/expected-version.ts';
import { publishToFeed } from '../../core/feed.ts';
import { groupBy } from '../../core/arrays.ts';
import { type McpConnectionId, isUuid } from '../../core/ids.ts';
import { type ActingOrganization, hasAccess, requireOrganization } from '../../core/access.ts';
import { type OperationContext, defineOperation, guarded, unchanged } from '../../core/operation.ts';
import { type ConnectionResult, saveOutcome } from './authorization/operations.ts';
import { connectRemote } from './remote/connect.ts';
import { type Credentials, mergeNamed, readCredentials, storeClientSecret } from './credentials.ts';
import { deleteConnectionRows } from './deletion.ts';
import { McpConnection } from './entity.ts';
import {
  type CreateMcpConnectionInput,
  type RemoteInput,
  type StdioInput,
  createMcpConnectionInput,
  mcpConnectionReference,
  updateMcpConnectionInput,
} from './input.ts';
import { revoke } from './authorization/authorization-flow.ts';
import {
  ADMINS_MANAGE_SHARED,
  READ_MCP_CONNECTIONS,
  WRITE_MCP_CONNECTIONS,
  feedSubjectOf,
  loadManaged,
  requireKnownRules,
  requireManager,
  targetOf,
} from './policy.ts';
import { MCP_CONNECTIONS, findReferenced } from './queries.ts';
import { mcpConnectionTopic } from './topics.ts';
import { clientOf } from './authorization/client.ts';
import { applyUpdate } from './connection-changes.ts';
import {
  freeHandle,
  handleTaken,
  lockHandles,
  requireFreeHandle,
  requireReuser,
  reserveHandle,
} from './connection-handle.ts';
import { type NewSettings, groupsIn } from './settings-input.ts';
import { requireGroups } from '../groups/public.ts';
import { type NoFields, givenNames } from '../../core/keys-of.ts';

const connectionNameTaken = ({ name = '' }: { name?: string }) => nameTaken(name, 'another MCP connection');

const CONFLICTS = {
  mcp_connection_shared_name_unique: connectionNameTaken,
  mcp_connection_personal_name_unique: connectionNameTaken,
};

/**
 * A remote server is called before the transaction.
 * @throws ForbiddenError for a shared connection when the caller is not an administrator.
 */
export const createMcpConnection = defineOperation({
  name: 'createMcpConnection',
  description: sentences(
    'Creates an MCP connection. A stdio command is stored and never run. A remote server is called at once: it is connected, or an authorization is started and `authorizationUrl` is set. When the server fails, nothing is stored.',
    ADMINS_MANAGE_SHARED,
  ),
  access: WRITE_MCP_CONNECTIONS,
  input: createMcpConnectionInput,
  errors: [ConflictError, RemoteFailedError],
  callsOut: true,
  prepare: async (context, input) => {
    const organization = requireManager(context.actor, input.visibility);
    requireReuser(context.actor, input.settings?.reuseHandle);
    if (input.type === 'stdio') return undefined;
    await refuseTakenNames(context, organization, input);
    return connectRemote(context, context.outbound.begin(), serverOf(input), credentialsOf(input), {
      offersOAuth: false,
    });
  },
  run: async (context, input, outcome): Promise<ConnectionResult> => {
    const { em, secrets, actor } = context;
    const organization = requireOrganization(actor);
    await requireKnownRules(context, input.settings);
    await requireGroups(em, organization.id, groupsIn(input.settings, 'settings.'));
    await lockHandles(em, organization.id);
    const handle = await handleFor(context, organization, input);
    const connection = newConnection(context, organization, handle, input);
    em.persist(connection);
    // The row must be inserted before the rows that refer to it.
    await em.flush();
    const store = (kind: 'env' | 'header', changes: Readonly<Record<string, string>> = {}) =>
      mergeNamed(em, secrets, connection, { kind, changes, names: [] });
    if (input.type === 'stdio') connection.envKeys = await store('env', input.env);
    else {
      connection.headerKeys = await store('header', input.headers);
      if (input.clientSecret !== undefined) await storeClientSecret(em, secrets, connection, input.clientSecret);
    }
    return { connection, authorizationUrl: outcome ? await saveOutcome(context, connection, outcome, actor) : null };
  },
  target: ({ connection }) => ({ ...targetOf(connection), detail: connection.visibility }),
  conflicts: {
    ...CONFLICTS,
    mcp_connection_handle_unique: ({ settings }) => newHandleTaken(settings?.handle),
  },
});

const newHandleTaken = (handle = '') => handleTaken(handle, ['settings', 'handle']);

/** An early check, so that no server is called in vain. The unique constraints give the final answer. */
async function refuseTakenNames(
  context: OperationContext,
  { id: organization }: ActingOrganization,
  input: CreateMcpConnectionInput,
): Promise<void> {
  const { em, actor } = context;
  const { name, visibility, settings } = input;
  const owner = visibility === 'personal' && { owner: actor.userId };
  if ((await em.fork().count(McpConnection, { organization, name, visibility, ...owner })) > 0)
    throw connectionNameTaken({ name });
  if (settings?.handle !== undefined) await handleFor({ em: em.fork(), now: context.now }, { id: organization }, input);
}

/** The chosen handle, or one from the name. @throws ConflictError for one that is not free. */
async function handleFor(
  { em, now }: Pick<OperationContext, 'em' | 'now'>,
  { id: organizationId }: Pick<ActingOrganization, 'id'>,
  { name, settings, ...input }: CreateMcpConnectionInput,
): Promise<string> {
  const place = { organizationId, serverUrl: input.type === 'remote' ? input.serverUrl : null, now: now() };
  const { handle, reuseHandle: isReused = false } = settings ?? {};
  if (handle === undefined) return freeHandle(em, place, name);
  await requireFreeHandle(em, { ...place, handle, isReused, path: ['settings', 'handle'] });
  return handle;
}

const serverOf = ({ serverUrl, authType, clientId, scope, settings }: RemoteInput) => ({
  ...settingsOf(settings),
  serverUrl,
  authType,
  clientId: clientId ?? null,
  scope: scope ?? null,
  challengedScope: null,
  grantedScopes: null,
  authorizationServer: null,
});

const credentialsOf = ({ headers = {}, clientSecret }: RemoteInput): Credentials => ({
  headers,
  clientSecret,
  registration: undefined,
  tokens: undefined,
});

/** The settings without the handle. */
const settingsOf = (given: NewSettings | undefined) => ({
  toolPolicy: given?.toolPolicy ?? { mode: 'ALL' as const, names: [] },
  access: given?.access ?? { mode: 'ALL' as const, groupIds: [] },
  toolRules: given?.toolRules ?? [],
  approverGroupIds: given?.approverGroupIds ?? [],
  onToolChange: given?.onToolChange ?? 'ALLOW',
  recordToolCalls: given?.recordToolCalls ?? 'ALL',
  audience: given?.audience ?? null,
  resource: given?.resource ?? null,
  allowMissingPkceMetadata: given?.allowMissingPkceMetadata ?? false,
});

function newConnection(
  { em, actor, now, newId }: OperationContext,
  organization: ActingOrganization,
  handle: string,
  input: CreateMcpConnectionInput,
): McpConnection {
  const at = now();
  return em.create(McpConnection, {
    id: newId(),
    organization: organization.id,
    owner: actor.userId,
    envKeys: [],
    headerKeys: [],
    ...(input.type === 'stdio' ? columnsOfStdio(input) : columnsOfRemote(input)),
    handle,
    ...settingsOf(input.settings),
    createdAt: at,
    updatedAt: at,
  });
}

function columnsOfStdio({ env: _later, settings: _settings, ...columns }: StdioInput) {
  const { type, name, visibility, command, args, ...others } = columns;
  others satisfies NoFields;
  return { type, name, visibility, command, args, status: 'STORED' as const };
}

function columnsOfRemote({ headers: _later, clientSecret: _secret, settings: _settings, ...columns }: RemoteInput) {
  const { type, name, visibility, serverUrl, authType, clientId, oauthRegistration, scope, ...others } = columns;
  others satisfies NoFields;
  return {
    type,
    name,
    visibility,
    serverUrl,
    authType,
    clientId: clientId ?? null,
    oauthRegistration: authType === 'oauth' ? (oauthRegistration ?? 'automatic') : null,
    scope: scope ?? null,
    status: 'AUTHORIZATION_REQUIRED' as const,
  };
}

/** Credentials must never be sent to another server. */
export const updateMcpConnection = defineOperation({
  name: 'updateMcpConnection',
  description: sentences(
    'Updates an MCP connection without calling its server. An absent field does not change. A new `serverUrl` deletes all credentials, and a new `clientId` the authorization. Fields of the other type are refused unless they are null.',
    ADMINS_MANAGE_SHARED,
  ),
  access: WRITE_MCP_CONNECTIONS,
  input: updateMcpConnectionInput,
  errors: [NotFoundError, ConflictError],
  run: async (context, { mcpConnectionId, expectedUpdatedAt, ...changes }) => {
    const connection = await loadManaged(context.em, context.actor, mcpConnectionId, { lock: true });
    requireUnchanged(connection, { expectedUpdatedAt }, { type: 'McpServer', key: connection.id });
    if (isEmptyUpdate(changes)) return unchanged(connection);
    await applyUpdate(context, connection, changes);
    return connection;
  },
  target: (connection, { mcpConnectionId: _id, expectedUpdatedAt: _expected, ...changes }) => ({
    ...targetOf(connection),
    changedFields: givenNames(changes),
  }),
  conflicts: CONFLICTS,
  afterCommit: async ({ notifier }, connection) => {
    notifier.publish(mcpConnectionTopic(connection.id));
    return connection;
  },
});

export const deleteMcpConnection = defineOperation({
  name: 'deleteMcpConnection',
  description: sentences(
    'Deletes an MCP connection with its secrets. It is removed from all sessions, and its tokens are revoked if the authorization server supports that (RFC 7009).',
    ADMINS_MANAGE_SHARED,
  ),
  access: WRITE_MCP_CONNECTIONS,
  input: mcpConnectionReference,
  errors: [NotFoundError],
  callsOut: true,
  run: async ({ em, actor, secrets, newId, now }, { mcpConnectionId }) => {
    const connection = await loadManaged(em, actor, mcpConnectionId, { lock: true });
    await reserveHandle(em, connection, { id: newId(), now: now() });
    const credentials = await readCredentials(em, secrets, connection.id);
    await deleteConnectionRows(em, [connection.id]);
    publishToFeed(em, { ...feedSubjectOf(connection), type: 'mcp_connection.deleted' });
    return { connection, credentials };
  },
  target: ({ connection }) => targetOf(connection),
  afterCommit: async (context, { connection, credentials: { tokens, registration, clientSecret } }) => {
    context.notifier.publish(mcpConnectionTopic(connection.id));
    const server = connection.authorizationServer;
    const client = clientOf(connection, server, registration, clientSecret);
    if (server && client && tokens)
      await revoke(context.outbound.begin(REVOCATION_MS), server, client, tokens.refreshToken ?? tokens.accessToken);
    return connection;
  },
});

/** Maximum time for the revocation. The connection is already deleted, so the answer does not wait longer for a slow server. */
const REVOCATION_MS = 5_000;

/** The connections with these ids that the caller can see. */
export const readMcpConnections = guarded(READ_MCP_CONNECTIONS, MCP_CONNECTIONS.find);

export const readMcpConnection = defineOperation({
  name: 'readMcpConnection',
  description:
    'Reads an MCP connection. The answer contains the names of headers and environment variables, never their values.',
  access: READ_MCP_CONNECTIONS,
  input: mcpConnectionReference,
  errors: [NotFoundError],
  run: async (context, { mcpConnectionId }) => {
    const [row] = await MCP_CONNECTIONS.find(context, [mcpConnectionId]);
    if (!row) throw notFound('MCP connection');
    return row;
  },
});

export const listMcpConnections = defineOperation({
  name: 'listMcpConnections',
  description:
    'Lists the MCP connections that the caller can see, by name by default. These are the shared connections of the organization and their own personal ones.',
  access: READ_MCP_CONNECTIONS,
  run: MCP_CONNECTIONS.read,
});

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

const referenceFault = (reference: string, found: readonly string[], path: readonly string[]): InputFault =>
  found.length === 0
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
