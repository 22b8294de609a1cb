import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { listOf } from './postgres/reading/queries.ts';

/** What is stored in place of an answer that was erased: the request has succeeded, so it must not run again. */
export const ERASED = '';

/**
 * Erases the answers that are stored for idempotency keys, of requests that have changed these sessions: they can have texts that were
 * deleted. Their replay is refused.
 */
export async function eraseStoredAnswers(em: EntityManager, sessionIds: readonly string[]): Promise<void> {
  await sql`update idempotency_key set answer = ${ERASED}
    where target_type = 'Session' and target_id = any(${listOf('uuid', sessionIds)}) and answer is not null`.execute(
    em.getKysely(),
  );
}
