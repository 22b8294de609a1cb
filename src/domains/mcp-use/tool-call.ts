import { randomUUID } from 'node:crypto';
import type { SessionId } from '../../core/ids.ts';
import { isObject } from '../../core/is-object.ts';
import type { Call } from './server-call.ts';
import { INVALID_PARAMS, errorText, outcomeOf } from './message.ts';
import { parameterHeaders } from './parameter-headers.ts';
import { type ServerResponse, SessionLost, inSession, refusedBy } from './server-session.ts';
import { decideCall } from './tool-decision.ts';
import { unknownTool } from './allowed-tools.ts';
import type { UsedApproval } from '../tool-approvals/public.ts';
import { AuthorizationRequiredError, UpstreamError } from './errors.ts';
import { type ToolCallOutcome, auditEntry } from '../../core/audit.ts';
import { DomainError, TooManyAtOnceError } from '../../core/errors.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type Span, toolAttributes } from '../../core/tracing/tracing.ts';
import { TOOL_CALL_TARGET } from '../../core/tool-call-audit.ts';
import { appendSessionEvents, appendSessionEventsInput } from '../session-events/public.ts';

/** What is recorded of the call of a tool: an entry of the audit log, a measurement, and two events of the session that it belongs to. */

const MAX_TOOL_NAME = 200;
/** Maximum size of the arguments and the output in events. */
const MAX_RECORDED = 64 * 1024;

interface RecordedTool {
  /** The name at the server. */
  readonly tool: unknown;
  /** Where the call has events. The name is that for the caller. */
  readonly session?: { readonly id: SessionId; readonly name: string; readonly args: object } | undefined;
}

interface CallEnd {
  readonly outcome: ToolCallOutcome;
  readonly bytes: number;
  /** What the tool has returned, or why it failed; only for events. */
  readonly output?: string;
}

export interface CallRecord {
  /** Completes the record, once. */
  readonly end: (end: CallEnd) => Promise<void>;
}

/**
 * Begins the record of a call. The audit log has neither arguments nor results. An entry that is never completed belongs to a process that has died.
 * @throws NotFoundError, ForbiddenError and ConflictError like `appendSessionEvents`.
 */
export async function beginRecord({ context, connection }: Call, { tool, session }: RecordedTool): Promise<CallRecord> {
  const entry = auditEntry(context, 'callMcpTool', { type: TOOL_CALL_TARGET, id: connection.id });
  const recorded = session && connection.recordToolCalls !== 'NONE' ? session : undefined;
  const endEvents = recorded && (await beginEvents(context, recorded));
  try {
    await context.toolCallAudit.open(entry, { toolName: cutName(tool), sessionId: session?.id ?? null });
  } catch (error) {
    await endEvents?.({ outcome: 'TRANSPORT_ERROR', bytes: 0 });
    throw error;
  }
  const started = performance.now();
  let isOpen = true;
  return {
    end: async (end) => {
      if (!isOpen) return;
      isOpen = false;
      const { outcome, bytes } = end;
      const ms = performance.now() - started;
      context.observeToolCall({ outcome, seconds: ms / 1000 });
      await context.toolCallAudit.complete(entry, { outcome, bytes, durationMs: Math.round(ms) }).catch(
        // The answer of the server is worth more than its record.
        (error: unknown) => void context.toDomainError(error),
      );
      await endEvents?.(end);
    },
  };
}

/** Appends the event of the call. @returns what appends that of its result. */
async function beginEvents(
  context: OperationContext,
  { id: sessionId, name: toolName, args }: NonNullable<RecordedTool['session']>,
): Promise<(end: CallEnd) => Promise<void>> {
  const itemId = randomUUID();
  const append = (eventType: string, data: object) =>
    appendSessionEvents(
      context,
      appendSessionEventsInput.parse({
        sessionId,
        events: [{ eventType, provider: 'mcp', eventData: { type: eventType, itemId, toolName, ...data } }],
      }),
    );
  await append('tool_call', {
    deltaType: 'input_json_delta',
    accumulatedText: storable(JSON.stringify(args)),
    toolResult: { status: 'running' },
  });
  return async ({ outcome, output = '' }) => {
    const text = storable(output);
    const toolResult =
      outcome === 'OK' ? { status: 'completed', output: text } : { status: 'error', output: text, error: text };
    await append('tool_result', { toolResult }).catch((error: unknown) => {
      // The call was made, so its result is answered even if the session has ended meanwhile.
      if (!(error instanceof DomainError)) context.toDomainError(error);
    });
  };
}

