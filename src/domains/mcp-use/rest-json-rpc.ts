import { ConflictError, DomainError } from '../../core/errors.ts';
import { type HttpAnswer, type HttpRequest, answerWith } from '../../core/http/messages.ts';
import { CallCanceled, CallerLeft } from './server-call.ts';
import { isModern } from './headers.ts';
import { type Message, MessageFault, SERVER_ERROR, errorText } from './message.ts';
import { AmbiguousResourceError, AuthorizationRequiredError, UpstreamError } from './errors.ts';

/** Answers of the endpoints for MCP clients. */

/** Status of the answer that nobody reads, for the log and the metrics: the client has closed the connection. */
const CLIENT_CLOSED = 499;

/** The answer to a message that could not be answered by a server. @throws the error if it is none of the protocol. */
export function answerFailure(error: unknown, request: HttpRequest, message: Message | undefined): HttpAnswer {
  if (error instanceof CallCanceled) return answerWith(null, { status: 202 });
  if (error instanceof CallerLeft) return answerWith(null, { status: CLIENT_CLOSED });
  const id = message?.id;
  if (error instanceof MessageFault)
    return jsonRpc(errorText(error.id ?? id, error.code, error.message), { status: error.status });
  if (error instanceof AuthorizationRequiredError && message?.method === 'tools/call' && id !== undefined)
    return jsonRpc(failedResult(error, id, isModern(request.headers, message)));
  if (error instanceof ConflictError && error.toolApprovalId !== undefined && message && id !== undefined) {
    const meta = { 'workspace-gateway/toolApprovalId': error.toolApprovalId };
    return jsonRpc(failedResult(error, id, isModern(request.headers, message), meta));
  }
  const code = codeOf(error);
  if (code === undefined || !(error instanceof DomainError)) throw error;
  const { status, headers } = error;
  return jsonRpc(errorText(id, SERVER_ERROR, error.message, { code, ...urlOf(error) }), { status, headers });
}

/** A result that tells the model, and through it the person, what to do. */
function failedResult({ message }: Error, id: unknown, withType: boolean, _meta?: object): string {
  const result = {
    ...(withType && { resultType: 'complete' }),
    content: [{ type: 'text', text: message }],
    isError: true,
    ...(_meta && { _meta }),
  };
  return JSON.stringify({ jsonrpc: '2.0', id, result });
}

/** The code of an error that is answered as JSON-RPC; undefined for those that every operation has. */
function codeOf(error: unknown): string | undefined {
  if (error instanceof UpstreamError) return error.reason;
  if (error instanceof AuthorizationRequiredError) return 'AUTHORIZATION_REQUIRED';
  if (error instanceof AmbiguousResourceError) return 'AMBIGUOUS_RESOURCE';
  if (!(error instanceof DomainError)) return undefined;
  if (error.kind === 'conflict') return 'WRONG_STATE';
  return error.kind === 'rateLimited' ? error.code : undefined;
}

const urlOf = (error: unknown): { readonly url?: string } =>
  error instanceof AuthorizationRequiredError ? { url: error.url } : {};

export const jsonRpc = (
  text: string,
  init: { readonly status?: number; readonly headers?: HttpAnswer['headers'] } = {},
): HttpAnswer => answerWith(text, { ...init, headers: { 'Content-Type': 'application/json', ...init.headers } });
