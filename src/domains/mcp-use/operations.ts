import { ConflictError, DomainError, NotFoundError, RemoteFailedError, invalid, notFound } from '../../core/errors.ts';
import { isObject } from '../../core/is-object.ts';
import { defineOperation } from '../../core/operation.ts';
import { wording } from '../../core/text/wording.ts';
import { WORK } from '../../core/work-budget.ts';
import { findUsableConnection } from '../mcp-connections/public.ts';
import { CallerLeft, beginCall, countCall } from './server-call.ts';
import { callMcpToolInput } from './input.ts';
import { USE_MCP_CONNECTIONS } from './policy.ts';
import { asksForInput, recordedCall } from './tool-call.ts';
import { type ServerResponse, refusedBy } from './server-session.ts';

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
    if (isDeeper(args, WORK.levels))
      throw invalid('arguments', `must not be nested deeper than ${WORK.levels} levels`, 'TOO_MANY', WORK.levels);
    context.onChange?.('callMcpTool', { type: 'McpServer', id: connection.id });
    const totalMs = timeoutSeconds * 1000;
    const { upstreamSilenceMs } = context.timing;
    const silenceMs = upstreamSilenceMs < totalMs ? upstreamSilenceMs : undefined;
    const call = beginCall(countCall, { context, connection, signal: context.signal, bounds: { silenceMs, totalMs } });
    const started = performance.now();
    try {
      const params = { arguments: args };
      const toolCall = { tool: name, name, params, sessionId: sessionId ?? null };
      const response = await context.budget.waiting(() => recordedCall(call, toolCall));
      return { ...resultOf(response, name), durationMs: Math.round(performance.now() - started) };
    } catch (error) {
      if (error instanceof CallerLeft) throw new DomainError('unavailable', 'the caller has left before the answer');
      throw error;
    } finally {
      call.end();
    }
  },
});

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

function resultOf(response: ServerResponse, name: string): Omit<ToolResult, 'durationMs'> {
  const { result } = response;
  if (!isObject(result)) throw refusedBy(response, `the call of ${name}`);
  if (asksForInput(response))
    throw new ConflictError(
      'WRONG_STATE',
      'the tool asks a person for input, which only an MCP client can give; use the MCP endpoint of the connection',
    );
  const { content, structuredContent = null } = result;
  return { isError: result['isError'] === true, content: Array.isArray(content) ? content : [], structuredContent };
}
