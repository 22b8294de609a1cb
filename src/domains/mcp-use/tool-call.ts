import { ConflictError, DomainError, NotFoundError, RemoteFailedError, invalid, notFound } from '../../core/errors.ts';
import type { ToolCallOutcome } from '../../core/audit.ts';
import type { SessionId } from '../../core/ids.ts';
import { isObject } from '../../core/is-object.ts';
import { defineOperation } from '../../core/operation.ts';
import { wording } from '../../core/text/wording.ts';
import { allowsTool, findUsableConnection } from '../mcp-connections/public.ts';
import { AuthorizationRequiredError } from './authorization-required.ts';
import { beginRecord } from './call-record.ts';
import { CallerLeft, Deadline } from './deadline.ts';
import { callMcpToolInput } from './input.ts';
import { beginCall } from './limits.ts';
import { INVALID_PARAMS, MessageFault, outcomeOf } from './message.ts';
import { parameterHeaders } from './parameter-headers.ts';
import { USE_MCP_CONNECTIONS } from './policy.ts';
import { type ServerResponse, type ServerTarget, SessionLost, beginSession, refusedBy } from './server-session.ts';
import { beginSessionRecord, outputOf } from './session-record.ts';
import { unknownTool } from './tool-policy.ts';
import { UpstreamError } from './upstream-error.ts';

/** What a tool has returned, as the server sent it. */
export interface ToolResult {
  /** Whether the tool has failed. */
  readonly isError: boolean;
  readonly content: readonly unknown[];
  readonly structuredContent: unknown;
  readonly durationMs: number;
}

export const callMcpTool = defineOperation({
  name: 'callMcpTool',
  description: wording`Calls a tool of an MCP connection. The result is what the server sent, unknown content included; a tool that failed is a result with \`isError\`. Shared connections can be used by every member, personal ones by their owner alone. With an \`Idempotency-Key\` the tool is called at most once: the same key gets the stored result, or a conflict while the first call is open or if its outcome is unknown.`,
  access: USE_MCP_CONNECTIONS,
  input: callMcpToolInput,
  errors: [NotFoundError, ConflictError, RemoteFailedError],
  callsOut: true,
  isAtMostOnce: true,
  run: async (context, { mcpConnectionId, name, arguments: args, sessionId, timeoutSeconds }): Promise<ToolResult> => {
    const connection = await findUsableConnection(context, mcpConnectionId);
    if (!connection) throw notFound('MCP connection');
    requireWritable(args);
    context.onChange?.('callMcpTool', { type: 'McpServer', id: connection.id });
    const endCount = beginCall(context, connection.id);
    const totalMs = timeoutSeconds * 1000;
    const { upstreamSilenceMs } = context.timing;
    const silenceMs = upstreamSilenceMs < totalMs ? upstreamSilenceMs : undefined;
    const deadline = new Deadline(context.signal, { silenceMs, totalMs });
    context.allowIdle(totalMs);
    try {
      return await recordedCall({ context, connection, deadline }, { name, args, sessionId: sessionId ?? null });
    } catch (error) {
      throw shownError(error);
    } finally {
      deadline.end();
      endCount();
    }
  },
});

/** @throws ValidationError for arguments that are nested too deeply to be sent. */
function requireWritable(args: object): void {
  try {
    JSON.stringify(args);
  } catch {
    throw invalid('arguments', 'are nested too deeply', 'TOO_MANY');
  }
}

interface Call {
  readonly name: string;
  readonly args: object;
  readonly sessionId: SessionId | null;
}

/** Calls the tool, with the events of its session around it. */
async function recordedCall(target: ServerTarget, call: Call): Promise<ToolResult> {
  const { name, args, sessionId } = call;
  if (sessionId === null || target.connection.recordToolCalls === 'NONE') return auditedCall(target, call);
  const events = await beginSessionRecord(target.context, sessionId, { toolName: name, args });
  let end = { isError: true, output: '' };
  try {
    const result = await auditedCall(target, call);
    end = { isError: result.isError, output: outputOf(result.content) };
    return result;
  } catch (error) {
    end.output = error instanceof Error ? error.message : '';
    throw error;
  } finally {
    await events.end(end);
  }
}

async function auditedCall(target: ServerTarget, { name, args, sessionId }: Call): Promise<ToolResult> {
  const { context, connection } = target;
  const started = performance.now();
  const record = await beginRecord(context, connection, name, sessionId);
  let outcome: ToolCallOutcome = 'TRANSPORT_ERROR';
  let bytes = 0;
  try {
    const response = allowsTool(connection.toolPolicy, name)
      ? await callInSession(target, name, args)
      : { error: { code: INVALID_PARAMS, message: unknownTool(name) }, bytes: 0 };
    outcome = outcomeOf(response);
    bytes = response.bytes;
    return { ...resultOf(response, name), durationMs: Math.round(performance.now() - started) };
  } finally {
    await record.end({ outcome, bytes });
  }
}

/** Calls the tool in a session of its own. A session that the server loses before the call is begun anew, once. */
async function callInSession(
  target: ServerTarget,
  name: string,
  args: object,
  isRepeated = false,
): Promise<ServerResponse> {
  let hasBegun = false;
  try {
    const session = await beginSession(target);
    try {
      const headers = await parameterHeaders(target, session, name, args);
      hasBegun = true;
      return await session.request('tools/call', { name, arguments: args }, headers);
    } finally {
      await session.end();
    }
  } catch (error) {
    if (error instanceof SessionLost && !isRepeated) return callInSession(target, name, args, true);
    if (hasBegun && mayHaveRun(error)) target.context.onUnknownOutcome?.();
    throw error;
  }
}

/** Whether the server may have run a call that failed with this error. */
function mayHaveRun(error: unknown): boolean {
  if (error instanceof UpstreamError) return error.upstreamCode !== 'UPSTREAM_RATE_LIMITED';
  return !(error instanceof AuthorizationRequiredError || error instanceof SessionLost);
}

function resultOf(response: ServerResponse, name: string): Omit<ToolResult, 'durationMs'> {
  const { result } = response;
  if (!isObject(result)) throw refusedBy(response, `the call of ${name}`);
  if (result['resultType'] === 'input_required')
    throw new ConflictError(
      'WRONG_STATE',
      'the tool asks a person for input, which only an MCP client can give; use the MCP endpoint of the connection',
    );
  const { content, structuredContent = null } = result;
  return { isError: result['isError'] === true, content: Array.isArray(content) ? content : [], structuredContent };
}

function shownError(error: unknown): unknown {
  if (error instanceof CallerLeft) return new DomainError('unavailable', 'the caller has left before the answer');
  if (error instanceof SessionLost)
    return new UpstreamError('UPSTREAM_UNREACHABLE', 'the MCP server has lost its session twice');
  return error instanceof MessageFault ? new UpstreamError('UPSTREAM_NOT_MCP', error.message) : error;
}
