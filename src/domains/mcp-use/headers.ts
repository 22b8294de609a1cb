import type { HttpHeaders } from '../../core/http/messages.ts';
import { HEADER_MISMATCH, type Message, MessageFault } from './message.ts';
import type { McpConnectionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { SecretError, type SecretPlace } from '../../core/secrets/secrets.ts';

/** The headers of a client that are forwarded to the server, in lower case. All others stay here, such as the API key and cookies. */
const FORWARDED: ReadonlySet<string> = new Set([
  'content-type',
  'accept',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
  'last-event-id',
  'traceparent',
]);
const PARAMETER_PREFIX = 'mcp-param-';

/** The first generation of the protocol without sessions, which repeats parts of the body in headers. */
export const MODERN_VERSION = '2026-07-28';
const VERSION_HEADER = 'mcp-protocol-version';
export const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';

/** The member of `params` that `Mcp-Name` repeats, by method (MCP 2026-07-28, Streamable HTTP). */
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/** The headers for the server, without credentials. `Mcp-Method` and `Mcp-Name` are added if a client of the newest generation omits them. */
export function forwardedHeaders(headers: HttpHeaders, message: Message | undefined): Record<string, string> {
  const forwarded: Record<string, string> = {};
  for (const name of headers.keys()) {
    const value = FORWARDED.has(name) || name.startsWith(PARAMETER_PREFIX) ? headers.get(name) : null;
    if (value !== null) forwarded[name] = value;
  }
  if (message?.method !== undefined && isModern(headers, message))
    for (const [name, value] of Object.entries(repeatedIn(message))) forwarded[name] ??= encodeValue(value);
  return forwarded;
}

/** Whether the message is of the generation without sessions. */
export function isModern(headers: HttpHeaders, { params }: Message): boolean {
  const meta = params['_meta'];
  const inBody = typeof meta === 'object' && meta !== null && VERSION_KEY in meta ? meta[VERSION_KEY] : undefined;
  const version = typeof inBody === 'string' ? inBody : headers.get(VERSION_HEADER);
  return version !== null && version >= MODERN_VERSION;
}

/** @throws MessageFault if a header names another method or another object than the body, which alone decides what is allowed. */
export function requireAgreement(headers: HttpHeaders, message: Message): void {
  const repeated: Readonly<Record<string, string | undefined>> = repeatedIn(message);
  for (const name of ['mcp-method', 'mcp-name']) {
    const given = headers.get(name);
    if (given !== null && message.method !== undefined && decodeValue(given) !== repeated[name])
      throw new MessageFault(HEADER_MISMATCH, `the header ${name} does not agree with the body`, { id: message.id });
  }
}

function repeatedIn({ method, params }: Message): Record<string, string> {
  if (method === undefined) return {};
  const source = Object.hasOwn(NAMED_BY, method) ? NAMED_BY[method] : undefined;
  const name = source === undefined ? undefined : params[source];
  return { 'mcp-method': method, ...(typeof name === 'string' && { 'mcp-name': name }) };
}

const ENCODED = /^=\?base64\?(.*)\?=$/s;

/** A text as the value of a header: as it is if that is safe, else in Base64 (MCP 2026-07-28, Streamable HTTP). */
export function encodeValue(text: string): string {
  const isPlain = /^[\x21-\x7E](?:[\t\x20-\x7E]*[\x21-\x7E])?$/.test(text) && !ENCODED.test(text);
  return isPlain ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
}

function decodeValue(value: string): string {
  const encoded = ENCODED.exec(value)?.[1];
  return encoded === undefined ? value : Buffer.from(encoded, 'base64').toString();
}

/**
 * Sessions of the protocol generations up to 2025-11-25. The client gets the session id of the server encrypted, bound to its API key and the
 * connection. Nothing is stored, so any process can serve the session.
 */

export const SESSION_HEADER = 'Mcp-Session-Id';

const placeOf = ({ actor }: OperationContext, connectionId: McpConnectionId): SecretPlace => ({
  table: 'mcp_session',
  row: `${connectionId} ${actor.keyId}`,
  field: 'id',
});

export const sealSessionId = (context: OperationContext, id: McpConnectionId, sessionId: string): Promise<string> =>
  context.secrets.seal(sessionId, placeOf(context, id));

/** The session id of the server. Undefined for an id that was not given to this API key for this connection. */
export async function openSessionId(
  context: OperationContext,
  id: McpConnectionId,
  sealed: string,
): Promise<string | undefined> {
  try {
    return await context.secrets.open(sealed, placeOf(context, id));
  } catch (error) {
    if (error instanceof SecretError) return undefined;
    throw error;
  }
}
