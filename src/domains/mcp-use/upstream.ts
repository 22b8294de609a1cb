import { RemoteFailedError } from '../../core/errors.ts';
import { GrowingBytes } from '../../core/growing-bytes.ts';
import { OutboundError } from '../../core/outbound/outbound.ts';
import type { StreamRequest, StreamedAnswer } from '../../core/outbound/streamed-answer.ts';
import { WORK } from '../../core/work-budget.ts';
import {
  AuthorizationNeeded,
  type CurrentAccess,
  accessOf,
  authorizationNeededBy,
  noteRefusal,
} from '../mcp-connections/public.ts';
import type { Call, Deadline } from './server-call.ts';
import { AuthorizationRequiredError, UpstreamError } from './errors.ts';
import { isObject } from '../../core/is-object.ts';
import { JsonBoundError } from '../../core/text/json-scanner.ts';
import { FREE_JSON, parseWithin } from '../../core/text/json-slices.ts';
import { MessageFault, SERVER_ERROR, type ServerMessage, readServerMessage } from './message.ts';

type UpstreamRequest = Pick<StreamRequest, 'method' | 'headers' | 'body'>;

/** Maximum size of an answer, and of an event of a stream. */
export const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

/**
 * Sends a request with the credentials of the connection. A token that the server refuses is refreshed and the request repeated once: the
 * server has not run it.
 * @throws AuthorizationRequiredError when a person must act; UpstreamError when the server cannot be reached; the reason of the deadline.
 */
export async function sendUpstream(call: Call, request: UpstreamRequest): Promise<StreamedAnswer> {
  const { context, connection, deadline } = call;
  const send = ({ headers, accessToken }: CurrentAccess) =>
    context.outbound.stream(connection.serverUrl, {
      ...request,
      headers: {
        ...request.headers,
        ...headers,
        ...(accessToken !== undefined && { authorization: `Bearer ${accessToken}` }),
      },
      signal: deadline.signal,
    });
  try {
    await call.begin();
    const access = await accessOf(context, connection);
    const answer = await send(access);
    const refusal = refusalOf(answer, connection.serverUrl, access.tokenVersion ?? connection.tokenVersion);
    if (!refusal) return answer;
    const isToken = access.tokenVersion !== undefined && !refusal.isStepUp;
    const renewed = isToken ? await accessOf(context, connection, access.tokenVersion) : undefined;
    if (!renewed) throw refusal;
    const again = await send(renewed);
    const lastRefusal = refusalOf(again, connection.serverUrl, renewed.tokenVersion);
    if (lastRefusal) throw lastRefusal;
    return again;
  } catch (error) {
    throw await explained(call, error);
  }
}

/** The refusal of the credentials in an answer, whose body is then discarded. */
function refusalOf(
  answer: StreamedAnswer,
  serverUrl: string,
  tokenVersion: number | undefined,
): AuthorizationNeeded | undefined {
  const refusal = authorizationNeededBy(answer.status, answer.header('www-authenticate'), serverUrl);
  if (!refusal) return undefined;
  answer.discard();
  refusal.tokenVersion = tokenVersion;
  return refusal;
}

async function explained(call: Call, error: unknown): Promise<unknown> {
  const { context, connection } = call;
  if (error instanceof AuthorizationNeeded) {
    // A refusal without a version was found before anything was sent, so the status says it already.
    if (error.tokenVersion !== undefined) await noteRefusal(context, connection, error);
    return new AuthorizationRequiredError(context, connection, connection.statusReason ?? error.message);
  }
  if (error instanceof OutboundError)
    return noteFailed(
      call,
      new UpstreamError('UPSTREAM_UNREACHABLE', `the MCP server failed: ${error.message}`, { cause: error }),
    );
  // The tokens cannot be refreshed now, which the status says already.
  if (error instanceof RemoteFailedError && !(error instanceof UpstreamError))
    return new UpstreamError('UPSTREAM_UNREACHABLE', error.message, { cause: error });
  return error;
}

/** Records in the status that the server cannot be used. @returns the error. */
async function noteFailed({ context, connection }: Call, error: UpstreamError): Promise<UpstreamError> {
  await noteRefusal(context, connection, error);
  return error;
}

/** The whole body. @throws UpstreamError for more than 4 MiB, or when the connection breaks; the reason of the deadline. */
export async function readAnswer(answer: StreamedAnswer, { onBytes }: Pick<Deadline, 'onBytes'>): Promise<Buffer> {
  if (Number(answer.header('content-length')) > MAX_ANSWER_BYTES) {
    answer.discard();
    throw answerTooLarge();
  }
  const bytes = new GrowingBytes();
  try {
    for await (const chunk of answer.body) {
      onBytes(chunk.byteLength);
      if (bytes.length + chunk.byteLength > MAX_ANSWER_BYTES) throw answerTooLarge();
      bytes.append(chunk);
    }
  } catch (error) {
    answer.discard();
    throw error instanceof OutboundError ? brokenAnswer(error) : error;
  }
  return bytes.view();
}

