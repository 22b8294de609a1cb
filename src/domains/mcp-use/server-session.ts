import { randomUUID } from 'node:crypto';
import { RemoteFailedError } from '../../core/errors.ts';
import { isObject } from '../../core/is-object.ts';
import { EventSplitter } from '../../core/outbound/event-splitter.ts';
import { OutboundError } from '../../core/outbound/outbound.ts';
import type { StreamedAnswer } from '../../core/outbound/streamed-answer.ts';
import { VERSION } from '../../core/version.ts';
import { keepGeneration, keptGeneration, noteUse } from '../mcp-connections/public.ts';
import { type Call, Deadline } from './server-call.ts';
import { MODERN_VERSION, SESSION_HEADER, VERSION_KEY, encodeValue } from './headers.ts';
import { noteNotification } from './listings.ts';
import { CANCELED, MessageFault, type ServerMessage, isResponseTo, readServerMessage } from './message.ts';
import { UpstreamError } from './errors.ts';
import {
  MAX_ANSWER_BYTES,
  answerTooLarge,
  brokenAnswer,
  isEventStream,
  parseResponse,
  readAnswer,
  requireProtocol,
  responseIn,
  sendUpstream,
  tooManyEvents,
} from './upstream.ts';

/** The gateway as a client of a server, of both generations of the protocol. Results are not interpreted, so nothing in them is lost. */

export interface ServerResponse {
  readonly id?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
  /** The response as the server sent it. */
  readonly text: string;
  /** The size of the answer. */
  readonly bytes: number;
}

interface RequestOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** The id of the request; by default one is made. */
  readonly id?: string | number;
  /** Called with each notification that precedes the response, as the server sent it. */
  readonly onNotification?: ((text: string) => void) | undefined;
}

export interface ServerSession {
  readonly isModern: boolean;
  /** @throws UpstreamError, AuthorizationRequiredError, or SessionLost. */
  request(method: string, params: Readonly<Record<string, unknown>>, options?: RequestOptions): Promise<ServerResponse>;
  /** Ends the session at the server; its failure is ignored. */
  end(): Promise<void>;
}

/** The server no longer knows the session, so it has not run the request. */
export class SessionLost extends Error {
  override readonly name = 'SessionLost';
}

const LEGACY_VERSION = '2025-11-25';
const CLIENT_INFO = { name: 'workspace-gateway', version: VERSION };

/** Begins a session, or for a server that has no sessions nothing. */
async function beginSession(call: Call): Promise<ServerSession> {
  const { context, connection } = call;
  let generation = keptGeneration(context, connection);
  if (!generation) keepGeneration(context, connection, (generation = { isModern: await detect(call) }));
  if (generation.isModern) return modernSession(call);
  const { version } = generation;
  return version === undefined ? initialize(call) : sessionlessSession(call, version);
}

/**
 * Works in a session that is ended afterwards. A session that the server loses is begun anew, once: it has not run the request.
 * @throws UpstreamError when that happens twice, or for a refusal in another form than that of the protocol.
 */
export async function inSession<Result>(
  call: Call,
  work: (session: ServerSession) => Promise<Result>,
): Promise<Result> {
  const attempt = async () => {
    const session = await beginSession(call);
    try {
      return await work(session);
    } finally {
      await session.end();
    }
  };
  try {
    return await attempt().catch((error: unknown) => {
      if (error instanceof SessionLost) return attempt();
      throw error;
    });
  } catch (error) {
    if (error instanceof SessionLost)
      throw new UpstreamError('UPSTREAM_UNREACHABLE', 'the MCP server has lost its session twice', { cause: error });
    throw error instanceof MessageFault ? new UpstreamError('UPSTREAM_NOT_MCP', error.message) : error;
  }
}

/** Whether the server is of the newest generation. */
async function detect(call: Call): Promise<boolean> {
  const message = modernMessage('discover', 'server/discover', {});
  const response = await exchange(call, message, modernHeaders('server/discover', {})).catch((error: unknown) => {
    // A refusal of an unknown method in another form than JSON-RPC.
    if (error instanceof MessageFault) return undefined;
    throw error;
  });
  const versions = isObject(response?.result) ? response.result['supportedVersions'] : undefined;
  return Array.isArray(versions) && versions.includes(MODERN_VERSION);
}

const PROTOCOL_PREFIX = 'io.modelcontextprotocol/';
const META = {
  [VERSION_KEY]: MODERN_VERSION,
  [`${PROTOCOL_PREFIX}clientInfo`]: CLIENT_INFO,
  [`${PROTOCOL_PREFIX}clientCapabilities`]: {},
};

/** What the caller says of itself and its capabilities in `_meta` comes before what the gateway says. */
function modernMessage(id: string | number, method: string, params: Readonly<Record<string, unknown>>) {
  const given = isObject(params['_meta']) ? params['_meta'] : {};
  const meta = { ...META, ...given, [VERSION_KEY]: MODERN_VERSION };
  return { jsonrpc: '2.0', id, method, params: { ...params, _meta: meta } };
}

