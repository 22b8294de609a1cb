import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import type { OrganizationId } from '../../core/ids.ts';
import { ERASED } from '../../core/stored-answers.ts';
import { rotate } from '../../core/secrets/secret-store.ts';
import { type SecretBox, SecretError } from '../../core/secrets/secrets.ts';
import type { Readable } from '../../core/postgres/reading/queries.ts';
import { IdempotencyKey, type IdempotencyTables, placeOfAnswer } from './entity.ts';

/** Maintenance of stored answers: deletes expired ones, and encrypts them again when the encryption key changes. */

/** Deletes a batch of expired keys, except those that are being reused now. @returns how many were deleted. */
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

/** Deletes a batch of the keys that were used in an organization, with their answers. @returns how many were deleted. */
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

/**
 * Encrypts again every stored answer that is not encrypted with the current key. Answers that cannot be decrypted are skipped; they expire.
 * @returns how many were encrypted again.
 */
export const rotateAnswers = (em: EntityManager, box: SecretBox): Promise<number> =>
  rotate<IdempotencyKey>(em, {
    read: (transaction, after, limit) =>
      transaction.find(
        IdempotencyKey,
        { answer: { $gt: ERASED }, ...(after && followers(after)) },
        {
          orderBy: { user: 'asc', digest: 'asc' },
          limit,
          lockMode: LockMode.PESSIMISTIC_WRITE,
        },
      ),
    reseal: async (row) => row.answer != null && box.isStale(row.answer) && reseal(row, row.answer, box),
  });

const followers = ({ user, digest }: IdempotencyKey) => ({
  $or: [{ user: { $gt: user.id } }, { user: user.id, digest: { $gt: digest } }],
});

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
