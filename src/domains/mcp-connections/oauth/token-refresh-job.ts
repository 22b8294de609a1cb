import { sql } from 'kysely';
import { z } from 'zod';
import { DomainError } from '../../../core/errors.ts';
import { type JobContext, jobHandler } from '../../../core/jobs.ts';
import { queriesOn } from '../../../core/postgres/queries.ts';
import { McpConnection, type McpConnectionTables } from '../entity.ts';
import { useServer } from '../remote/session.ts';
import { usableToken } from './token-refresh.ts';

/**
 * Refreshes the tokens that are due while nobody uses their connection, so that refresh tokens that end by idleness live on, and a connection
 * that is lost says so before it is needed. It may be done twice, or by two at once.
 */
export const mcpRefreshJob = jobHandler({
  queue: 'mcp-refresh',
  data: z.unknown(),
  schedule: '* * * * *',
  run: refreshDue,
});

const BATCH = 100;
/** Servers that are asked at a time: each may take as long as its bounds allow. */
const AT_ONCE = 8;

const db = queriesOn<McpConnectionTables>();

/** A batch of those that are due. Those that are being refreshed, or failed a moment ago, are left to others and to later. */
const dueAfter = (id: string, at: string) =>
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

/** What goes wrong is written on the connection; it is no fault of the job. */
async function keep(context: JobContext, id: string): Promise<void> {
  try {
    await usableToken(context, id);
    const connection = await context.em.fork().findOne(McpConnection, { id });
    // With new tokens it may work again.
    if (connection?.status === 'UNREACHABLE' && connection.refreshFailures === 0)
      await useServer(context, connection, async () => undefined);
  } catch (error) {
    if (!(error instanceof DomainError))
      context.log.warn({ err: error, connectionId: id }, 'an MCP connection could not be kept');
  }
}
