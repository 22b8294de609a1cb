import type { McpConnectionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import type { UsableConnection } from '../mcp-connections/public.ts';
import { Deadline, type Bounds } from './deadline.ts';
import type { Message } from './message.ts';

/** One exchange with the server of a connection. */
export interface Call {
  readonly context: OperationContext;
  readonly connection: UsableConnection;
  /** The message of a client that is passed on; absent if the gateway writes it, and for GET and DELETE. */
  readonly message?: Message | undefined;
  readonly deadline: Deadline;
  /** Ends its deadline, and counts it no longer. */
  readonly end: () => void;
}

interface Wanted extends Pick<Call, 'context' | 'connection' | 'message'> {
  /** Aborts when the caller leaves. */
  readonly signal: AbortSignal | undefined;
  readonly bounds: Bounds;
}

/** Counts an exchange in one of the ways of `limits.ts`, and begins its deadline. @throws DomainError (429) */
export function beginCall(
  count: (context: OperationContext, id: McpConnectionId) => () => void,
  { signal, bounds, ...call }: Wanted,
): Call {
  const endCount = count(call.context, call.connection.id);
  const deadline = new Deadline(signal, bounds);
  return {
    ...call,
    deadline,
    end: () => {
      deadline.end();
      endCount();
    },
  };
}
