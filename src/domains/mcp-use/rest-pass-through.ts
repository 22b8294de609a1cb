import { DomainError, notFound } from '../../core/errors.ts';
import { EVENT_STREAM_HEADERS } from '../../core/http/server-sent-events.ts';
import { type HttpAnswer, type HttpRequest, answerWith } from '../../core/http/messages.ts';
import type { McpConnectionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type ReceivedEvent, withData } from '../../core/outbound/event-splitter.ts';
import type { StreamedAnswer } from '../../core/outbound/streamed-answer.ts';
import { findUsableConnection, isRestricted, noteUse } from '../mcp-connections/public.ts';
import {
  type Call,
  CallCanceled,
  beginCall,
  boundsOfCall,
  boundsOfStream,
  countCall,
  countStream,
} from './server-call.ts';
import { type CallRecord, beginRecord, mayHaveRun, tracedCall } from './tool-call.ts';
import { memberOf } from '../../core/text/json-scanner.ts';
import type { UsedApproval } from '../tool-approvals/public.ts';
import { decideCall, withDecisions } from './tool-decision.ts';
import { SESSION_HEADER, forwardedHeaders, openSessionId, requireAgreement, sealSessionId } from './headers.ts';
import { noteNotification, notePassedList } from './listings.ts';
import {
  CANCELED,
  type Message,
  MessageFault,
  SERVER_ERROR,
  SESSION_NOT_FOUND,
  type ServerMessage,
  errorText,
  isResponseTo,
  outcomeIn,
  parseMessage,
  readServerMessage,
} from './message.ts';
import { type CallName, cancelCall, openCall } from './call-cancellation.ts';
import { passedStream } from './passed-stream.ts';
import { answerFailure } from './rest-json-rpc.ts';
import { refusedCall, requireClear, withAllowedTools } from './allowed-tools.ts';
import { MAX_ANSWER_BYTES, isEventStream, readAnswer, requireProtocol, responseIn, sendUpstream } from './upstream.ts';
import { requireAccess } from '../../core/access.ts';
import { USE_MCP_CONNECTIONS } from './policy.ts';

/** Kinds of errors that mean that the caller may no longer use the connection. All others pass. */
const REFUSALS: ReadonlySet<string> = new Set(['unauthenticated', 'forbidden', 'notFound', 'conflict']);

/**
 * Ends a stream when its caller loses the right to use the connection: a stream can last for minutes, and the key can be revoked meanwhile.
 * @returns a function that ends the checks.
 */
function watchRights({ context, connection: { id }, deadline: { abort, signal } }: Call): () => void {
  let isChecking = false;
  const check = async () => {
    if (isChecking || signal.aborted) return;
    isChecking = true;
    try {
      const actor = await context.authenticateAgain();
      requireAccess(actor, USE_MCP_CONNECTIONS);
      if (!(await findUsableConnection(context.with({ actor }), id))) throw notFound('MCP connection');
    } catch (error) {
      if (error instanceof DomainError && REFUSALS.has(error.kind)) abort(error);
    } finally {
      isChecking = false;
    }
  };
  const timer = setInterval(() => void check(), context.timing.upstreamPingMs);
  return () => clearInterval(timer);
}

/** Streamable HTTP, passed through: the bytes of requests and answers do not change, and credentials do not leave the gateway. */

/** The request of a client that is passed on. */
interface PassedCall extends Call {
  readonly request: HttpRequest;
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
    return await answerExchange({ context, connection, message, request, body });
  } catch (error) {
    return answerFailure(error, request, message);
  }
}

interface Passed extends Pick<PassedCall, 'context' | 'connection' | 'message' | 'request'> {
  readonly body: Uint8Array;
}

