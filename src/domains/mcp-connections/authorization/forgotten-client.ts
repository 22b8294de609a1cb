import type { WorkContext } from '../../../core/operation.ts';
import { forgetRegistration } from '../credentials.ts';
import type { McpConnection } from '../entity.ts';
import { RefusedError } from '../remote/errors.ts';
import type { OAuthClient } from './authorization-server.ts';
import { clientMetadataUrlOf } from './client.ts';

/** Clients that an authorization server does not know, or no longer. */

/** Codes of refusals that another client would get too (RFC 6749, section 4.1.2.1; RFC 8707; OpenID Connect Core, section 3.1.2.6). */
const NOT_OF_CLIENT: ReadonlySet<string> = new Set([
  'access_denied',
  'consent_required',
  'interaction_required',
  'invalid_grant',
  'invalid_scope',
  'invalid_target',
  'login_required',
  'server_error',
  'temporarily_unavailable',
]);

/**
 * Whether an authorization was refused because of its client. Servers that do not know a client say so in many ways, and a new registration
 * is harmless, so every other reason counts.
 * @param answered The code of the authorization response.
 */
export function isRefusalOfClient(error: unknown, answered: string | undefined): boolean {
  if (answered !== undefined) return !NOT_OF_CLIENT.has(answered);
  return error instanceof RefusedError && !error.isTemporary && !NOT_OF_CLIENT.has(error.errorCode ?? '');
}

/**
 * Forgets a client that was registered dynamically, so that the next authorization registers another one. If it is the client id metadata
 * document, the next authorization uses dynamic registration instead.
 */
export async function forgetClient(
  { em, settings }: Pick<WorkContext, 'em' | 'settings'>,
  connection: McpConnection,
  client: OAuthClient | undefined,
): Promise<void> {
  await forgetRegistration(em, connection);
  if (isMetadataDocument(settings, client)) refuseMetadataDocument(connection);
}

export const isMetadataDocument = (settings: WorkContext['settings'], client: OAuthClient | undefined): boolean =>
  client?.client_id === clientMetadataUrlOf(settings);

export function refuseMetadataDocument(connection: McpConnection): void {
  const server = connection.authorizationServer;
  if (server) connection.authorizationServer = { ...server, refusesMetadataDocument: true };
}
