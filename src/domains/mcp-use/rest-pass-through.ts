import { notFound } from '../../core/errors.ts';
import { EVENT_STREAM_HEADERS } from '../../core/http/server-sent-events.ts';
import { type HttpAnswer, type HttpRequest, answerWith } from '../../core/http/messages.ts';
import type { McpConnectionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type ReceivedEvent, withData } from '../../core/outbound/event-splitter.ts';
import type { StreamedAnswer } from '../../core/outbound/streamed-answer.ts';
import { type UsableConnection, findUsableConnection, noteUse } from '../mcp-connections/public.ts';
import { isEventStream, requireProtocol, responseIn } from './answer-check.ts';
import { type CallRecord, beginRecord } from './call-record.ts';
import { Deadline, boundsOfCall, boundsOfStream } from './deadline.ts';
import { forwardedHeaders, requireAgreement } from './headers.ts';
import { beginCall, beginStream } from './limits.ts';
import {
  type Message,
  type ServerMessage,
  MessageFault,
  SERVER_ERROR,
  SESSION_NOT_FOUND,
  errorText,
  isResponseTo,
  outcomeIn,
  parseMessage,
  readServerMessage,
} from './message.ts';
import { passedStream } from './passed-stream.ts';
import { watchRights } from './rights-watch.ts';
import { SESSION_HEADER, openSessionId, sealSessionId } from './protocol-session.ts';
import { answerFailure } from './rest-json-rpc.ts';
import { isRestricted, requireAllowedTool, requireClear, withAllowedTools } from './tool-policy.ts';
import { MAX_ANSWER_BYTES, readAnswer, sendUpstream } from './upstream.ts';

/** Streamable HTTP, passed through: the bytes of requests and answers do not change, and credentials do not leave the gateway. */

interface Exchange {
  readonly context: OperationContext;
  readonly connection: UsableConnection;
  readonly request: HttpRequest;
  readonly body: Uint8Array;
  /** Undefined for GET and DELETE. */
  readonly message: Message | undefined;
}

/** @throws NotFoundError for a connection that the caller cannot see. All other failures are JSON-RPC errors. */
export async function passThrough(
  context: OperationContext,
  { mcpConnectionId }: { readonly mcpConnectionId: McpConnectionId },
  { request, body }: { readonly request: HttpRequest; readonly body: Uint8Array },
): Promise<HttpAnswer> {
  let message: Message | undefined;
  try {
    const connection = await findUsableConnection(context, mcpConnectionId);
    if (!connection) throw notFound('MCP connection');
    message = request.method === 'POST' ? await parseMessage(body) : undefined;
    if (message) requireAgreement(request.headers, message);
    if (message) requireClear(connection, message);
    return await answerExchange({ context, connection, request, body, message });
  } catch (error) {
    return answerFailure(error, request, message);
  }
}

async function answerExchange(exchange: Exchange): Promise<HttpAnswer> {
  const { context, connection, request, message } = exchange;
  const begin = request.method === 'GET' ? beginStream : beginCall;
  const endCount = begin(context, connection.id);
  const bounds = request.method === 'GET' ? boundsOfStream(context.timing) : boundsOfCall(context.timing);
  const deadline = new Deadline(request.signal, bounds);
  let record: CallRecord | undefined;
  const end = () => {
    deadline.end();
    endCount();
  };
  try {
    const headers = await headersFor(exchange);
    // Also for a notification, which a server should ignore.
    if (message?.method === 'tools/call') record = await beginRecord(context, connection, message.params['name']);
    if (message) requireAllowedTool(connection, message);
    const answer = await sendUpstream(
      context,
      connection,
      { method: methodOf(request), headers, body: message && exchange.body },
      deadline,
    );
    return await answerOf(exchange, { answer, deadline, record, end });
  } catch (error) {
    end();
    await record?.end({ outcome: error instanceof MessageFault ? 'JSON_RPC_ERROR' : 'TRANSPORT_ERROR', bytes: 0 });
    throw error;
  }
}

function methodOf({ method }: HttpRequest): 'GET' | 'POST' | 'DELETE' {
  return method === 'POST' || method === 'DELETE' ? method : 'GET';
}