async function answerExchange({ body, request, ...given }: Passed): Promise<HttpAnswer> {
  const { context, message } = given;
  const isStream = request.method === 'GET';
  const bounds = isStream ? boundsOfStream(context.timing) : boundsOfCall(context.timing);
  const begun = beginCall(isStream ? countStream : countCall, { ...given, bounds, signal: request.signal });
  let call = cancelable({ ...begun, request });
  let record: CallRecord | undefined;
  let approval: UsedApproval | undefined;
  try {
    const headers = await headersFor(call);
    // Also for a notification, which a server should ignore.
    if (message?.method === 'tools/call') {
      const decided = await decideCall(call, calledIn(message));
      ({ approval } = decided);
      record = await beginRecord(call, { tool: message.params['name'] });
      if (!decided.isAllowed) throw refusedCall(message);
    } else if (message ? message.method === 'tools/list' : isStream)
      call = { ...call, connection: await withDecisions(call) };
    const send = () => sendUpstream(call, { method: methodOf(request), headers, body: message && body });
    const answer = await (record ? tracedCall(call, message?.params['name'], send) : send());
    // Also at a server that has no sessions, and therefore does not know what is meant.
    if (message?.method === CANCELED) cancelCall(context, nameOf(call, message.params['requestId']));
    return await answerOf(call, answer, { record, approval });
  } catch (error) {
    call.end();
    if (!record || !mayHaveRun(error)) await approval?.giveBack();
    await record?.end({ outcome: error instanceof MessageFault ? 'JSON_RPC_ERROR' : 'TRANSPORT_ERROR', bytes: 0 });
    throw error;
  }
}

/** The tool that a message calls. */
function calledIn({ params, text }: Message) {
  const json = () => memberOf(memberOf(text, 'params') ?? '{}', 'arguments') ?? '';
  return { tool: params['name'], json, sessionId: null, requestState: params['requestState'] };
}

/** The approval of a call whose tool asks a person for input belongs to the call that answers. */
async function noteQuestion(approval: UsedApproval | undefined, response: ServerMessage | undefined): Promise<void> {
  if (!approval || response?.result?.startsWith('{') !== true) return;
  if (memberOf(response.result, 'resultType') !== '"input_required"') return;
  await approval.continueWith(JSON.parse(memberOf(response.result, 'requestState') ?? 'null'));
}

interface Used {
  readonly record: CallRecord | undefined;
  readonly approval: UsedApproval | undefined;
}

/** A call of a tool that `notifications/cancelled` ends, at this address and with the same session. */
function cancelable(call: PassedCall): PassedCall {
  const { context, message, deadline } = call;
  if (message?.method !== 'tools/call' || message.id === undefined) return call;
  const endOpen = openCall(context, nameOf(call, message.id), () => deadline.abort(new CallCanceled()));
  const end = () => {
    endOpen();
    call.end();
  };
  return { ...call, end };
}

const nameOf = ({ connection, request }: PassedCall, id: unknown): CallName => ({
  address: `connection ${connection.id} ${request.headers.get(SESSION_HEADER) ?? ''}`,
  id,
});

const methodOf = ({ method }: HttpRequest): 'GET' | 'POST' | 'DELETE' =>
  method === 'POST' || method === 'DELETE' ? method : 'GET';

/** The headers for the server, with its own session id. @throws MessageFault (404) for a session id that is not of this key and connection. */
async function headersFor({ context, connection, request, message }: PassedCall): Promise<Record<string, string>> {
  const headers = forwardedHeaders(request.headers, message);
  const given = request.headers.get(SESSION_HEADER);
  if (given === null) return headers;
  const sessionId = await openSessionId(context, connection.id, given);
  if (sessionId === undefined)
    throw new MessageFault(SESSION_NOT_FOUND, 'Session not found', { id: message?.id, status: 404 });
  return { ...headers, [SESSION_HEADER.toLowerCase()]: sessionId };
}

