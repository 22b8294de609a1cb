import type { SessionId } from '../../core/ids.ts';
import type { SessionState } from './vocabulary.ts';

export interface SessionStateFlags {
  readonly isQueued: boolean;
  readonly isCancelled: boolean;
  readonly isCompleted: boolean;
  readonly isFailed: boolean;
  readonly inProgress: boolean;
  readonly current: SessionState;
}

/** The documented state object (Workspace Management API, section 3), whose booleans follow from the state. */
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

/** URL of the console page of a session. */
export function htmlUrlOf(sessionId: SessionId, publicUrl: string): string {
  return `${publicUrl}/sessions/${sessionId}`;
}
