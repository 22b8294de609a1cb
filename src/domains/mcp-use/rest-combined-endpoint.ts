import { mcpServer } from '../../core/mcp-packages.ts';
import { ConflictError } from '../../core/errors.ts';
import { type HttpAnswer, type HttpRequest, answerWith } from '../../core/http/messages.ts';
import { EVENT_STREAM_HEADERS, acceptsStream } from '../../core/http/server-sent-events.ts';
import { statelessMcp } from '../../core/http/stateless-mcp.ts';
import type { SessionId } from '../../core/ids.ts';
import { isObject } from '../../core/is-object.ts';
import type { OperationContext } from '../../core/operation.ts';
import { settlesWithin } from '../../core/concurrency.ts';
import { VERSION } from '../../core/version.ts';
import { WORK } from '../../core/work-budget.ts';
import { findAllUsableConnections, findUsableConnections } from '../mcp-connections/public.ts';
import { readSessionConnections } from '../sessions/public.ts';
import { CallCanceled, beginCall, boundsOfCall, countCall, countCallOfKey } from './server-call.ts';
import { isModern, requireAgreement } from './headers.ts';
import { LISTINGS, type Listing } from './listings.ts';
import {
  CANCELED,
  INVALID_PARAMS,
  type Message,
  MessageFault,
  SERVER_ERROR,
  errorText,
  parseMessage,
} from './message.ts';
import { cancelCall, openCall } from './call-cancellation.ts';
import { PING } from './passed-stream.ts';
import { type ToolResponse, asksForInput, recordedCall } from './tool-call.ts';
import { answerFailure, jsonRpc } from './rest-json-rpc.ts';
import { getPrompt, readResource } from './combined-contents.ts';
import { type SessionList, legacyTool, listOfAll, placeOf } from './combined-lists.ts';
import { callParams, unknownTool } from './allowed-tools.ts';
import { keysOf } from '../../core/keys-of.ts';

/** Notifications of a server that wait to be passed on. */
class Notifications {
  readonly #texts: string[] = [];
  #arrival = Promise.withResolvers<void>();

  readonly add = (text: string): void => {
    this.#texts.push(text);
    this.#arrival.resolve();
  };

  /** Settles as soon as there is a notification. */
  get arrival(): Promise<void> {
    return this.#arrival.promise;
  }