/** The name as it can be stored: cut, and without NUL characters and lone surrogates. */
const cutName = (name: unknown): string =>
  typeof name === 'string' ? withoutInvalid(name.slice(0, MAX_TOOL_NAME)) : '';

/** A text as events can store it: cut at 64 KiB, without NUL characters and lone surrogates. */
function storable(text: string): string {
  const whole = withoutInvalid(text);
  if (Buffer.byteLength(whole) <= MAX_RECORDED) return whole;
  // A character that was cut becomes a replacement character, which is removed.
  return Buffer.from(whole)
    .subarray(0, MAX_RECORDED)
    .toString()
    .replace(/\uFFFD$/, '');
}

const withoutInvalid = (text: string): string => text.toWellFormed().replaceAll('\0', '\uFFFD');

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
  const { arguments: sent, requestState } = params;
  const args = isObject(sent) ? sent : {};
  const asked = { tool, sessionId, requestState, json: () => (sent === undefined ? '' : JSON.stringify(sent)) };
  const { isAllowed, approval } = await decideCall(call, asked);
  const session = sessionId === null ? undefined : { id: sessionId, name, args };
  const record = await givingBack(approval, () => beginRecord(call, { tool, session }));
  let end: CallEnd = { outcome: 'TRANSPORT_ERROR', bytes: 0 };
  try {
    const response = isAllowed ? await callTool(call, toolCall, approval) : refusedTool(name, id);
    if (isObject(response.result) && asksForInput(response))
      await approval?.continueWith(response.result['requestState']);
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
export const asksForInput = ({ result }: ServerResponse): boolean =>
  isObject(result) && result['resultType'] === 'input_required';

/** The response of a server that does not know the tool. */
function refusedTool(name: string, id: ToolCall['id']): ToolResponse {
  const error = { code: INVALID_PARAMS, message: unknownTool(name) };
  return { id, error, text: errorText(id, error.code, error.message), bytes: 0, isModern: false };
}

/** Gives an approval back if what comes before the call fails. */
async function givingBack<Result>(approval: UsedApproval | undefined, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    await approval?.giveBack();
    throw error;
  }
}

/** Runs the call of a tool within a span, with the attributes of OpenTelemetry's conventions for MCP and for tools. */
export function tracedCall<Result>(
  { context, connection }: Call,
  tool: unknown,
  run: (span: Span | undefined) => Promise<Result>,
): Promise<Result> {
  const name = cutName(tool);
  const attributes = { ...toolAttributes(name), 'server.address': new URL(connection.serverUrl).host };
  return context.traced({ name: `tools/call ${name}`, kind: 'client', attributes }, run);
}

async function callTool(
  call: Call,
  { tool, params, id, onNotification }: ToolCall,
  approval: UsedApproval | undefined,
): Promise<ToolResponse> {
  let hasBegun = false;
  try {
    return await tracedCall(call, tool, async (span) => {
      const response = await inSession(call, async (session) => {
        const headers = await parameterHeaders(call, session, tool, params['arguments']);
        const meta = isObject(params['_meta']) ? params['_meta'] : {};
        const named = { ...params, name: tool, ...(span && { _meta: { ...meta, ...span.context } }) };
        const options = { headers, onNotification, ...(id !== undefined && { id }) };
        hasBegun = true;
        try {
          return { ...(await session.request('tools/call', named, options)), isModern: session.isModern };
        } catch (error) {
          hasBegun = !(error instanceof SessionLost);
          throw error;
        }
      });
      const outcome = outcomeOf(response);
      if (outcome !== 'OK') span?.fail(outcome === 'TOOL_ERROR' ? 'tool_error' : outcome);
      return response;
    });
  } catch (error) {
    if (hasBegun && mayHaveRun(error)) call.context.onUnknownOutcome?.();
    else await approval?.giveBack();
    throw error;
  }
}

/** Whether the server may have run a call that failed with this error. */
export function mayHaveRun(error: unknown): boolean {
  if (error instanceof UpstreamError) return error.reason !== 'UPSTREAM_RATE_LIMITED';
  return !(error instanceof AuthorizationRequiredError || error instanceof TooManyAtOnceError);
}
