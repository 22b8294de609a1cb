import { sql } from 'kysely';
import { z } from 'zod';
import type { McpConnectionId } from '../../../core/ids.ts';
import { DomainError } from '../../../core/errors.ts';
import { FairShares, inSlot } from '../../../core/fair-shares.ts';
import { type JobContext, jobHandler } from '../../../core/jobs.ts';
import { queriesOn } from '../../../core/postgres/reading/queries.ts';
import { McpConnection, type McpConnectionTables } from '../entity.ts';
import { useServer } from '../remote/session.ts';
import { usableToken } from './token-refresh.ts';

/**
 * Refreshes due tokens of connections that nobody uses, so that refresh tokens do not expire by inactivity and lost authorizations are
 * noticed early. The job is safe to run twice or concurrently. No server and no organization can hold up the refreshes of others: each
 * connection has its turn once in a run and for a limited time, and organizations take turns.
 */
export const mcpRefreshJob = jobHandler({
  queue: 'mcp-refresh',
  data: z.unknown(),
  schedule: '* * * * *',
  run: refreshDue,
});

/** Number of servers that are called concurrently, and of those of one organization. */
const MAX_CONCURRENT = 16;
const MAX_CONCURRENT_OF_ORGANIZATION = 2;
/** Time for the requests to a server. */
export const REFRESH_TIMEOUT_MS = 10_000;
/** A run ends before the next one is due. */
const RUN_MS = 50_000;
const BATCH = 200;
const BATCH_OF_ORGANIZATION = 8;

const db = queriesOn<McpConnectionTables>();

/**
 * Connections whose tokens are due, some of each organization, the longest due first. Connections that are being refreshed or that failed
 * recently are skipped, and those that had their turn in this run.
 */
const dueExcept = (done: readonly McpConnectionId[], at: string) =>
  db
    .selectFrom((eb) =>
      eb
        .selectFrom('mcp_connection')
        .select(['id', 'organization_id as organizationId', 'refresh_after as dueAt'])
        .select(sql<number>`row_number() over (partition by organization_id order by refresh_after, id)`.as('turn'))
        .where('auth_type', '=', 'oauth')
        .where('refresh_after', '<=', at)
        .where(sql<boolean>`id <> all(${done}::uuid[])`)
        .where((or) => or.or([or('refresh_not_before', 'is', null), or('refresh_not_before', '<=', at)]))
        .where((or) =>
          or.or([or('refresh_lease_until', 'is', null), or('refresh_lease_until', '<', sql<string>`now()`)]),
        )
        .as('due'),
    )
    .select(['id', 'organizationId'])
    .where('turn', '<=', BATCH_OF_ORGANIZATION)
    .orderBy('turn')
    .orderBy('dueAt')
    .orderBy('id')
    .limit(BATCH);

async function refreshDue(context: JobContext): Promise<void> {
  const { sql: reader, now, signal } = context;
  const until = performance.now() + RUN_MS;
  const turns = new FairShares({ name: 'refresh job', slots: MAX_CONCURRENT, waitMs: RUN_MS });
  const done: McpConnectionId[] = [];
  const running = new Set<Promise<void>>();
  const isOver = () => signal.aborted || performance.now() > until;
  while (!isOver()) {
    const due = turns.isFull ? [] : await reader.all(dueExcept(done, now().toISOString()));
    for (const { id, organizationId: organization } of due) {
      const owner = {
        kind: 'organization',
        person: organization,
        max: MAX_CONCURRENT_OF_ORGANIZATION,
        organization,
      } as const;
      const turn = inSlot(turns.takeAgain(owner), async () => (isOver() ? undefined : keep(context, id))).finally(() =>
        running.delete(turn),
      );
      done.push(id);
      running.add(turn);
    }
    if (running.size === 0) break;
    await Promise.race(running);
  }
  await Promise.all(running);
  signal.throwIfAborted();
}

/** Refreshes one connection. A failure is recorded in its status and does not fail the job. */
async function keep(context: JobContext, id: McpConnectionId): Promise<void> {
  try {
    await usableToken(context, id, { timeoutMs: REFRESH_TIMEOUT_MS });
    const connection = await context.em.fork().findOne(McpConnection, { id });
    // With new tokens the server may work again.
    if (connection?.status === 'UNREACHABLE' && connection.refreshFailures === 0)
      await useServer(context, connection, async () => undefined, REFRESH_TIMEOUT_MS);
  } catch (error) {
    if (!(error instanceof DomainError))
      context.log.warn({ err: error, connectionId: id }, 'the tokens of an MCP connection could not be refreshed');
  }
}
