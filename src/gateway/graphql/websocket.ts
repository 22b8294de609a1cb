import { CLOSE_CODES } from '../../core/http/close-codes.ts';
import type { ConnectionInitMessage, Context } from 'graphql-ws';
import { makeServer } from 'graphql-ws';
import { CODE_OF, DomainError } from '../../core/errors.ts';
import type { HttpHeaders, HttpRequest } from '../../core/http/messages.ts';
import { parseBody } from '../../core/http/request-body.ts';
import type { ApiKeyId } from '../../core/ids.ts';
import { isObject } from '../../core/is-object.ts';
import { WORK } from '../../core/work-budget.ts';
import type { SocketPlace } from '../admission/socket-limits.ts';
import { ORGANIZATION_HEADER } from '../request-headers.ts';
import { CLIENT_HEADERS } from './request.ts';
import { Connection, type Socket, type UpgradeRequest, headersOf, requestOf } from './websocket-connection.ts';
import { type OperationParts, refusalOf, startOperation, startedBy } from './websocket-operations.ts';

/**
 * GraphQL over WebSocket (the protocol `graphql-transport-ws`). Each operation runs as a request over HTTP would, through the same function, so
 * that limits, costs, rights, log lines and metrics are the same; its answer becomes messages.
 */

export interface Sockets {
  /** Whether the target of a request is the address for WebSockets. */
  readonly isAt: (target: string) => boolean;
  /** Counts a new socket. @throws DomainError (429) if its client has too many. */
  readonly take: (upgrade: UpgradeRequest) => SocketPlace;
  /** Opens it. @returns a function to call when it is closed. */
  readonly open: (socket: Socket, upgrade: UpgradeRequest) => (code: number, reason: string) => void;
}

/** A caller who was admitted, or the refusal. */
export type Admission =
  | { readonly keyId: ApiKeyId }
  | { readonly status: number; readonly message: string; readonly keyId?: undefined };

export interface SocketParts extends OperationParts, Pick<Sockets, 'take' | 'isAt'> {
  /** Authenticates and counts the caller of a new socket. */
  readonly admit: (request: HttpRequest) => Promise<Admission>;
  /** Whether the caller is still admitted; `true` if it cannot be found out at present. */
  readonly isAdmitted: (headers: HttpHeaders) => Promise<boolean>;
  /** Calls the listener when the key may have been revoked. */
  readonly onKeyChange: (keyId: ApiKeyId, listener: () => void) => () => void;
  /** Maximum time in which a client must send `connection_init`. */
  readonly initTimeoutMs: number;
  readonly maxSocketsOfKey: number;
  /** Called with the change of the number of open sockets. */
  readonly onCount: (by: 1 | -1) => void;
}

/** Members of `connection_init` that replace the header of the same name. */
const INIT_HEADERS = new Set(['authorization', ORGANIZATION_HEADER.toLowerCase(), ...CLIENT_HEADERS]);

/** A close reason has at most 123 bytes. */
const WHERE_THE_KEY_GOES = '; send {"Authorization":"Bearer <key>"} as the payload of connection_init';

type SocketContext = Context<ConnectionInitMessage['payload'], Connection>;

export function createSockets(parts: SocketParts): Sockets {
  const server = makeServer<ConnectionInitMessage['payload'], Connection>({
    connectionInitWaitTimeout: parts.initTimeoutMs,
    onConnect: (context) => connect(context, parts),
    onSubscribe: ({ extra }, _, payload) => startOperation(extra, payload, parts),
    execute: startedBy,
    subscribe: startedBy,
    onOperation: ({ extra }, _, { extensions }) => acknowledge(extra, extensions?.['acknowledge']),
    onNext: ({ extra }, _, __, ___, result) => extra.payloadOf(String(result.extensions?.['json'])),
    onError: ({ extra }, _, __, errors) => {
      const formatted = errors.flatMap(refusalOf);
      if (formatted.some(({ extensions }) => extensions?.['code'] === CODE_OF.unauthenticated))
        void endIfRefused(extra, parts);
      return formatted;
    },
  });
  const open: Sockets['open'] = (socket, upgrade) => {
    const connection = new Connection(socket, upgrade);
    parts.onCount(1);
    const closed = server.opened(
      {
        protocol: socket.protocol,
        send: (message) => connection.send(message),
        close: (code = CLOSE_CODES.INTERNAL_ERROR, reason = '') => socket.close(code, reason),
        onMessage: (listener) => socket.onMessage((text) => receive(connection, text, listener)),
      },
      connection,
    );
    return (code, reason) => {
      parts.onCount(-1);
      connection.close();
      void closed(code, reason);
    };
  };
  return { isAt: parts.isAt, take: parts.take, open };
}

