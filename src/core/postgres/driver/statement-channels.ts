import { type Channel, channel } from 'node:diagnostics_channel';
import type { Pool } from 'pg';

/** What every client publishes, for tracing, for the watcher of the database's health, and for tests. */

/** A statement that has just been sent. */
export interface SentStatement {
  /** The options that its client was created with: those of its pool. */
  readonly options: object;
  readonly text: string;
  readonly values: readonly unknown[];
  /** Settles with the statement. */
  readonly done: Promise<unknown>;
}

/** A failure of a statement, or of a connection. */
export interface Failure {
  readonly options: object;
  readonly error: unknown;
}

export const SENT = channel('gateway:postgres:sent');
export const FAILED = channel('gateway:postgres:failed');

/** Observes the statements on the connections of a pool until the pool has ended. */
export function onStatement(pool: Pool, observe: (statement: SentStatement) => void): void {
  subscribe(SENT, pool, observe);
}

/** Observes the failures on the connections of a pool until the pool has ended. */
export function onFailure(pool: Pool, observe: (failure: Failure) => void): void {
  subscribe(FAILED, pool, observe);
}

function subscribe<Message extends SentStatement | Failure>(
  to: Channel,
  pool: Pool,
  observe: (message: Message) => void,
): void {
  const listener = (message: unknown) => {
    // Each channel has one type of message.
    const published = message as Message;
    if (published.options === pool.options) observe(published);
    else if (pool.ended) to.unsubscribe(listener);
  };
  to.subscribe(listener);
}
