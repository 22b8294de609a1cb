import { notFound } from '../../core/errors.ts';
import type { OperationContext } from '../../core/operation.ts';
import { apiKeyTopic } from '../api-keys/entity.ts';
import type { McpConnectionReference } from './input.ts';
import { readMcpConnections } from './operations.ts';
import type { McpConnectionRow } from './queries.ts';
import { standingOf, topicOf } from './status.ts';

/**
 * Follows a connection: as it is now, then each time it has changed, whichever process changed it. Changes in quick succession may come as
 * one. Ends when it is deleted, or the caller may no longer see it.
 * @throws NotFoundError when it cannot be seen at the start.
 */
export async function* followMcpConnection(
  context: OperationContext,
  { mcpConnectionId }: McpConnectionReference,
): AsyncGenerator<McpConnectionRow, void, undefined> {
  const { notifier, signal, timing } = context;
  const bell = createBell();
  // A revoked key changes no row of the connection.
  const topics = [topicOf(mcpConnectionId), apiKeyTopic(context.actor.keyId)];
  const subscriptions = topics.map((topic) => notifier.subscribe(topic, bell.ring));
  signal?.addEventListener('abort', bell.ring);
  let last: string | undefined;
  try {
    for (let { actor } = context; signal?.aborted !== true; actor = await context.authenticateAgain()) {
      const [row] = await readMcpConnections({ ...context, actor }, [mcpConnectionId]);
      if (!row && last === undefined) throw notFound('MCP connection');
      if (!row) return;
      // An authorization that is not completed in time changes no row.
      const state = JSON.stringify(row && [row, standingOf(row, context.now())]);
      if (state !== last) yield row;
      last = state;
      await bell.heard(timing.mcpConnectionPollMs);
    }
  } finally {
    for (const unsubscribe of subscriptions) unsubscribe();
    signal?.removeEventListener('abort', bell.ring);
  }
}

/** Remembers one ring while nobody listens. */
function createBell() {
  let rung = false;
  let wake: (() => void) | undefined;
  return {
    ring: () => {
      rung = true;
      wake?.();
    },
    heard: async (timeoutMs: number) => {
      if (!rung) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, timeoutMs);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      rung = false;
      wake = undefined;
    },
  };
}
