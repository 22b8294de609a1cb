import { notFound } from '../../core/errors.ts';
import type { OperationContext } from '../../core/operation.ts';
import { apiKeyTopic } from '../api-keys/entity.ts';
import type { McpConnectionReference } from './input.ts';
import { readMcpConnections } from './operations.ts';
import type { McpConnectionRow } from './queries.ts';
import { standingOf, topicOf } from './status.ts';

/** What has happened to a connection that is followed. */
export type McpConnectionChange = { readonly connection: McpConnectionRow } | { readonly deletedId: string };

/**
 * Follows a connection: as it is now, then each time it has changed, whichever process changed it. Changes in quick succession may come as
 * one. Ends with its deletion.
 * @throws NotFoundError when it cannot be seen at the start.
 */
export async function* followMcpConnection(
  context: OperationContext,
  { mcpConnectionId }: McpConnectionReference,
): AsyncGenerator<McpConnectionChange, void, undefined> {
  const { signal } = context;
  // A revoked key changes no row of the connection.
  const topics = [topicOf(mcpConnectionId), apiKeyTopic(context.actor.keyId)];
  const live = context.liveTails.open(context.actor, topics, signal);
  let last: string | undefined;
  try {
    for (let { actor } = context; signal?.aborted !== true; actor = await context.authenticateAgain()) {
      context.budget.renew();
      const [row] = await readMcpConnections({ ...context, actor }, [mcpConnectionId]);
      if (!row && last === undefined) throw notFound('MCP connection');
      if (!row) {
        yield { deletedId: mcpConnectionId };
        return;
      }
      // An authorization that is not completed in time changes no row.
      const state = JSON.stringify([row, standingOf(row, context.now())]);
      if (state !== last) yield { connection: row };
      last = state;
      await live.changed();
    }
  } finally {
    live.close();
  }
}
