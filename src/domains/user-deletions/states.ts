export const DELETION_STATES = ['queued', 'running', 'done', 'failed', 'cancelled'] as const;
export type DeletionState = (typeof DELETION_STATES)[number];
