import { LRUCache } from 'lru-cache';
import { type RawBuilder, sql } from 'kysely';
import { type AuditTables, auditEntry, recordAudits } from '../../core/audit.ts';
import type { SessionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { lockName } from '../../core/postgres/advisory-lock.ts';
import { type Readable, anyOf } from '../../core/postgres/reading/queries.ts';
import type { ApiKeyTables } from '../api-keys/public.ts';
import type { SessionTables } from './entity.ts';
import { callerOf } from './policy.ts';

/** The operation of the entries. */
export const READ_PRIVATE_SESSION = 'readPrivateSession';

/** Private sessions whose reads by somebody on a day need no further entry. */
const newKnown = () => new LRUCache<string, true>({ max: 10_000 });

/** The id of the session `s` if it is a private one of somebody else. */
export const foreignSession = (userId: RawBuilder<unknown>) =>
  sql<SessionId | null>`case when s.visibility = 'private' and s.creator_id is distinct from ${userId}::uuid then s.id end`;

/**
 * Writes an audit log entry for each of these sessions that is a private one of somebody else, once for each administrator and UTC day. Call it
 * before the answer: what cannot be recorded is not read.
 */
export async function recordPrivateReads(context: OperationContext, sessionIds: Iterable<SessionId>): Promise<void> {
  const { role, userId, organizationId } = callerOf(context.actor);
  if (role !== 'admin') return;
  const day = context.now().toISOString().slice(0, 10);
  const known = context.caches.of(newKnown);
  const keyOf = (id: SessionId) => `${userId} ${id} ${day}`;
  const unknown = [...new Set(sessionIds)].filter((id) => !known.has(keyOf(id)));
  if (unknown.length === 0) return;
  const found = await context.em.fork().transactional(async (em) => {
    const tables = em.getKysely<Readable<SessionTables & AuditTables & ApiKeyTables>>();
    const sessions = await tables
      .selectFrom('session')
      .select(['id', 'creator_id as creatorId'])
      .where('id', '=', anyOf('uuid', unknown))
      .where('organization_id', '=', organizationId)
      .where('visibility', '=', 'private')
      .execute();
    const ids = sessions.flatMap(({ id, creatorId }) => (creatorId === userId ? [] : [id]));
    if (ids.length === 0) return sessions;
    await lockName(em, `private reads of ${userId}`);
    const recorded = await tables
      .selectFrom('audit_entry as a')
      .innerJoin('api_key as k', 'k.id', 'a.key_id')
      .select(sql<string>`a.target_id`.as('id'))
      .where('a.target_id', '=', anyOf('uuid', ids))
      .where('a.occurred_at', '>=', `${day}T00:00:00Z`)
      .where('a.operation', '=', READ_PRIVATE_SESSION)
      .where('k.user_id', '=', userId)
      .execute();
    const done = new Set(recorded.map(({ id }) => id));
    const entries = ids.filter((id) => !done.has(id)).map((id) => ({ type: 'Session' as const, id }));
    await recordAudits(
      em,
      entries.map((target) => auditEntry(context, READ_PRIVATE_SESSION, target)),
    );
    return sessions;
  });
  for (const { id } of found) known.set(keyOf(id), true);
}
