import type { SessionRow } from './queries.ts';
import type { SessionState } from './vocabulary.ts';

export interface SessionStateFlags {
  readonly isQueued: boolean;
  readonly isCancelled: boolean;
  readonly isCompleted: boolean;
  readonly isFailed: boolean;
  readonly inProgress: boolean;
  readonly current: SessionState;
}

/** The documented state object (section 3): the booleans follow from the state. */
export function stateFlags(current: SessionState): SessionStateFlags {
  return {
    isQueued: current === 'queued',
    isCancelled: current === 'cancelled',
    isCompleted: current === 'completed',
    isFailed: current === 'failed',
    inProgress: current === 'inProgress',
    current,
  };
}

/** Where people look at a session: the address that its recorder gave, else one made from ours. */
export function htmlUrlOf({ id, htmlUrl }: Pick<SessionRow, 'id' | 'htmlUrl'>, publicUrl: string): string {
  return htmlUrl ?? `${publicUrl}/sessions/${id}`;
}
