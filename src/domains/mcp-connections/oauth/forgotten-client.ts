import type { WorkContext } from '../../../core/operation.ts';
import { forgetRegistration } from '../credentials.ts';
import type { McpConnection } from '../entity.ts';
import type { OAuthClient } from './authorization-server.ts';
import { clientMetadataUrlOf } from './gateway-client.ts';

/** Clients that an authorization server does not know, or no longer. */

/** Codes of errors that say so (RFC 6749, sections 4.1.2.1 and 5.2). */
export const UNKNOWN_CLIENT: ReadonlySet<string | undefined> = new Set(['invalid_client', 'unauthorized_client']);

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

export function isMetadataDocument(settings: WorkContext['settings'], client: OAuthClient | undefined): boolean {
  return client?.client_id === clientMetadataUrlOf(settings);
}

export function refuseMetadataDocument(connection: McpConnection): void {
  const server = connection.authorizationServer;
  if (server) connection.authorizationServer = { ...server, refusesMetadataDocument: true };
}