/** The parameters for a server of an older generation, which does not know what the newest says in `_meta`. */
function legacyParams({ _meta, ...params }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const kept = Object.entries(isObject(_meta) ? _meta : {}).filter(([name]) => !name.startsWith(PROTOCOL_PREFIX));
  return kept.length === 0 ? params : { ...params, _meta: Object.fromEntries(kept) };
}

function modernHeaders(method: string, params: Readonly<Record<string, unknown>>): Record<string, string> {
  const name = params['name'] ?? params['uri'];
  return {
    'mcp-protocol-version': MODERN_VERSION,
    'mcp-method': method,
    ...(typeof name === 'string' && { 'mcp-name': encodeValue(name) }),
  };
}

function modernSession(call: Call): ServerSession {
  let count = 0;
  return {
    isModern: true,
    request: async (method, params, { headers, id = (count += 1), onNotification } = {}) => {
      const message = modernMessage(id, method, params);
      const all = { ...modernHeaders(method, params), ...headers };
      return answered(await exchange(call, message, all, { onNotification }));
    },
    end: () => Promise.resolve(),
  };
}

async function initialize(call: Call): Promise<ServerSession> {
  const params = { protocolVersion: LEGACY_VERSION, capabilities: {}, clientInfo: CLIENT_INFO };
  let sessionId: string | null = null;
  // Not the id of a later request, which the caller may choose.
  const message = { jsonrpc: '2.0', id: randomUUID(), method: 'initialize', params };
  const onAnswer = ({ header }: StreamedAnswer) => void (sessionId = header(SESSION_HEADER.toLowerCase()));
  const response = answered(await exchange(call, message, {}, { onAnswer }));
  const version = isObject(response.result) ? response.result['protocolVersion'] : undefined;
  if (typeof version !== 'string' || !/^[\d-]{1,20}$/.test(version)) throw refusedBy(response, 'initialize');
  const headers = {
    'mcp-protocol-version': version,
    ...(sessionId !== null && { [SESSION_HEADER.toLowerCase()]: sessionId }),
  };
  await exchange(call, { jsonrpc: '2.0', method: 'notifications/initialized' }, headers);
  if (sessionId === null) keepGeneration(call.context, call.connection, { isModern: false, version });
  const end = () => (sessionId === null ? Promise.resolve() : endSession(call, headers));
  return legacySession(call, { headers, isUncertain: false, end });
}

/** For a server that began no session the last time: it may want one now, which its answer says. */
function sessionlessSession(call: Call, version: string): ServerSession {
  const headers = { 'mcp-protocol-version': version };
  return legacySession(call, { headers, isUncertain: true, end: () => Promise.resolve() });
}

interface LegacyOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** Whether a refusal can mean that the server wants a handshake. */
  readonly isUncertain: boolean;
  readonly end: ServerSession['end'];
}

function legacySession(call: Call, { headers, isUncertain, end }: LegacyOptions): ServerSession {
  let count = 0;
  return {
    isModern: false,
    request: async (method, given, { id = (count += 1), onNotification } = {}) => {
      const message = { jsonrpc: '2.0', id, method, params: legacyParams(given) };
      const response = await exchange(call, message, headers, { onNotification, isUncertain }).catch(
        (error: unknown) => {
          if (call.deadline.signal.aborted) void tell(call, headers, canceled(id));
          throw error;
        },
      );
      const { message: text } = isObject(response?.error) ? response.error : {};
      if (isUncertain && /initializ/i.test(String(text))) throw sessionWanted(call);
      return answered(response);
    },
    end,
  };
}

/** A request without a handshake was refused, so it has not run. */
function sessionWanted({ context, connection }: Call): SessionLost {
  keepGeneration(context, connection, { isModern: false });
  return new SessionLost();
}

async function endSession(call: Call, headers: Readonly<Record<string, string>>): Promise<void> {
  const ending = tell(call, headers);
  // Nobody waits for it.
  if (!call.deadline.signal.aborted) await ending;
}

const canceled = (requestId: string | number): OutgoingMessage => ({
  jsonrpc: '2.0',
  method: CANCELED,
  params: { requestId, reason: 'nobody waits for the answer any more' },
});

const FAREWELL_MS = 5_000;

/** Sends a notification, or without one the end of the session, also when the call has been ended. A failure is ignored. */
async function tell(call: Call, headers: Readonly<Record<string, string>>, message?: OutgoingMessage): Promise<void> {
  const deadline = new Deadline(undefined, { silenceMs: undefined, totalMs: FAREWELL_MS });
  const last = { ...call, deadline, begin: () => Promise.resolve() };
  try {
    if (message) await exchange(last, message, headers);
    else (await sendUpstream(last, { method: 'DELETE', headers })).discard();
  } catch {
    // The result of the call is known already.
  } finally {
    deadline.end();
  }
}

/** A message that was sent must be answered, unless it is a notification. */
function answered(response: ServerResponse | undefined): ServerResponse {
  if (response) return response;
  throw new UpstreamError('UPSTREAM_UNREACHABLE', 'the MCP server ended its answer without a response to the request');
}