async function answerOf(call: PassedCall, answer: StreamedAnswer, used: Used): Promise<HttpAnswer> {
  const { record, approval } = used;
  const { context, connection, message, request } = call;
  if (hasNoStream(request, answer)) {
    answer.discard();
    call.end();
    return answerWith(null, { status: 405, headers: { Allow: 'POST, DELETE' } });
  }
  await requireProtocol(call, answer);
  const headers = await headersOf(call, answer);
  if (isEventStream(answer)) {
    await noteUse(context, connection);
    return answerWith(streamOf(call, answer, used), {
      status: answer.status,
      headers: { ...headers, 'X-Accel-Buffering': EVENT_STREAM_HEADERS['X-Accel-Buffering'] },
    });
  }
  const body = await readAnswer(answer, call.deadline);
  const response = await responseIn(call, { answer, body });
  if (answer.status < 300) await noteUse(context, connection);
  await record?.end({ outcome: outcomeIn(response), bytes: body.length });
  await noteQuestion(approval, response);
  const isLost = hasLostSession(request, answer, body);
  if (isLost || answer.status === 404) await approval?.giveBack();
  call.end();
  notePassedList(call, response);
  const shown = withAllowedTools(connection, message, response) ?? body;
  const status = isLost ? 404 : answer.status;
  return answerWith(shown.length === 0 ? null : shown, { status, headers });
}

/** Servers without a stream of messages answer so instead of 405, which some clients take for a failure. In a session 404 says that it has ended. */
const hasNoStream = ({ method, headers }: HttpRequest, { status }: StreamedAnswer): boolean =>
  method === 'GET' && !headers.has(SESSION_HEADER) && (status === 404 || status === 406);

/** Servers that answer so to a session that they do not know, instead of 404, by which clients begin a new one. */
const hasLostSession = ({ headers }: HttpRequest, { status }: StreamedAnswer, body: Buffer): boolean =>
  status === 400 && headers.has(SESSION_HEADER) && /session/i.test(body.toString('utf8', 0, MAX_REFUSAL));

/** What is read of a refusal. */
const MAX_REFUSAL = 1_000;

/** The headers of the answer for the client; its session id is replaced by ours. */
async function headersOf({ context, connection }: Call, { header }: StreamedAnswer): Promise<Record<string, string>> {
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

function streamOf(call: PassedCall, answer: StreamedAnswer, { record, approval }: Used) {
  const { context, connection, request, message, deadline } = call;
  let response: ServerMessage | undefined;
  let question: Promise<void> | undefined;
  let canResume = false;
  const isAwaited = message?.id !== undefined;
  const endChecks = watchRights(call);
  return passedStream({
    answer,
    deadline,
    pingMs: context.timing.upstreamPingMs,
    maxBytes: request.method === 'GET' ? undefined : MAX_ANSWER_BYTES,
    onEvent: (event) => {
      canResume ||= event.fields.has('id');
      const found = isAwaited && response === undefined ? responseOf(event, message.id) : undefined;
      response ??= found;
      if (found) {
        notePassedList(call, found);
        question = noteQuestion(approval, found);
      } else noteNotification(call, event.data ?? '');
      const isLate = !message && isRestricted(connection);
      const allowed = withAllowedTools(connection, message, isLate ? messageIn(event) : found);
      return allowed === undefined ? event.bytes : Buffer.from(withData(event, allowed));
    },
    lastEvent: (error) =>
      !isAwaited || (canResume && error.reason === 'UPSTREAM_UNREACHABLE')
        ? undefined
        : `event: message\ndata: ${errorText(message.id, SERVER_ERROR, error.message, { code: error.reason })}\n\n`,
    onEnd: async (bytes) => {
      endChecks();
      call.end();
      await question;
      await record?.end({ outcome: response === undefined ? 'TRANSPORT_ERROR' : outcomeIn(response), bytes });
    },
  });
}

function responseOf(event: ReceivedEvent, id: unknown): ServerMessage | undefined {
  const message = messageIn(event);
  return isResponseTo(id, message) ? message : undefined;
}

const messageIn = ({ data }: ReceivedEvent): ServerMessage | undefined =>
  data === undefined ? undefined : readServerMessage(data);