export const answerTooLarge = (): UpstreamError =>
  new UpstreamError(
    'ANSWER_TOO_LARGE',
    `the answer of the MCP server is larger than ${MAX_ANSWER_BYTES} bytes (4 MiB)`,
  );

export const tooManyEvents = (): UpstreamError =>
  new UpstreamError('ANSWER_TOO_LARGE', `the answer of the MCP server has more than ${WORK.events} events`);

export function brokenAnswer(error: OutboundError): UpstreamError {
  const message = `the MCP server ended the connection before its answer was complete: ${error.message}`;
  return new UpstreamError('UPSTREAM_UNREACHABLE', message, { cause: error });
}

/** Whether an answer of a server is one that an MCP server gives. */

const mediaTypeOf = ({ header }: StreamedAnswer): string =>
  (header('content-type') ?? '').toLowerCase().split(';')[0]?.trim() ?? '';

export const isEventStream = (answer: StreamedAnswer): boolean =>
  answer.status < 300 && mediaTypeOf(answer) === 'text/event-stream';

/** Media types of successful answers; those without a body have none. */
const MEDIA_TYPES = new Set(['application/json', 'text/event-stream', '']);

/** @throws UpstreamError for an answer whose status or media type no MCP server gives. */
export async function requireProtocol(call: Call, answer: StreamedAnswer): Promise<void> {
  const { status } = answer;
  const fault = faultOf(answer, mediaTypeOf(answer));
  if (!fault) return;
  answer.discard();
  throw status === 429 ? fault : await noteFailed(call, fault);
}

function faultOf({ status, header }: StreamedAnswer, mediaType: string): UpstreamError | undefined {
  if (status === 429) {
    const message = 'the MCP server refuses more requests for now (429)';
    return new UpstreamError('UPSTREAM_RATE_LIMITED', message, { retryAfter: header('retry-after') });
  }
  if (status >= 500 && mediaType !== 'application/json') return serverFailed(status);
  const encoding = (header('content-encoding') ?? 'identity').toLowerCase();
  const isKnown = status < 300 ? MEDIA_TYPES.has(mediaType) : status >= 400;
  return isKnown && encoding === 'identity'
    ? undefined
    : notMcp(`it answered ${status} with ${mediaType === '' ? 'no media type' : mediaType.slice(0, 100)}`);
}

const notMcp = (reason: string): UpstreamError =>
  new UpstreamError('UPSTREAM_NOT_MCP', `the server does not answer like an MCP server: ${reason}`);

const serverFailed = (status: number): UpstreamError =>
  new UpstreamError('UPSTREAM_UNREACHABLE', `the MCP server failed: it answered ${status}`);

/**
 * The JSON-RPC response in a body; undefined without one.
 * @throws UpstreamError for a successful answer, or a failure of the server, that is none; MessageFault for a refusal with a page.
 */
export async function responseIn(
  call: Call,
  { answer, body }: { readonly answer: StreamedAnswer; readonly body: Buffer },
): Promise<ServerMessage | undefined> {
  const { status } = answer;
  const mediaType = mediaTypeOf(answer);
  const isRefusal = status >= 400 && status < 500;
  if (body.length === 0 || (isRefusal && mediaType === 'text/plain')) return undefined;
  if (isRefusal && mediaType !== 'application/json')
    throw new MessageFault(SERVER_ERROR, `the MCP server answered ${status} without a JSON-RPC response`, {
      id: call.message?.id,
      status,
    });
  const response = readServerMessage(body.toString());
  if (isRefusal || response?.isJsonRpc === true) return response;
  const error = status >= 500 ? serverFailed(status) : notMcp('its body is not a JSON-RPC response');
  throw await noteFailed(call, error);
}

/** The members of a JSON-RPC response. @throws UpstreamError if it is malformed, or beyond the bounds of work: results are written again. */
export async function parseResponse(text: string): Promise<object> {
  try {
    const document = await parseWithin(text, FREE_JSON);
    if (isObject(document)) return document;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    if (error instanceof JsonBoundError)
      throw new UpstreamError('ANSWER_TOO_LARGE', `the answer of the MCP server ${error.message}`, { cause: error });
  }
  throw notMcp('its JSON is malformed');
}
