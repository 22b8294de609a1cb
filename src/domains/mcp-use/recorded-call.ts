import type { SessionId } from '../../core/ids.ts';
import { isObject } from '../../core/is-object.ts';
import { allowsTool } from '../mcp-connections/public.ts';
import { AuthorizationRequiredError } from './authorization-required.ts';
import type { Call } from './call.ts';
import { type CallEnd, beginRecord } from './call-record.ts';
import { INVALID_PARAMS, MessageFault, errorText, outcomeOf } from './message.ts';
import { parameterHeaders } from './parameter-headers.ts';
import { type ServerResponse, type ServerSession, SessionLost, beginSession, refusedBy } from './server-session.ts';
import { unknownTool } from './tool-policy.ts';
import { UpstreamError } from './upstream-error.ts';

/** A call of a tool that the gateway makes itself, with its audit log entry and the events of its session. */

export interface ToolCall {
  /** The name at the server. */
  readonly tool: string;
  /** The name for the caller, which the events have. */
  readonly name: string;
  /** The parameters of the request, without the name. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly sessionId: SessionId | null;
  /** The id of the request; by default one is made. */
  readonly id?: string | number;
  readonly onNotification?: (text: string) => void;
}

export interface ToolResponse extends ServerResponse {
  /** Whether the server is of the newest generation of the protocol. */
  readonly isModern: boolean;
}

/** @throws UpstreamError, AuthorizationRequiredError, the reason of the deadline, and what `appendSessionEvents` throws. */
export async function recordedCall(call: Call, toolCall: ToolCall): Promise<ToolResponse> {
  const { tool, name, params, sessionId, id } = toolCall;
  const args = isObject(params['arguments']) ? params['arguments'] : {};
  const record = await beginRecord(call, {
    tool,
    ...(sessionId !== null && { session: { id: sessionId, name, args } }),
  });
  let end: CallEnd = { outcome: 'TRANSPORT_ERROR', bytes: 0 };
  try {
    const isAllowed = allowsTool(call.connection.toolPolicy, tool);
    const response = isAllowed ? await callTool(call, toolCall) : refusedTool(name, id);
    end = { outcome: outcomeOf(response), bytes: response.bytes, output: outputOf(response, name) };
    return response;
  } catch (error) {
    end = { ...end, output: error instanceof Error ? error.message : '' };
    throw error;
  } finally {
    await record.end(end);
  }
}

/** What a tool has returned as text: its text blocks, and the type of all others; or why it was refused. */
function outputOf(response: ServerResponse, name: string): string {
  const { result } = response;
  if (!isObject(result)) return refusedBy(response, `the call of ${name}`).message;
  if (asksForInput(response)) return 'the tool asks for input';
  const content: readonly unknown[] = Array.isArray(result['content']) ? result['content'] : [];
  return content
    .map((block) => {
      if (!isObject(block)) return '';
      return typeof block['text'] === 'string' ? block['text'] : `[${String(block['type'])}]`;
    })
    .join('\n');
}

/** Whether a tool of the newest generation asks a person for input, with which the call must be repeated. */
export function asksForInput({ result }: ServerResponse): boolean {
  return isObject(result) && result['resultType'] === 'input_required';
}

/** The response of a server that does not know the tool. */
function refusedTool(name: string, id: ToolCall['id']): ToolResponse {
  const error = { code: INVALID_PARAMS, message: unknownTool(name) };
  return { id, error, text: errorText(id, error.code, error.message), bytes: 0, isModern: false };
}

async function callTool(call: Call, { tool, params, id, onNotification }: ToolCall): Promise<ToolResponse> {
  let hasBegun = false;
  try {
    return await inSession(call, async (session) => {
      const headers = await parameterHeaders(call, session, tool, params['arguments']);
      const named = { ...params, name: tool };
      const options = { headers, onNotification, ...(id !== undefined && { id }) };
      hasBegun = true;
      try {
        return { ...(await session.request('tools/call', named, options)), isModern: session.isModern };
      } catch (error) {
        hasBegun = !(error instanceof SessionLost);
        throw error;
      }
    });
  } catch (error) {
    if (hasBegun && mayHaveRun(error)) call.context.onUnknownOutcome?.();
    throw error;
  }
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

/** Whether the server may have run a call that failed with this error. */
function mayHaveRun(error: unknown): boolean {
  if (error instanceof UpstreamError) return error.upstreamCode !== 'UPSTREAM_RATE_LIMITED';
  return !(error instanceof AuthorizationRequiredError);
}
