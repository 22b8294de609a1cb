import { enumValue, wording } from '../../core/text/wording.ts';
import { ValidationError, invalid } from '../../core/errors.ts';
import type { NoFields } from '../../core/keys-of.ts';
import type { OperationContext } from '../../core/operation.ts';
import { forgetRegistration, forgetSecrets, forgetTokens, mergeNamed, storeClientSecret } from './credentials.ts';
import type { AuthType, McpConnection } from './entity.ts';
import type { UpdateMcpConnectionInput } from './input.ts';

const OF_STDIO: readonly string[] = ['command', 'args', 'env'];
const OF_REMOTE: readonly string[] = ['serverUrl', 'headers', 'clientId', 'clientSecret', 'scope'];
const OF_AUTH: Readonly<Record<AuthType, readonly string[]>> = {
  oauth: ['serverUrl', 'clientId', 'clientSecret', 'scope'],
  client_credentials: ['serverUrl', 'clientId', 'clientSecret', 'scope'],
  static_headers: ['serverUrl', 'headers'],
};

/** Fields that are null in answers of the other type. Null is accepted for that type, and refused for their own. */
const NEVER_NULL: ReadonlySet<string> = new Set(['command', 'args', 'serverUrl']);

/**
 * Applies changes to a locked connection, in the caller's transaction.
 * @throws ValidationError for fields of another type or authType, and when all headers would be removed.
 */
export async function applyUpdate(
  { em, secrets, now }: OperationContext,
  connection: McpConnection,
  changes: Omit<UpdateMcpConnectionInput, 'mcpConnectionId' | 'expectedUpdatedAt'>,
): Promise<void> {
  refuseStrangeFields(connection, changes);
  const { name, command, args, env, serverUrl, scope, headers, clientId, clientSecret, ...others } = changes;
  others satisfies NoFields;
  if (name !== undefined) connection.name = name;
  if (command != null) connection.command = command;
  if (args != null) connection.args = args;
  if (env)
    connection.envKeys = await mergeNamed(em, secrets, connection, {
      kind: 'env',
      changes: env,
      names: connection.envKeys,
    });
  const moves = serverUrl != null && serverUrl !== connection.serverUrl;
  if (moves) await leaveServer({ em }, connection, serverUrl);
  if (scope !== undefined) {
    connection.scope = scope;
    // The granted scopes stay usable until the next authorization, which then requests the new scope.
    if (connection.authType === 'oauth' && connection.grantedScopes) connection.challengedScope = scope;
    else if (connection.authType === 'client_credentials') await forgetTokens(em, connection);
  }
  if (headers) {
    connection.headerKeys = await mergeNamed(em, secrets, connection, {
      kind: 'header',
      changes: headers,
      names: connection.headerKeys,
    });
    if (connection.headerKeys.length === 0) throw invalid('headers', 'must leave at least one header', 'TOO_FEW', 1);
  }
  await changeClient({ em, secrets }, connection, { clientId, clientSecret });
  if (connection.type === 'remote' && (moves || headers || clientId !== undefined || clientSecret !== undefined)) {
    connection.stop('AUTHORIZATION_REQUIRED', 'the connection was changed; authorize it again to connect', now());
  }
  connection.listVersion += 1;
  connection.updatedAt = now();
}

/** A new client or a new secret deletes what the authorization server issued to the old one. */
async function changeClient(
  { em, secrets }: Pick<OperationContext, 'em' | 'secrets'>,
  connection: McpConnection,
  { clientId, clientSecret }: Pick<UpdateMcpConnectionInput, 'clientId' | 'clientSecret'>,
): Promise<void> {
  if (clientId !== undefined && clientId !== connection.clientId) {
    connection.clientId = clientId;
    await forgetSecrets(em, connection, 'client_secret');
    await forgetAuthorization({ em }, connection);
  }
  if (clientSecret !== undefined) {
    await storeClientSecret(em, secrets, connection, clientSecret);
    if (connection.authType === 'client_credentials') await forgetAuthorization({ em }, connection);
  }
}

/** Deletes all credentials when the address changes, so that they are never sent to another server. */
async function leaveServer(
  { em }: Pick<OperationContext, 'em'>,
  connection: McpConnection,
  serverUrl: string,
): Promise<void> {
  connection.serverUrl = serverUrl;
  connection.headerKeys = [];
  connection.challengedScope = null;
  await forgetSecrets(em, connection);
  await forgetAuthorization({ em }, connection);
}

async function forgetAuthorization({ em }: Pick<OperationContext, 'em'>, connection: McpConnection): Promise<void> {
  await forgetTokens(em, connection);
  await forgetRegistration(em, connection);
  connection.authorizationServer = null;
}

function refuseStrangeFields(connection: McpConnection, changes: object): void {
  const { type, authType } = connection;
  const strange: readonly string[] =
    type === 'stdio'
      ? OF_REMOTE
      : [...OF_STDIO, ...OF_REMOTE.filter((field) => authType != null && !OF_AUTH[authType].includes(field))];
  const kind = type === 'stdio' ? 'a stdio connection' : wording`authType ${enumValue(String(authType))}`;
  const ruleFor = (field: string, value: unknown) => {
    const isStrange = strange.includes(field);
    if (value === null)
      return !isStrange && NEVER_NULL.has(field)
        ? { code: 'REQUIRED' as const, message: 'must not be null' }
        : undefined;
    if (value === undefined || !isStrange) return undefined;
    const other = OF_STDIO.includes(field) ? 'a remote connection' : kind;
    return { code: 'CONFLICTING' as const, message: wording`must not be given for ${other}` };
  };
  const faults = Object.entries(changes).flatMap(([field, value]: [string, unknown]) => {
    const broken = ruleFor(field, value);
    return broken === undefined ? [] : [{ path: [field], ...broken }];
  });
  if (faults.length > 0) throw new ValidationError(faults);
}
