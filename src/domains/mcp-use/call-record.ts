import { randomUUID } from 'node:crypto';
import { type ToolCallOutcome, auditEntry } from '../../core/audit.ts';
import { DomainError } from '../../core/errors.ts';
import type { SessionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { TOOL_CALL_TARGET } from '../../core/tool-call-audit.ts';
import { appendSessionEvents, appendSessionEventsInput } from '../session-events/public.ts';
import type { Call } from './call.ts';

/** What is recorded of the call of a tool: an entry of the audit log, a measurement, and two events of the session that it belongs to. */

const MAX_TOOL_NAME = 200;
/** Maximum size of the arguments and the output in events. */
const MAX_RECORDED = 64 * 1024;

export interface RecordedTool {
  /** The name at the server. */
  readonly tool: unknown;
  /** Where the call has events. The name is that for the caller. */
  readonly session?: { readonly id: SessionId; readonly name: string; readonly args: object } | undefined;
}

export interface CallEnd {
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
function cutName(name: unknown): string {
  return typeof name === 'string' ? withoutInvalid(name.slice(0, MAX_TOOL_NAME)) : '';
}

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

function withoutInvalid(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}