/** Longer tokens are not sent back. */
const MAX_TOKEN_CHARACTERS = 100;

/**
 * Reports that an operation has started, if its client asked for that: a subscription then receives all that happens, so that what the client
 * loads from now on has no gap. The protocol has no such message, but a ping may have a payload.
 */
function acknowledge({ socket }: Connection, token: unknown): void {
  if (typeof token !== 'string' || token.length > MAX_TOKEN_CHARACTERS) return;
  void socket.send(JSON.stringify({ type: 'ping', payload: { acknowledged: token } }));
}

/** Passes a message to the library, unless it breaks a rule that the library does not know. Resolves when the message was read. */
async function receive(
  connection: Connection,
  text: string,
  listener: (message: string) => Promise<void>,
): Promise<void> {
  let message: unknown;
  try {
    message = await connection.inOrder(parseBody(text));
  } catch (error) {
    connection.socket.close(
      CLOSE_CODES.BAD_REQUEST,
      error instanceof DomainError ? error.message : 'Invalid message received',
    );
    return;
  }
  const fault = faultOf(connection, message, text.length);
  if (fault) connection.socket.close(fault.code, fault.reason);
  else listener(forLibrary(message)).catch(() => connection.socket.close(CLOSE_CODES.INTERNAL_ERROR, 'internal error'));
}

/** The library answers a ping at any time, and repeats its payload. */
function faultOf(connection: Connection, message: unknown, length: number) {
  const { type, id }: Readonly<Record<string, unknown>> = isObject(message) ? message : {};
  if (type === 'subscribe')
    return typeof id === 'string' && id.length > WORK.operationIdCharacters
      ? { code: CLOSE_CODES.BAD_REQUEST, reason: `id: must be at most ${WORK.operationIdCharacters} characters` }
      : undefined;
  if (connection.release === undefined && type !== 'connection_init')
    return { code: CLOSE_CODES.UNAUTHORIZED, reason: 'Unauthorized' };
  return length > WORK.socketBytes
    ? {
        code: CLOSE_CODES.BAD_REQUEST,
        reason: `a message that is no operation has at most ${WORK.socketBytes} characters`,
      }
    : undefined;
}

/** The library takes objects too: it would change long numbers, and wants a `query` beside the id of a document. */
function forLibrary(message: unknown): string {
  if (isObject(message) && message['type'] === 'subscribe') {
    const { payload } = message;
    if (isObject(payload)) return { ...message, payload: { ...payload, query: queryOf(payload) } } as unknown as string;
  }
  return message as string;
}

const queryOf = (payload: object): unknown => ('query' in payload && payload.query !== null ? payload.query : '');

async function connect({ extra: connection, connectionParams }: SocketContext, parts: SocketParts): Promise<boolean> {
  const refuse = (code: number, reason: string) => {
    connection.socket.close(code, reason);
    return false;
  };
  for (const [name, value] of Object.entries(connectionParams ?? {})) {
    if (!INIT_HEADERS.has(name.toLowerCase())) continue;
    if (typeof value !== 'string') return refuse(CLOSE_CODES.FORBIDDEN, `${name.toLowerCase()}: must be a string`);
    connection.headers.set(name.toLowerCase(), value);
  }
  const { signal } = new AbortController();
  const headers = new Map(connection.headers).set('upgrade', 'websocket');
  const admission = await parts.admit(requestOf(connection, { signal, headers }));
  if (admission.keyId === undefined)
    return refuse(
      closeCodeOf(admission.status),
      admission.message + (admission.status === 401 ? WHERE_THE_KEY_GOES : ''),
    );
  const { keyId } = admission;
  if (connection.isClosed) return false;
  if (!connection.socket.admit(keyId))
    return refuse(
      CLOSE_CODES.TOO_MANY,
      `at most ${parts.maxSocketsOfKey} WebSockets of an API key at once; close one first`,
    );
  connection.release = parts.onKeyChange(keyId, () => void endIfRefused(connection, parts));
  return true;
}

function closeCodeOf(status: number): number {
  if (status === 429) return CLOSE_CODES.TOO_MANY;
  if (status === 503) return CLOSE_CODES.TRY_AGAIN_LATER;
  return status >= 500 ? CLOSE_CODES.INTERNAL_ERROR : CLOSE_CODES.FORBIDDEN;
}

async function endIfRefused(connection: Connection, { isAdmitted }: SocketParts): Promise<void> {
  if (!(await isAdmitted(headersOf(connection.headers))))
    connection.socket.close(CLOSE_CODES.FORBIDDEN, 'missing or invalid API key');
}
