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
import { AuthorizationRequiredError } from './authorization-required.ts';
import type { Call } from './call.ts';
import type { Deadline } from './deadline.ts';
import { UpstreamError } from './upstream-error.ts';

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
export async function noteFailed({ context, connection }: Call, error: UpstreamError): Promise<UpstreamError> {
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
      onBytes();
      if (bytes.length + chunk.byteLength > MAX_ANSWER_BYTES) throw answerTooLarge();
      bytes.append(chunk);
    }
  } catch (error) {
    answer.discard();
    throw error instanceof OutboundError ? brokenAnswer(error) : error;
  }
  return bytes.view();
}

export function answerTooLarge(): UpstreamError {
  return new UpstreamError(
    'ANSWER_TOO_LARGE',
    `the answer of the MCP server is larger than ${MAX_ANSWER_BYTES} bytes (4 MiB)`,
  );
}

export function tooManyEvents(): UpstreamError {
  return new UpstreamError('ANSWER_TOO_LARGE', `the answer of the MCP server has more than ${WORK.events} events`);
}

export function brokenAnswer(error: OutboundError): UpstreamError {
  const message = `the MCP server ended the connection before its answer was complete: ${error.message}`;
  return new UpstreamError('UPSTREAM_UNREACHABLE', message, { cause: error });
}