interface OutgoingMessage {
  readonly jsonrpc: string;
  /** Absent for a notification. */
  readonly id?: string | number;
  readonly method: string;
  readonly params?: object;
}

interface Reading {
  readonly isUncertain?: LegacyOptions['isUncertain'];
  readonly onAnswer?: (answer: StreamedAnswer) => void;
  readonly onNotification?: RequestOptions['onNotification'];
}

/** Statuses of servers that want a session (Streamable HTTP, Session Management), and of those that have none with this id. */
const WANTS_SESSION: ReadonlySet<number> = new Set([400, 404, 410]);

/** Sends a message. @returns the response to it; undefined if there is none. @throws SessionLost for 404 in a session. */
async function exchange(
  call: Call,
  message: OutgoingMessage,
  headers: Readonly<Record<string, string>>,
  { onAnswer, onNotification, isUncertain = false }: Reading = {},
): Promise<ServerResponse | undefined> {
  const all = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers };
  const request = { method: 'POST', headers: all, body: Buffer.from(JSON.stringify(message)) } as const;
  const answer = await sendUpstream(call, request);
  if (answer.status === 404 && SESSION_HEADER.toLowerCase() in headers) {
    answer.discard();
    throw new SessionLost();
  }
  if (isUncertain && WANTS_SESSION.has(answer.status)) {
    answer.discard();
    throw sessionWanted(call);
  }
  await requireProtocol(call, answer);
  onAnswer?.(answer);
  if (isEventStream(answer)) return readEvents(call, answer, { id: message.id, headers, onNotification });
  const body = await readAnswer(answer, call.deadline);
  const response = await responseIn(call, { answer, body });
  await noteUse(call.context, call.connection);
  return isResponseTo(message.id, response) ? parsedResponse(response, body.length) : undefined;
}

/** So many requests of a server are answered while it answers one, because each answer is a request to it. */
const MAX_REFUSED = 100;

/** Reads a stream up to the response to the request. Requests of the server are refused, because nobody can answer them. */
async function readEvents(
  call: Call,
  answer: StreamedAnswer,
  {
    id,
    headers,
    onNotification,
  }: Pick<Reading, 'onNotification'> & {
    readonly id: string | number | undefined;
    readonly headers: Readonly<Record<string, string>>;
  },
): Promise<ServerResponse | undefined> {
  let refused = 0;
  try {
    for await (const { event, bytes } of eventsOf(answer, call.deadline)) {
      const message = readServerMessage(event.data ?? '');
      if (!message) continue;
      if (isResponseTo(id, message)) {
        await noteUse(call.context, call.connection);
        return await parsedResponse(message, bytes);
      }
      const { id: requestId, method, text } = message;
      if (method === undefined) continue;
      if (requestId === undefined) {
        noteNotification(call, text);
        onNotification?.(text);
      } else if ((refused += 1) <= MAX_REFUSED) await refuse(call, { id: requestId, method }, headers);
    }
  } catch (error) {
    throw error instanceof OutboundError ? brokenAnswer(error) : error;
  } finally {
    answer.discard();
  }
  return undefined;
}

/** @throws UpstreamError for a response that is malformed, or beyond the bounds of work. */
const parsedResponse = async ({ text }: ServerMessage, bytes: number): Promise<ServerResponse> => ({
  ...(await parseResponse(text)),
  text,
  bytes,
});

/** The events of a stream, and the bytes up to each. @throws UpstreamError for more than 4 MiB, or too many. */
async function* eventsOf({ body }: StreamedAnswer, { onBytes }: Pick<Deadline, 'onBytes'>) {
  const splitter = new EventSplitter(tooManyEvents);
  let bytes = 0;
  for await (const chunk of body) {
    onBytes(chunk.byteLength);
    bytes += chunk.byteLength;
    if (bytes > MAX_ANSWER_BYTES) throw answerTooLarge();
    for await (const event of splitter.push(chunk)) yield { event, bytes };
  }
  const event = splitter.end();
  if (event) yield { event, bytes };
}

/** Answers a request of a server: its ping, and everything else with a refusal. */
async function refuse(
  call: Call,
  { id, method }: { readonly id: unknown; readonly method: string },
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const message = `${method} is not supported: this call has no person or model that could answer; use the MCP endpoint of the connection`;
  const reply = method === 'ping' ? { result: {} } : { error: { code: -32601, message } };
  const request = {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, ...reply })),
  } as const;
  (await sendUpstream(call, request)).discard();
}

const MAX_SHOWN = 500;

/** The error for a JSON-RPC error of a server, with its text. */
export function refusedBy({ error }: ServerResponse, what: string): RemoteFailedError {
  const { code, message } = isObject(error) ? error : {};
  const text =
    typeof message === 'string' ? message.replaceAll(/[^\x20-\x7E]/g, '?').slice(0, MAX_SHOWN) : 'no message';
  return new RemoteFailedError(`the MCP server refused ${what} (${Number(code) || 'no code'}): ${text}`);
}
