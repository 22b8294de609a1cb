import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import type { OrganizationId } from '../../core/ids.ts';
import { type SecretBox, SecretError } from '../../core/secrets/secrets.ts';
import type { Readable } from '../../core/postgres/queries.ts';
import { IdempotencyKey, type IdempotencyTables, placeOfAnswer } from './entity.ts';

/** What becomes of stored answers: they expire, and they are sealed again when the encryption key changes. */

/** Deletes a batch of the keys that are over, but for those that are being taken again. @returns how many. */
export async function deleteExpiredKeys(em: EntityManager, at: Date, batch: number): Promise<number> {
  const tables = em.getKysely<Readable<IdempotencyTables>>();
  const expired = tables
    .selectFrom('idempotency_key')
    .select(['user_id', 'digest'])
    .where('expires_at', '<=', at.toISOString())
    .orderBy('expires_at')
    .limit(batch)
    .forUpdate()
    .skipLocked();
  const { numDeletedRows } = await tables
    .deleteFrom('idempotency_key')
    .where((eb) => eb(eb.refTuple('user_id', 'digest'), 'in', expired.$asTuple('user_id', 'digest')))
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/** Deletes a batch of the keys that were used in an organization, with their answers. @returns how many. */
export async function deleteKeysOfOrganization(
  em: EntityManager,
  organizationId: OrganizationId,
  batch: number,
): Promise<number> {
  const tables = em.getKysely<Readable<IdempotencyTables>>();
  const some = tables
    .selectFrom('idempotency_key')
    .select(['user_id', 'digest'])
    .where('organization_id', '=', organizationId)
    .limit(batch);
  const { numDeletedRows } = await tables
    .deleteFrom('idempotency_key')
    .where((eb) => eb(eb.refTuple('user_id', 'digest'), 'in', some.$asTuple('user_id', 'digest')))
    .executeTakeFirst();
  return Number(numDeletedRows);
}

const ROTATION_BATCH = 200;

/**
 * Seals every stored answer again that is not sealed under the current key, in batches of their own transactions: it may be stopped at any
 * point and run again. One that cannot be opened is of no use to anybody; it is left alone, and expires.
 * @returns how many were sealed again.
 */
export async function rotateAnswers(em: EntityManager, box: SecretBox): Promise<number> {
  let rotated = 0;
  let after = { user: '00000000-0000-0000-0000-000000000000', digest: '' };
  for (;;) {
    const from = after;
    const batch = await em.fork().transactional(async (transaction) => {
      const rows = await transaction.find(
        IdempotencyKey,
        {
          answer: { $ne: null },
          $or: [{ user: { $gt: from.user } }, { user: from.user, digest: { $gt: from.digest } }],
        },
        { orderBy: { user: 'asc', digest: 'asc' }, limit: ROTATION_BATCH, lockMode: LockMode.PESSIMISTIC_WRITE },
      );
      for (const row of rows) {
        if (row.answer != null && box.isStale(row.answer) && (await reseal(row, row.answer, box))) rotated += 1;
      }
      return rows;
    });
    const last = batch.at(-1);
    if (!last || batch.length < ROTATION_BATCH) return rotated;
    after = { user: last.user.id, digest: last.digest };
  }
}

async function reseal(row: IdempotencyKey, sealed: string, box: SecretBox): Promise<boolean> {
  const place = placeOfAnswer(row.user.id, row.digest);
  try {
    row.answer = await box.seal(await box.open(sealed, place), place);
    return true;
  } catch (error) {
    if (!(error instanceof SecretError)) throw error;
    return false;
  }
}
