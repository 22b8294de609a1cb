import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { requireOrganization } from '../../core/access.ts';
import type { SessionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type Readable, anyOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { SessionTables } from '../sessions/public.ts';
import type { SessionEventTables } from './entity.ts';
import { keyFrom } from './line-keys.ts';

/**
 * The usage of a message counts once for an owner and an agent, in the session where it was recorded first: forks and continued files repeat the
 * messages before.
 */

const db = queriesOn<SessionEventTables & SessionTables>();

export const messageKey = (id: string) => keyFrom(`message ${id}`);

/** The messages that count in another session. */
export async function countedElsewhere(
  { sql: reader, actor }: OperationContext,
  sessionId: SessionId,
  ids: Iterable<string>,
): Promise<string[]> {
  const byKey = new Map(Array.from(ids, (id) => [messageKey(id), id]));
  const rows = await reader.primary.all(
    db
      .selectFrom('session as s')
      .innerJoin('counted_message as c', (join) =>
        join
          .onRef('c.organization_id', '=', 's.organization_id')
          .onRef('c.owner_id', '=', 's.creator_id')
          .on(sql<boolean>`c.agent = coalesce(s.agent, '')`)
          .onRef('c.session_id', '<>', 's.id'),
      )
      .select('c.message')
      .where('s.id', '=', sessionId)
      .where('s.organization_id', '=', requireOrganization(actor).id)
      .where('c.message', '=', anyOf('uuid', [...byKey.keys()])),
  );
  return rows.flatMap(({ message }) => byKey.get(message) ?? []);
}

const tablesOf = (em: EntityManager) => em.getKysely<Readable<SessionEventTables>>();

/** Messages of a deleted session count for so long, in case that a fork of it is imported. */
export async function letExpire(em: EntityManager, sessionId: SessionId, organizationId: string): Promise<void> {
  await tablesOf(em)
    .updateTable('counted_message')
    .set({ expires_at: sql<string>`now() + interval '90 days'` })
    .where('session_id', '=', sessionId)
    .where('organization_id', '=', organizationId)
    .execute();
}

/** Deletes a batch of expired messages. @returns how many */
export async function deleteExpired(em: EntityManager, at: Date, batch: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from counted_message where (organization_id, owner_id, agent, message) in (
      select organization_id, owner_id, agent, message from counted_message where expires_at < ${at} limit ${batch})`.execute(
    em.getKysely(),
  );
  return Number(numAffectedRows);
}

/** Forgets a batch of the messages of a deleted account. @returns how many */
export async function forgetMessagesOf(em: EntityManager, ownerId: string, batch: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from counted_message where owner_id = ${ownerId}::uuid and (organization_id, agent, message) in (
      select organization_id, agent, message from counted_message where owner_id = ${ownerId}::uuid limit ${batch})`.execute(
    em.getKysely(),
  );
  return Number(numAffectedRows);
}
