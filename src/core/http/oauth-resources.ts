import { isMcpAddress } from './mcp-addresses.ts';

/** The addresses that access tokens are for. A token is refused at every other address. */

/** The resource of the recorder has all paths below it, except those of MCP clients. */
export const RECORDING_RESOURCE = '/v1/sessions';

/** The path of the resource that a request belongs to; undefined where grants are not accepted. */
export function resourceOf(path: string): string | undefined {
  if (isMcpAddress(path)) return path;
  return path === RECORDING_RESOURCE || path.startsWith(`${RECORDING_RESOURCE}/`) ? RECORDING_RESOURCE : undefined;
}