  /** The next one; undefined if none waits. */
  take(): string | undefined {
    const text = this.#texts.shift();
    if (this.#texts.length === 0) this.#arrival = Promise.withResolvers();
    return text;
  }
}

/**
 * Several MCP connections at one address, without state: their tools, prompts and resources. These are the connections of a session, or all
 * that the caller may use. The official package checks the messages and answers the others: it would drop what it does not know of their
 * results.
 */

type Connections = Parameters<typeof placeOf>[0];

/** The requests that the package lets through, each with a result that it accepts in place of ours. */
const LET_THROUGH = {
  'tools/list': { tools: [] },
  'prompts/list': { prompts: [] },
  'resources/list': { resources: [] },
  'resources/templates/list': { resourceTemplates: [] },
  'tools/call': { content: [] },
  'prompts/get': { messages: [] },
  'resources/read': { contents: [] },
};

interface Accepted {
  method?: keyof typeof LET_THROUGH;
}

const answerProtocol = statelessMcp((accepted: Accepted) => {
  const server = new (mcpServer().Server)(
    { name: 'workspace-gateway', version: VERSION },
    {
      capabilities: { tools: {}, prompts: {}, resources: {}, logging: {} },
      instructions:
        'The tools, prompts and resources of several MCP servers. The names of tools and prompts begin with the handle of their server.',
    },
  );
  for (const method of keysOf(LET_THROUGH))
    server.setRequestHandler(method, () => {
      accepted.method = method;
      return LET_THROUGH[method];
    });
  return server;
});

/** A message of a client, with its place. */
interface ClientRequest {
  readonly context: OperationContext;
  /** The session in which calls are recorded. */
  readonly sessionId: SessionId | null;
  readonly request: HttpRequest;
  readonly message: Message;
  readonly isModernClient: boolean;
}

interface Exchange {
  readonly request: HttpRequest;
  readonly body: Uint8Array;
}

/** @throws NotFoundError or ForbiddenError for a session that the caller cannot read or change. All other failures are JSON-RPC errors. */
export async function answerSessionMessage(
  context: OperationContext,
  { sessionId }: { readonly sessionId: SessionId },
  exchange: Exchange,
): Promise<HttpAnswer> {
  const ids = await readSessionConnections(context, sessionId);
  return answerMessage(context, exchange, { sessionId, find: () => findUsableConnections(context, ids) });
}

/** The same for all connections that the caller may use. All failures are JSON-RPC errors. */
export async function answerOwnMessage(
  context: OperationContext,
  _input: object,
  exchange: Exchange,
): Promise<HttpAnswer> {
  const find = () => findAllUsableConnections(context, WORK.offeredConnections + 1);
  return answerMessage(context, exchange, { sessionId: null, find });
}

interface Offered {
  readonly sessionId: SessionId | null;
  /** Finds the connections whose tools are offered. The list is cut after the bound of `WORK`. */
  readonly find: () => Promise<Connections>;
}

async function answerMessage(
  context: OperationContext,
  { request, body }: Exchange,
  { sessionId, find }: Offered,
): Promise<HttpAnswer> {
  let message: Message | undefined;
  try {
    message = await parseMessage(body);
    requireAgreement(request.headers, message);
    const accepted: Accepted = {};
    const answer = await answerProtocol(request, protocolPartOf(message), accepted);
    if (message.method === CANCELED)
      cancelCall(context, { address: addressOf(sessionId), id: message.params['requestId'] });
    if (accepted.method === undefined) return answer;
    const connections = await find();
    const given = { context, sessionId, request, message, isModernClient: isModern(request.headers, message) };
    if (accepted.method === 'tools/call') return await answerCall(given, connections);
    const listing = LISTINGS.find(({ method }) => method === accepted.method);
    const endCount = countCallOfKey(context);
    try {
      if (listing) return answerList(given, listing, await listOfAll(context, connections, listing));
      const read = accepted.method === 'prompts/get' ? getPrompt : readResource;
      return jsonRpc(textFor(given, await read(given, connections)));
    } finally {
      endCount();
    }
  } catch (error) {
    return answerFailure(error, request, message);
  }
}

/** Where calls of a session, or of all connections of the caller, are made. */
const addressOf = (sessionId: SessionId | null): string => (sessionId === null ? 'own' : `session ${sessionId}`);

/** A message for the package, which needs not look at the arguments of a tool. */
function protocolPartOf({ document, params }: Message): unknown {
  if (!isObject(params['arguments'])) return JSON.parse(JSON.stringify(document));
  return JSON.parse(JSON.stringify({ ...document, params: { ...params, arguments: {} } }));
}

const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';
const LEVELS_WITH_WARNINGS: ReadonlySet<unknown> = new Set(['debug', 'info', 'notice', 'warning']);
/** The member of `_meta` with the notices. */
const NOTICES = 'workspace-gateway/notices';

function answerList(
  { request, message, isModernClient }: ClientRequest,
  { member }: Listing,
  { items, notices }: SessionList,
): HttpAnswer {
  const result = {
    // Lists are never kept: each key has its own.
    ...(isModernClient && { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }),
    [member]: isModernClient || member !== 'tools' ? items : items.map(legacyTool),
    ...(notices.length > 0 && { _meta: { [NOTICES]: notices } }),
  };
  const response = JSON.stringify({ jsonrpc: '2.0', id: message.id, result });
  const { _meta } = message.params;
  const wantsNotices = !isModernClient || (isObject(_meta) && LEVELS_WITH_WARNINGS.has(_meta[LOG_LEVEL]));
  if (notices.length === 0 || !wantsNotices || !acceptsStream(request.headers)) return jsonRpc(response);
  const logged = notices.map(({ handle, message: text }) =>
    JSON.stringify({
      jsonrpc: '2.0',
      method: 'notifications/message',
      params: { level: 'warning', logger: 'workspace-gateway', data: `${handle}: ${text}` },
    }),
  );
  return answerWith([...logged, response].map(eventOf).join(''), { headers: { 'Content-Type': 'text/event-stream' } });
}

function eventOf(text: string): string {
  const lines = text.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`);
  return `event: message\n${lines.join('')}\n`;
}

async function answerCall(given: ClientRequest, connections: Connections): Promise<HttpAnswer> {
  const { context, sessionId, request, message } = given;
  const { id, params } = message;
  // The package has checked them.
  const name = String(params['name']);
  const place = placeOf(connections, name);
  if (!place) throw new MessageFault(INVALID_PARAMS, unknownTool(name), { status: 200 });
  const { connection, tool } = place;
  if (connection.serverUrl === null)
    throw new ConflictError('WRONG_STATE', 'a stdio connection runs where the agent runs, and cannot be used here');
  const bounds = boundsOfCall(context.timing);
  const call = beginCall(countCall, { context, connection, signal: request.signal, bounds });
  const notifications = new Notifications();
  const toolCall = {
    tool,
    name,
    params: callParams(params),
    sessionId,
    onNotification: notifications.add,
    ...(isId(id) && { id }),
  };
  const endOpen = openCall(context, { address: addressOf(sessionId), id }, () =>
    call.deadline.abort(new CallCanceled()),
  );
  const response = recordedCall(call, toolCall)
    .then((answered) => textFor(given, answered))
    .finally(() => {
      endOpen();
      call.end();
    });
  return whenReady(given, response, notifications);
}

const isId = (id: unknown): id is string | number => typeof id === 'string' || typeof id === 'number';

/** The response as the server sent it, unless the generation of the client needs another form. */
function textFor({ message: { id }, isModernClient }: ClientRequest, response: ToolResponse): string {
  const { result, error, text } = response;
  const hasId = JSON.stringify(response.id) === JSON.stringify(id);
  if (hasId && (isModernClient === response.isModern || !isObject(result))) return text;
  return JSON.stringify({
    jsonrpc: '2.0',
    id,
    ...(isObject(result)
      ? { result: isModernClient ? modernResult(result) : legacyResult(result, response) }
      : { error }),
  });
}

type Result = Readonly<Record<string, unknown>>;

const modernResult = (result: Result): Result => ({ resultType: 'complete', ...result });

function legacyResult(result: Result, response: ToolResponse): Result {
  if (asksForInput(response)) {
    const text = 'the tool asks a person for input, which needs a client of the MCP revision 2026-07-28';
    return { content: [{ type: 'text', text }], isError: true };
  }
  const { structuredContent } = result;
  return structuredContent === undefined || isObject(structuredContent)
    ? result
    : { ...result, structuredContent: { result: structuredContent } };
}

/** The response as JSON; as a stream if something must be sent before it. */
async function whenReady(
  given: ClientRequest,
  response: Promise<string>,
  notifications: Notifications,
): Promise<HttpAnswer> {
  const { context, request } = given;
  const { upstreamPingMs } = context.timing;
  let isOver = false;
  const over = response.then(
    () => void (isOver = true),
    () => void (isOver = true),
  );
  const settles = () => settlesWithin(Promise.race([over, notifications.arrival]), upstreamPingMs);
  if (!acceptsStream(request.headers)) await over;
  else await settles();
  if (isOver) return jsonRpc(await response);

  async function* events(): AsyncGenerator<Uint8Array, void, undefined> {
    for (;;) {
      for (let text = notifications.take(); text !== undefined; text = notifications.take())
        yield Buffer.from(eventOf(text));
      if (isOver) break;
      if (!(await settles())) yield PING;
    }
    const last = await response.catch((error: unknown) => failureText(given, error));
    // A call that was canceled has no answer.
    if (last !== '') yield Buffer.from(eventOf(last));
  }
  return answerWith(events(), {
    headers: {
      'Content-Type': 'text/event-stream',
      'X-Accel-Buffering': EVENT_STREAM_HEADERS['X-Accel-Buffering'],
    },
  });
}

/** The error of a call whose answer has begun. */
function failureText({ context, request, message }: ClientRequest, error: unknown): string {
  try {
    const { body } = answerFailure(error, request, message);
    return typeof body === 'string' ? body : '';
  } catch (cause) {
    return errorText(message.id, SERVER_ERROR, context.toDomainError(cause).message);
  }
}
