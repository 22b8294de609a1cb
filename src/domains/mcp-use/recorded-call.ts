import type { ToolCallOutcome } from '../../core/audit.ts';
import type { SessionId } from '../../core/ids.ts';
import { isObject } from '../../core/is-object.ts';
import { allowsTool } from '../mcp-connections/public.ts';
import { AuthorizationRequiredError } from './authorization-required.ts';
import { beginRecord } from './call-record.ts';
import { INVALID_PARAMS, MessageFault, errorText, outcomeOf } from './message.ts';
import { parameterHeaders } from './parameter-headers.ts';
import {
  type ServerResponse,
  type ServerSession,
  type ServerTarget,
  SessionLost,
  beginSession,
  refusedBy,
} from './server-session.ts';
import { beginSessionRecord, outputOf } from './session-record.ts';
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
export async function recordedCall(target: ServerTarget, call: ToolCall): Promise<ToolResponse> {
  const { name, params, sessionId } = call;
  if (sessionId === null || target.connection.recordToolCalls === 'NONE') return auditedCall(target, call);
  const events = await beginSessionRecord(target.context, sessionId, { toolName: name, args: argumentsOf(params) });
  let end = { isError: true, output: '' };
  try {
    const response = await auditedCall(target, call);
    end = recordedEnd(response, name);
    return response;
  } catch (error) {
    end.output = error instanceof Error ? error.message : '';
    throw error;
  } finally {
    await events.end(end);
  }
}

function argumentsOf(params: ToolCall['params']): object {
  return isObject(params['arguments']) ? params['arguments'] : {};
}

function recordedEnd(response: ServerResponse, name: string): { readonly isError: boolean; output: string } {
  const { result } = response;
  if (!isObject(result)) return { isError: true, output: refusedBy(response, `the call of ${name}`).message };
  if (asksForInput(response)) return { isError: false, output: 'the tool asks for input' };
  const { content, isError } = result;
  return { isError: isError === true, output: outputOf(Array.isArray(content) ? content : []) };
}

/** Whether a tool of the newest generation asks a person for input, with which the call must be repeated. */
export function asksForInput({ result }: ServerResponse): boolean {
  return isObject(result) && result['resultType'] === 'input_required';
}

async function auditedCall(target: ServerTarget, call: ToolCall): Promise<ToolResponse> {
  const { context, connection } = target;
  const { tool, sessionId, id } = call;
  const record = await beginRecord(context, connection, tool, sessionId);
  let outcome: ToolCallOutcome = 'TRANSPORT_ERROR';
  let bytes = 0;
  try {
    const response = allowsTool(connection.toolPolicy, tool)
      ? await callTool(target, call)
      : refusedTool(call.name, id);
    outcome = outcomeOf(response);
    bytes = response.bytes;
    return response;
  } finally {
    await record.end({ outcome, bytes });
  }
}

/** The response of a server that does not know the tool. */
function refusedTool(name: string, id: ToolCall['id']): ToolResponse {
  const error = { code: INVALID_PARAMS, message: unknownTool(name) };
  return { id, error, text: errorText(id, error.code, error.message), bytes: 0, isModern: false };
}

async function callTool(target: ServerTarget, call: ToolCall): Promise<ToolResponse> {
  const { tool, params, id, onNotification } = call;
  let hasBegun = false;
  try {
    return await inSession(target, async (session) => {
      const headers = await parameterHeaders(target, session, tool, params['arguments']);
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
    if (hasBegun && mayHaveRun(error)) target.context.onUnknownOutcome?.();
    throw error;
  }
}

/**
 * Works in a session that is ended afterwards. A session that the server loses is begun anew, once: it has not run the request.
 * @throws UpstreamError when that happens twice, or for a refusal in another form than that of the protocol.
 */
export async function inSession<Result>(
  target: ServerTarget,
  work: (session: ServerSession) => Promise<Result>,
): Promise<Result> {
  const attempt = async () => {
    const session = await beginSession(target);
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
