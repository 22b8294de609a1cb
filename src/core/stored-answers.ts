import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { OrganizationId } from './ids.ts';
import { lockName } from './postgres/advisory-lock.ts';
import { listOf } from './postgres/reading/queries.ts';

/** What is stored in place of an answer that was erased: the request has succeeded, so it must not run again. */
export const ERASED = '';

/**
 * Erases the answers that are stored for idempotency keys, of requests that have changed these sessions, or whose answers have sessions, occurrences or
 * registered identifiers beside the changed object: they can have texts that were deleted. Their replay is refused.
 */
export async function eraseStoredAnswers(
  em: EntityManager,
  organizationId: OrganizationId,
  sessionIds: readonly string[],
): Promise<void> {
  const erased = sql`update idempotency_key set answer = ${ERASED} where answer is not null and answer <> ${ERASED} and`;
  // One statement, because sessions are locked meanwhile. Each part has its own index.
  await sql`with changed as (${erased} target_type = 'Session' and target_id = any(${listOf('uuid', sessionIds)}))
    ${erased} organization_id = ${organizationId}::uuid and has_sessions`.execute(em.getKysely());
}

const lockOf = (organizationId: OrganizationId) => `answers with sessions ${organizationId}`;

/** Call before the texts of sessions are read for an answer that is stored in this transaction. */
export const lockForAnswer = (em: EntityManager, organizationId: OrganizationId): Promise<void> =>
  lockName(em, lockOf(organizationId), { isShared: true });

/** Erases also the answers of requests that have read texts before these were gone: it waits until they have ended. The caller holds no locks. */
export async function eraseLateAnswers(
  em: EntityManager,
  organizationId: OrganizationId,
  sessionIds: readonly string[],
): Promise<void> {
  await em.transactional(async (transaction) => {
    await lockName(transaction, lockOf(organizationId));
    await eraseStoredAnswers(transaction, organizationId, sessionIds);
  });
}
