import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { unauthenticated } from '../../core/errors.ts';
import { requireUnchanged } from '../../core/expected-version.ts';
import type { UserId } from '../../core/ids.ts';
import { ANYBODY, type OperationContext, guarded, hasAccess, requireAccess, write } from '../../core/operation.ts';
import type { Readable } from '../../core/postgres/queries.ts';
import type { Columns } from '../../core/postgres/columns.ts';
import { User, type UserTables } from './entity.ts';
import type { UpdateViewerInput } from './input.ts';
import { READ_PEOPLE, UPDATE_VIEWER } from './policy.ts';
import { type UserRow, findUsers } from './queries.ts';

export type { UserRow } from './queries.ts';

/**
 * Those of the ids that the caller may see: themselves, and the other members of their organization.
 * @throws ForbiddenError when others are asked for, and the key has no scope of the workspace API.
 */
export async function readUsers(
  context: OperationContext,
  ids: readonly UserId[],
  selected?: Columns<UserRow>,
): Promise<UserRow[]> {
  const { actor } = context;
  if (ids.some((id) => id !== actor.userId)) requireAccess(actor, READ_PEOPLE);
  return findUsers(context, ids, selected);
}

/** Likewise, without those whom the key has no business with. */
export function readVisibleUsers(
  context: OperationContext,
  ids: readonly UserId[],
  selected?: Columns<UserRow>,
): Promise<UserRow[]> {
  const { actor } = context;
  return findUsers(context, hasAccess(actor, READ_PEOPLE) ? ids : ids.filter((id) => id === actor.userId), selected);
}

/** The caller themselves. @throws DomainError 401 when their account was deleted meanwhile. */
export const readViewer = guarded(ANYBODY, async (context: OperationContext): Promise<UserRow> => {
  const [user] = await findUsers(context, [context.actor.userId]);
  if (!user) throw unauthenticated();
  return user;
});

/**
 * Changes what the caller is called; null takes the name away, and without one it stays.
 * @throws ConflictError when they were changed since `expectedUpdatedAt`.
 */
export const updateViewer = write(
  async ({ em, actor, now }, { name, expectedUpdatedAt }: UpdateViewerInput): Promise<User> => {
    const user = await em.findOne(User, { id: actor.userId }, { lockMode: LockMode.PESSIMISTIC_WRITE });
    if (!user) throw unauthenticated();
    requireUnchanged(user, { expectedUpdatedAt });
    if (name !== undefined) user.rename(name, now());
    return user;
  },
  {
    access: UPDATE_VIEWER,
    operation: 'updateViewer',
    // Users belong to no organization, and what they are called concerns all of theirs.
    target: ({ id }) => ({ type: 'User', id, organizationId: null }),
  },
);

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
export async function lockUser(em: EntityManager, userId: UserId, { forDeletion = false } = {}): Promise<boolean> {
  const query = em
    .getKysely<Readable<UserTables>>()
    .selectFrom('user_account')
    .select(sql.lit(1).as('found'))
    .where('id', '=', userId);
  return (await (forDeletion ? query.forUpdate() : query.forNoKeyUpdate()).execute()).length > 0;
}

/** Takes name and e-mail address from a user whose deletion has begun. */
export async function forgetPerson(em: EntityManager, userId: UserId): Promise<void> {
  await em.nativeUpdate(User, { id: userId }, { email: null, name: null });
}

/** Deletes a user with all that refers to them by a foreign key that cascades. */
export async function deleteUserRow(em: EntityManager, userId: UserId): Promise<void> {
  await em.nativeDelete(User, { id: userId });
}
