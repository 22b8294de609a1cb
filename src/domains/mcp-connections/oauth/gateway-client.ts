import type { WorkContext } from '../../../core/operation.ts';

/** The addresses of the gateway as an OAuth client. */

export const CALLBACK_PATH = '/v1/mcp-connections/oauth/callback';
export const CLIENT_METADATA_PATH = '/v1/mcp-connections/oauth/client-metadata.json';

/** The URL of the client id metadata document, which is also the client id. */
export function clientMetadataUrlOf({ clientMetadataUrl, publicUrl }: WorkContext['settings']): string {
  return clientMetadataUrl ?? publicUrl + CLIENT_METADATA_PATH;
}
