import { randomUUID } from 'node:crypto';
import { DomainError } from '../../core/errors.ts';
import type { SessionId } from '../../core/ids.ts';
import { isObject } from '../../core/is-object.ts';
import type { OperationContext } from '../../core/operation.ts';
import { appendSessionEvents, appendSessionEventsInput } from '../session-events/public.ts';

/** The call of a tool as two events of the session that it belongs to. */

/** Maximum size of recorded arguments and output. */
const MAX_RECORDED = 64 * 1024;

export interface SessionRecord {
  readonly end: (result: { readonly isError: boolean; readonly output: string }) => Promise<void>;
}

/** Appends the event of the call. @throws NotFoundError, ForbiddenError and ConflictError like `appendSessionEvents`. */
export async function beginSessionRecord(
  context: OperationContext,
  sessionId: SessionId,
  { toolName, args }: { readonly toolName: string; readonly args: object },
): Promise<SessionRecord> {
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
  return {
    end: async ({ isError, output }) => {
      const text = storable(output);
      const toolResult = isError
        ? { status: 'error', output: text, error: text }
        : { status: 'completed', output: text };
      await append('tool_result', { toolResult }).catch((error: unknown) => {
        // The call was made, so its result is answered even if the session has ended meanwhile.
        if (!(error instanceof DomainError)) context.toDomainError(error);
      });
    },
  };
}

/** A text as events can store it: cut at 64 KiB, without NUL characters and lone surrogates. */
function storable(text: string): string {
  const whole = text.toWellFormed().replaceAll('\0', '\uFFFD');
  if (Buffer.byteLength(whole) <= MAX_RECORDED) return whole;
  // A character that was cut becomes a replacement character, which is removed.
  return Buffer.from(whole)
    .subarray(0, MAX_RECORDED)
    .toString()
    .replace(/\uFFFD$/, '');
}

/** The output of a tool as text: its text blocks, and the type of all others. */
export function outputOf(content: readonly unknown[]): string {
  return content
    .map((block) => {
      if (!isObject(block)) return '';
      return typeof block['text'] === 'string' ? block['text'] : `[${String(block['type'])}]`;
    })
    .join('\n');
}
