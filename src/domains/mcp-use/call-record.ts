import { type ToolCallOutcome, auditEntry } from '../../core/audit.ts';
import type { SessionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { TOOL_CALL_TARGET } from '../../core/tool-call-audit.ts';
import type { UsableConnection } from '../mcp-connections/public.ts';

const MAX_TOOL_NAME = 200;

export interface CallRecord {
  /** Completes the record, once. */
  readonly end: (end: { readonly outcome: ToolCallOutcome; readonly bytes: number }) => Promise<void>;
}

/**
 * Opens the audit log entry of the call of a tool, and counts the call when it ends. Neither arguments nor results are recorded.
 * An entry that is never completed belongs to a process that has died.
 */
export async function beginRecord(
  context: OperationContext,
  { id }: Pick<UsableConnection, 'id'>,
  toolName: unknown,
  sessionId: SessionId | null = null,
): Promise<CallRecord> {
  const entry = auditEntry(context, 'callMcpTool', { type: TOOL_CALL_TARGET, id });
  await context.toolCallAudit.open(entry, { toolName: recorded(toolName), sessionId });
  const started = performance.now();
  let isOpen = true;
  return {
    end: async ({ outcome, bytes }) => {
      if (!isOpen) return;
      isOpen = false;
      const ms = performance.now() - started;
      context.observeToolCall({ outcome, seconds: ms / 1000 });
      await context.toolCallAudit.complete(entry, { outcome, bytes, durationMs: Math.round(ms) }).catch(
        // The answer of the server is worth more than its record.
        (error: unknown) => void context.toDomainError(error),
      );
    },
  };
}

/** The name as it can be stored: cut, and without NUL characters and lone surrogates. */
function recorded(name: unknown): string {
  return typeof name === 'string' ? name.slice(0, MAX_TOOL_NAME).toWellFormed().replaceAll('\0', '\uFFFD') : '';
}
