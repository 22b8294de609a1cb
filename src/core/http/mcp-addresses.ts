import { memberOf } from '../text/json-scanner.ts';

/** The addresses of the gateway for MCP clients, and the messages that are sent to them. */

const ADDRESS = /^\/(?:v1\/(?:mcp-connections\/[^/]+\/|sessions\/[^/]+\/)?)?mcp$/;

export const isMcpAddress = (path: string): boolean => ADDRESS.test(path);

/** Some clients write the address with a slash at the end. */
export const withoutMcpSlash = (path: string): string => (path.endsWith('/mcp/') ? path.slice(0, -1) : path);

/** Longer ids are refused. */
const MAX_ID = 1000;

/** The id of a JSON-RPC message; null if it has none. */
export function messageIdIn(body: Uint8Array): string | number | null {
  try {
    const text = memberOf(Buffer.from(body).toString(), 'id') ?? '';
    // Each character can be an escape of six.
    const id: unknown = text.length > 6 * MAX_ID + 2 ? null : JSON.parse(text);
    return typeof id === 'number' || (typeof id === 'string' && id.length <= MAX_ID) ? id : null;
  } catch {
    return null;
  }
}

/** The addresses that access tokens are for. A token is refused at every other address. */

/** The resource of the recorder has all paths below it, except those of MCP clients. */
export const RECORDING_RESOURCE = '/v1/sessions';

/** The resource of front ends has the REST paths of both APIs, too, except those of MCP clients. */
export const FRONT_END_RESOURCE = '/graphql';

export const isFrontEndPath = (path: string): boolean =>
  !isMcpAddress(withoutMcpSlash(path)) && /^\/(?:graphql$|v1\/|events\/)/.test(path);

/** The path of the resource that a request belongs to; undefined for that of front ends, and where no grants are accepted. */
export function resourceOf(path: string): string | undefined {
  if (isMcpAddress(path)) return path;
  return path === RECORDING_RESOURCE || path.startsWith(`${RECORDING_RESOURCE}/`) ? RECORDING_RESOURCE : undefined;
}
