import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { RemoteFailedError } from '../../core/errors.ts';
import { isObject } from '../../core/is-object.ts';
import { EventSplitter } from '../../core/outbound/event-splitter.ts';
import { OutboundError } from '../../core/outbound/outbound.ts';
import type { StreamedAnswer } from '../../core/outbound/streamed-answer.ts';
import { VERSION } from '../../core/version.ts';
import { noteUse } from '../mcp-connections/public.ts';
import { isEventStream, parseResponse, requireProtocol, responseIn } from './answer-check.ts';
import type { Call } from './call.ts';
import type { Deadline } from './deadline.ts';
import { MODERN_VERSION, VERSION_KEY, encodeValue } from './headers.ts';
import { MessageFault, type ServerMessage, isResponseTo, readServerMessage } from './message.ts';
import { SESSION_HEADER } from './protocol-session.ts';
import { UpstreamError } from './upstream-error.ts';
import { MAX_ANSWER_BYTES, answerTooLarge, brokenAnswer, readAnswer, sendUpstream, tooManyEvents } from './upstream.ts';

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

type Generation = 'modern' | 'legacy';
/** The generation of each server. */
const newGenerations = () => new LRUCache<string, Generation>({ max: 1000, ttl: 10 * 60_000 });

/** Begins a session, or for a server of the newest generation nothing: it has no sessions. */
export async function beginSession(call: Call): Promise<ServerSession> {
  const generations = call.context.caches.of(newGenerations);
  const key = `${call.connection.id} ${call.connection.serverUrl}`;
  let generation = generations.get(key);
  if (!generation) generations.set(key, (generation = await detect(call)));
  return generation === 'modern' ? modernSession(call) : initialize(call);
}

async function detect(call: Call): Promise<Generation> {
  const message = modernMessage('discover', 'server/discover', {});
  const response = await exchange(call, message, modernHeaders('server/discover', {})).catch((error: unknown) => {
    // A refusal of an unknown method in another form than JSON-RPC.
    if (error instanceof MessageFault) return undefined;
    throw error;
  });
  const versions = isObject(response?.result) ? response.result['supportedVersions'] : undefined;
  return Array.isArray(versions) && versions.includes(MODERN_VERSION) ? 'modern' : 'legacy';
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
  let count = 0;
  return {
    isModern: false,
    request: async (method, given, { id = (count += 1), onNotification } = {}) =>
      answered(
        await exchange(call, { jsonrpc: '2.0', id, method, params: legacyParams(given) }, headers, {
          onNotification,
        }),
      ),
    end: async () => {
      if (sessionId !== null) await endSession(call, headers);
    },
  };
}

async function endSession(call: Call, headers: Readonly<Record<string, string>>): Promise<void> {
  try {
    (await sendUpstream(call, { method: 'DELETE', headers })).discard();
  } catch {
    // The result of the call is known already.
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
  readonly onAnswer?: (answer: StreamedAnswer) => void;
  readonly onNotification?: RequestOptions['onNotification'];
}

/** Sends a message. @returns the response to it; undefined if there is none. @throws SessionLost for 404 in a session. */
async function exchange(
  call: Call,
  message: OutgoingMessage,
  headers: Readonly<Record<string, string>>,
  { onAnswer, onNotification }: Reading = {},
): Promise<ServerResponse | undefined> {
  const all = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers };
  const request = { method: 'POST', headers: all, body: Buffer.from(JSON.stringify(message)) } as const;
  const answer = await sendUpstream(call, request);
  if (answer.status === 404 && SESSION_HEADER.toLowerCase() in headers) {
    answer.discard();
    throw new SessionLost();
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
      if (requestId === undefined) onNotification?.(text);
      else if ((refused += 1) <= MAX_REFUSED) await refuse(call, { id: requestId, method }, headers);
    }
  } catch (error) {
    throw error instanceof OutboundError ? brokenAnswer(error) : error;
  } finally {
    answer.discard();
  }
  return undefined;
}

/** @throws UpstreamError for a response that is malformed, or beyond the bounds of work. */
async function parsedResponse({ text }: ServerMessage, bytes: number): Promise<ServerResponse> {
  return { ...(await parseResponse(text)), text, bytes };
}

/** The events of a stream, and the bytes up to each. @throws UpstreamError for more than 4 MiB, or too many. */
async function* eventsOf({ body }: StreamedAnswer, { onBytes }: Pick<Deadline, 'onBytes'>) {
  const splitter = new EventSplitter(tooManyEvents);
  let bytes = 0;
  for await (const chunk of body) {
    onBytes();
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
