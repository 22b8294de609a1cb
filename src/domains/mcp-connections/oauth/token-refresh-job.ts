import { sql } from 'kysely';
import { z } from 'zod';
import type { McpConnectionId } from '../../../core/ids.ts';
import { DomainError } from '../../../core/errors.ts';
import { type JobContext, jobHandler } from '../../../core/jobs.ts';
import { queriesOn } from '../../../core/postgres/reading/queries.ts';
import { McpConnection, type McpConnectionTables } from '../entity.ts';
import { useServer } from '../remote/session.ts';
import { usableToken } from './token-refresh.ts';

/**
 * Refreshes due tokens of connections that nobody uses, so that refresh tokens do not expire by inactivity and lost authorizations are
 * noticed early. The job is safe to run twice or concurrently.
 */
export const mcpRefreshJob = jobHandler({
  queue: 'mcp-refresh',
  data: z.unknown(),
  schedule: '* * * * *',
  run: refreshDue,
});

const BATCH = 100;
/** Number of servers that are called concurrently. */
const AT_ONCE = 8;

const db = queriesOn<McpConnectionTables>();

/** A batch of connections whose tokens are due. Connections that are being refreshed or that failed recently are skipped. */
const dueAfter = (id: McpConnectionId, at: string) =>
  db
    .selectFrom('mcp_connection')
    .select('id')
    .where('auth_type', '=', 'oauth')
    .where('refresh_after', '<=', at)
    .where('id', '>', id)
    .where((eb) => eb.or([eb('refresh_not_before', 'is', null), eb('refresh_not_before', '<=', at)]))
    .where((eb) => eb.or([eb('refresh_lease_until', 'is', null), eb('refresh_lease_until', '<', sql<string>`now()`)]))
    .orderBy('id')
    .limit(BATCH);
const FIRST = '00000000-0000-0000-0000-000000000000';

async function refreshDue(context: JobContext): Promise<void> {
  const { sql: reader, now, signal } = context;
  let after = FIRST;
  for (;;) {
    const due = await reader.all(dueAfter(after, now().toISOString()));
    const waiting = due.map(({ id }) => id);
    const work = async () => {
      for (let id = waiting.shift(); id !== undefined && !signal.aborted; id = waiting.shift()) await keep(context, id);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    signal.throwIfAborted();
    after = due.at(-1)?.id ?? after;
    if (due.length < BATCH) return;
  }
}

/** Refreshes one connection. A failure is recorded in its status and does not fail the job. */
async function keep(context: JobContext, id: McpConnectionId): Promise<void> {
  try {
    await usableToken(context, id);
    const connection = await context.em.fork().findOne(McpConnection, { id });
    // With new tokens the server may work again.
    if (connection?.status === 'UNREACHABLE' && connection.refreshFailures === 0)
      await useServer(context, connection, async () => undefined);
  } catch (error) {
    if (!(error instanceof DomainError))
      context.log.warn({ err: error, connectionId: id }, 'the tokens of an MCP connection could not be refreshed');
  }
}
