import { isObject } from '../../core/is-object.ts';
import type { StreamedAnswer } from '../../core/outbound/streamed-answer.ts';
import { JsonBoundError } from '../../core/text/json-bounds.ts';
import { FREE_JSON, parseWithin } from '../../core/text/json-slices.ts';
import type { Call } from './call.ts';
import { MessageFault, SERVER_ERROR, type ServerMessage, readServerMessage } from './message.ts';
import { UpstreamError } from './upstream-error.ts';
import { noteFailed } from './upstream.ts';

/** Whether an answer of a server is one that an MCP server gives. */

function mediaTypeOf({ header }: StreamedAnswer): string {
  return (header('content-type') ?? '').toLowerCase().split(';')[0]?.trim() ?? '';
}

export function isEventStream(answer: StreamedAnswer): boolean {
  return answer.status < 300 && mediaTypeOf(answer) === 'text/event-stream';
}

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

function notMcp(reason: string): UpstreamError {
  return new UpstreamError('UPSTREAM_NOT_MCP', `the server does not answer like an MCP server: ${reason}`);
}

function serverFailed(status: number): UpstreamError {
  return new UpstreamError('UPSTREAM_UNREACHABLE', `the MCP server failed: it answered ${status}`);
}

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