/** The headers for the server, with its own session id. @throws MessageFault (404) for a session id that is not of this key and connection. */
async function headersFor({ context, connection, request, message }: Exchange): Promise<Record<string, string>> {
  const headers = forwardedHeaders(request.headers, message);
  const given = request.headers.get(SESSION_HEADER);
  if (given === null) return headers;
  const sessionId = await openSessionId(context, connection.id, given);
  if (sessionId === undefined)
    throw new MessageFault(SESSION_NOT_FOUND, 'Session not found', { id: message?.id, status: 404 });
  return { ...headers, [SESSION_HEADER.toLowerCase()]: sessionId };
}

interface Received {
  readonly answer: StreamedAnswer;
  readonly deadline: Deadline;
  readonly record: CallRecord | undefined;
  readonly end: () => void;
}

async function answerOf(exchange: Exchange, received: Received): Promise<HttpAnswer> {
  const { context, connection } = exchange;
  const { answer, deadline, record, end } = received;
  await requireProtocol(exchange, answer);
  const headers = await headersOf(exchange, answer);
  if (isEventStream(answer)) {
    await noteUse(context, connection);
    return answerWith(streamOf(exchange, received), {
      status: answer.status,
      headers: { ...headers, 'X-Accel-Buffering': EVENT_STREAM_HEADERS['X-Accel-Buffering'] },
    });
  }
  const body = await readAnswer(answer, deadline);
  const response = await responseIn(exchange, { answer, body });
  if (answer.status < 300) await noteUse(context, connection);
  await record?.end({ outcome: outcomeIn(response), bytes: body.length });
  end();
  const shown = withAllowedTools(connection, exchange.message, response) ?? body;
  return answerWith(shown.length === 0 ? null : shown, { status: answer.status, headers });
}

/** The headers of the answer for the client; its session id is replaced by ours. */
async function headersOf(
  { context, connection }: Exchange,
  { header }: StreamedAnswer,
): Promise<Record<string, string>> {
  const [type, retryAfter, sessionId] = [
    header('content-type'),
    header('retry-after'),
    header(SESSION_HEADER.toLowerCase()),
  ];
  return {
    ...(type !== null && { 'Content-Type': type }),
    ...(retryAfter !== null && { 'Retry-After': retryAfter }),
    ...(sessionId !== null && { [SESSION_HEADER]: await sealSessionId(context, connection.id, sessionId) }),
  };
}

function streamOf({ context, connection, request, message }: Exchange, { answer, deadline, record, end }: Received) {
  let response: ServerMessage | undefined;
  let canResume = false;
  const isAwaited = message?.id !== undefined;
  const endChecks = watchRights(context, connection, deadline);
  return passedStream({
    answer,
    deadline,
    pingMs: context.timing.upstreamPingMs,
    maxBytes: request.method === 'GET' ? undefined : MAX_ANSWER_BYTES,
    onEvent: (event) => {
      canResume ||= event.fields.has('id');
      const found = isAwaited && response === undefined ? responseOf(event, message.id) : undefined;
      response ??= found;
      const isLate = !message && isRestricted(connection);
      const allowed = withAllowedTools(connection, message, isLate ? messageIn(event) : found);
      return allowed === undefined ? event.bytes : Buffer.from(withData(event, allowed));
    },
    lastEvent: (error) =>
      !isAwaited || (canResume && error.upstreamCode === 'UPSTREAM_UNREACHABLE')
        ? undefined
        : `event: message\ndata: ${errorText(message.id, SERVER_ERROR, error.message, { code: error.upstreamCode })}\n\n`,
    onEnd: async (bytes) => {
      endChecks();
      end();
      await record?.end({ outcome: response === undefined ? 'TRANSPORT_ERROR' : outcomeIn(response), bytes });
    },
  });
}

function responseOf(event: ReceivedEvent, id: unknown): ServerMessage | undefined {
  const message = messageIn(event);
  return isResponseTo(id, message) ? message : undefined;
}

function messageIn({ data }: ReceivedEvent): ServerMessage | undefined {
  return data === undefined ? undefined : readServerMessage(data);
}
