import { isObject } from '../../core/is-object.ts';
import { JsonBoundError, memberOf, membersOf } from '../../core/text/json-scanner.ts';
import { FREE_JSON, parseWithin } from '../../core/text/json-slices.ts';

/** A JSON-RPC message that a client sends (JSON-RPC 2.0, section 4). */
export interface Message {
  /** Undefined for a notification or a response. Null is not allowed by MCP, and treated like a missing id. */
  readonly id: unknown;
  /** Undefined for a response. */
  readonly method: string | undefined;
  readonly params: Readonly<Record<string, unknown>>;
  readonly document: Readonly<Record<string, unknown>>;
  /** The message as it came. */
  readonly text: string;
}

/** The notification with which a client cancels a request. */
export const CANCELED = 'notifications/cancelled';

/** Error codes of JSON-RPC and of MCP. */
export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const INVALID_PARAMS = -32602;
/** A header disagrees with the body (MCP 2026-07-28, Streamable HTTP). */
export const HEADER_MISMATCH = -32020;
/** The range for errors of implementations. */
export const SERVER_ERROR = -32000;
export const SESSION_NOT_FOUND = -32001;

/** A fault of the client, answered as a JSON-RPC error with this status. */
export class MessageFault extends Error {
  readonly code: number;
  readonly id: unknown;
  readonly status: number;

  constructor(code: number, message: string, { id, status = 400 }: { id?: unknown; status?: number } = {}) {
    super(message);
    this.code = code;
    this.id = id;
    this.status = status;
  }
}

/** Maximum length of an id, in characters. */
const MAX_ID = 1000;

const decoder = new TextDecoder('utf-8', { fatal: true });

/** @throws MessageFault unless the bytes are one JSON-RPC message. */
export async function parseMessage(body: Uint8Array): Promise<Message> {
  let [text, document]: [string, unknown] = ['', undefined];
  try {
    text = decoder.decode(body);
    document = await parseWithin(text, FREE_JSON);
  } catch (error) {
    if (error instanceof JsonBoundError) throw new MessageFault(INVALID_REQUEST, `the body ${error.message}`);
    throw new MessageFault(PARSE_ERROR, 'the body is not well-formed JSON in UTF-8');
  }
  if (!isObject(document) || document['jsonrpc'] !== '2.0')
    throw new MessageFault(INVALID_REQUEST, 'the body must be one JSON-RPC 2.0 message; batches are not supported');
  const { id = null, method, params } = document;
  // A client that writes null for a missing id sends a notification so.
  if (document['id'] === null && typeof method === 'string' && !method.startsWith('notifications/'))
    throw new MessageFault(INVALID_REQUEST, 'id: must not be null; MCP allows a number or a string');
  // Every event of a stream is compared with it.
  if (id !== null && typeof id !== 'number' && !(typeof id === 'string' && id.length <= MAX_ID))
    throw new MessageFault(INVALID_REQUEST, `id: must be a number, or a string of at most ${MAX_ID} characters`);
  return {
    id: id ?? undefined,
    method: typeof method === 'string' ? method : undefined,
    params: isObject(params) ? params : {},
    document,
    text,
  };
}

/** A message of a server, of which only the members are read. What is in them, of any depth and width, stays text. */
export interface ServerMessage {
  readonly text: string;
  readonly isJsonRpc: boolean;
  /** An id that no client has sent is undefined. */
  readonly id: unknown;
  /** Undefined for a response. */
  readonly method: string | undefined;
  readonly result: string | undefined;
  readonly error: string | undefined;
}

/** Undefined for a text that is no JSON object. */
export function readServerMessage(text: string): ServerMessage | undefined {
  const members = new Map<string, string>();
  try {
    for (const { name, text: value } of membersOf(text)) if (MEMBERS.has(name)) members.set(name, value);
  } catch {
    return undefined;
  }
  return {
    text,
    isJsonRpc: members.get('jsonrpc') === '"2.0"',
    id: valueIn(members.get('id')),
    method: methodIn(members.get('method')),
    result: members.get('result'),
    error: members.get('error'),
  };
}

const MEMBERS = new Set(['jsonrpc', 'id', 'method', 'result', 'error']);
/** Each character can be an escape of six. */
const MAX_VALUE_TEXT = 6 * MAX_ID + 2;

function methodIn(text: string | undefined): string | undefined {
  const method = valueIn(text);
  return typeof method === 'string' ? method : undefined;
}

/** The value of a short text that is no object and no list. */
function valueIn(text = ''): unknown {
  if (text.length > MAX_VALUE_TEXT || /^[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A JSON-RPC error response. */
export const errorText = (id: unknown, code: number, message: string, data?: object): string =>
  JSON.stringify({ jsonrpc: '2.0', id: id ?? null, error: { code, message, ...(data && { data }) } });

/** Which of the outcomes the response of a server is. */
export function outcomeIn(message: ServerMessage | undefined): 'OK' | 'TOOL_ERROR' | 'JSON_RPC_ERROR' {
  if (!message || message.error?.startsWith('{') === true) return 'JSON_RPC_ERROR';
  try {
    return memberOf(message.result ?? '', 'isError') === 'true' ? 'TOOL_ERROR' : 'OK';
  } catch {
    return 'OK';
  }
}

/** The same for a parsed response. A result of a tool says itself that the tool has failed. */
export function outcomeOf({ result }: { readonly result?: unknown }): 'OK' | 'TOOL_ERROR' | 'JSON_RPC_ERROR' {
  if (!isObject(result)) return 'JSON_RPC_ERROR';
  return result['isError'] === true ? 'TOOL_ERROR' : 'OK';
}

/** Whether a message is the response to the request with this id. */
export function isResponseTo(id: unknown, message: ServerMessage | undefined): message is ServerMessage {
  const isResponse = (message?.result ?? message?.error) !== undefined;
  return isResponse && (message?.id === id || message?.id === null);
}
