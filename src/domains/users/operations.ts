import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { OperationContext } from '../../core/operation.ts';
import type { Readable } from '../../core/postgres/queries.ts';
import type { Columns } from '../../core/postgres/columns.ts';
import { User, type UserTables } from './entity.ts';
import { type UserRow, findUsers } from './queries.ts';

export type { UserRow } from './queries.ts';

/** Those of the ids that the caller may see: themselves, and the other members of their organization. */
export function readUsers(
  context: OperationContext,
  ids: readonly string[],
  selected?: Columns<UserRow>,
): Promise<UserRow[]> {
  return findUsers(context, ids, selected);
}

/** The user with this e-mail address, which is new when nobody has it. Part of the caller's transaction. */
export async function findOrCreateUser(
  { em, now, newId }: Pick<OperationContext, 'em' | 'now' | 'newId'>,
  email: string,
): Promise<{ user: User; isNew: boolean }> {
  const id = newId();
  await em.upsert(User, { id, email, createdAt: now() }, { onConflictFields: ['email'], onConflictAction: 'ignore' });
  const user = await em.findOneOrFail(User, { email });
  return { user, isNew: user.id === id };
}

/**
 * Locks the user until the transaction ends. `forDeletion` also waits for those who refer to the user, and keeps others from it.
 * @returns whether there is such a user.
 */
export async function lockUser(em: EntityManager, userId: string, { forDeletion = false } = {}): Promise<boolean> {
  const query = em
    .getKysely<Readable<UserTables>>()
    .selectFrom('user_account')
    .select(sql.lit(1).as('found'))
    .where('id', '=', userId);
  return (await (forDeletion ? query.forUpdate() : query.forNoKeyUpdate()).execute()).length > 0;
}

/** Takes name and e-mail address from a user whose deletion has begun. */
export async function forgetPerson(em: EntityManager, userId: string): Promise<void> {
  await em.nativeUpdate(User, { id: userId }, { email: null, name: null });
}

/** Deletes a user with all that refers to them by a foreign key that cascades. */
export async function deleteUserRow(em: EntityManager, userId: string): Promise<void> {
  await em.nativeDelete(User, { id: userId });
}
