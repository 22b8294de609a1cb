import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { ConflictError, unauthenticated } from '../../core/errors.ts';
import { requireUnchanged } from '../../core/input/expected-version.ts';
import type { OrganizationId, ServiceAccountId, UserId } from '../../core/ids.ts';
import { lockName } from '../../core/postgres/advisory-lock.ts';
import { hasAccess, requireAccess } from '../../core/access.ts';
import { type OperationContext, defineOperation, unchanged } from '../../core/operation.ts';
import { type Readable, anyOf } from '../../core/postgres/reading/queries.ts';
import type { Columns } from '../../core/postgres/reading/columns.ts';
import { User, type UserTables } from './entity.ts';
import { readViewerInput, updateViewerInput } from './input.ts';
import { READ_PEOPLE, READ_VIEWER, UPDATE_VIEWER } from './policy.ts';
import {
  type ActorRow,
  type ServiceAccountRow,
  type UserRow,
  findActors,
  findUsers,
  isServiceAccount,
} from './queries.ts';

/**
 * The users with these ids that the caller can see: themselves and other members of the acting organization.
 * @throws ForbiddenError for other users when the key has no scope of the workspace API.
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

/** The authors with these ids that the caller can see: people as in `readUsers`, and service accounts of the acting organization. */
export async function readActors(
  context: OperationContext,
  ids: readonly UserId[],
  selected?: Columns<ActorRow>,
): Promise<ActorRow[]> {
  if (ids.some((id) => id !== context.actor.userId)) requireAccess(context.actor, READ_PEOPLE);
  return findActors(context, ids, selected);
}

/** The service accounts with these ids that `readActors` finds. Without a scope of the workspace API only the caller itself. */
export async function readServiceAccounts(
  context: OperationContext,
  ids: readonly ServiceAccountId[],
  selected?: Columns<ActorRow>,
): Promise<ServiceAccountRow[]> {
  return (await readVisibleActors(context, ids, selected)).filter(isServiceAccount);
}

/** Like `readActors`, but leaves out others instead of throwing when the key has no scope of the workspace API. */
export function readVisibleActors(
  context: OperationContext,
  ids: readonly UserId[],
  selected?: Columns<ActorRow>,
): Promise<ActorRow[]> {
  const { actor } = context;
  return findActors(context, hasAccess(actor, READ_PEOPLE) ? ids : ids.filter((id) => id === actor.userId), selected);
}

/** Like `readUsers`, but leaves out other users instead of throwing when the key has no scope of the workspace API. */
export function readVisibleUsers(
  context: OperationContext,
  ids: readonly UserId[],
  selected?: Columns<UserRow>,
): Promise<UserRow[]> {
  const { actor } = context;
  return findUsers(context, hasAccess(actor, READ_PEOPLE) ? ids : ids.filter((id) => id === actor.userId), selected);
}

/** Reads the caller. @throws DomainError (401) when their account was deleted in the meantime. */
export const readViewer = defineOperation({
  name: 'readViewer',
  description: 'Reads the user who owns the API key.',
  access: READ_VIEWER,
  input: readViewerInput,
  run: async (context): Promise<UserRow> => {
    const [user] = await findUsers(context, [context.actor.userId]);
    if (!user) throw unauthenticated();
    return user;
  },
});

export const updateViewer = defineOperation({
  name: 'updateViewer',
  description: "Changes the caller's name, which is shown in all of their organizations.",
  access: UPDATE_VIEWER,
  input: updateViewerInput,
  errors: [ConflictError],
  run: async ({ em, actor, now }, { name, expectedUpdatedAt }) => {
    const user = await em.findOne(User, { id: actor.userId }, { lockMode: LockMode.PESSIMISTIC_WRITE });
    if (!user) throw unauthenticated();
    requireUnchanged(user, { expectedUpdatedAt }, { type: 'User', key: user.id });
    if (name === undefined) return unchanged(user);
    user.rename(name, now());
    return user;
  },
  // A user belongs to no organization, so the audit log entry belongs to none.
  target: ({ id }) => ({ type: 'User', id, organizationId: null, changedFields: ['name'] }),
});

/** Finds the user with this e-mail address, or creates it, in the caller's transaction. */
export async function findOrCreateUser(
  { em, now, newId }: Pick<OperationContext, 'em' | 'now' | 'newId'>,
  email: string,
): Promise<{ user: User; isNew: boolean }> {
  const id = newId();
  await em.upsert(User, { id, email, createdAt: now() }, { onConflictFields: ['email'], onConflictAction: 'ignore' });
  const user = await em.findOneOrFail(User, { email });
  return { user, isNew: user.id === id };
}

/** Gives an account another address, in the caller's transaction. @returns false if somebody else has it. */
export async function changeAddress(em: EntityManager, user: User, email: string, at: Date): Promise<boolean> {
  await lockName(em, `address ${email}`);
  if ((await em.count(User, { email })) > 0) return false;
  user.email = email;
  user.updatedAt = at;
  await em.flush();
  return true;
}

/**
 * Locks the account until the transaction ends. `forDeletion` also waits for transactions that insert rows referring to
 * the user, and blocks new ones.
 * @returns whether the account exists.
 */
export async function lockUser(em: EntityManager, userId: UserId, { forDeletion = false } = {}): Promise<boolean> {
  const query = em
    .getKysely<Readable<UserTables>>()
    .selectFrom('user_account')
    .select(sql.lit(1).as('found'))
    .where('id', '=', userId)
    .where('service_deleted_at', 'is', null);
  return (await (forDeletion ? query.forUpdate() : query.forNoKeyUpdate()).execute()).length > 0;
}

/** Clears the name and e-mail address of a user whose deletion has begun. */
export async function forgetPerson(em: EntityManager, userId: UserId): Promise<void> {
  await em.nativeUpdate(User, { id: userId }, { email: null, name: null });
}

/** Deletes a user and all rows that refer to it by a cascading foreign key. */
export async function deleteUserRow(em: EntityManager, userId: UserId): Promise<void> {
  await em.nativeDelete(User, { id: userId });
}

/** Deletes the service accounts of organizations that end, in the caller's transaction. @returns their ids. */
export async function endServiceAccounts(
  em: EntityManager,
  organizationIds: readonly OrganizationId[],
): Promise<ServiceAccountId[]> {
  if (organizationIds.length === 0) return [];
  const ended = await em
    .getKysely<Readable<UserTables>>()
    .updateTable('user_account')
    .set({ name: null, service_deleted_at: sql`current_timestamp` })
    .where('service_organization_id', '=', anyOf('uuid', organizationIds))
    .where('service_deleted_at', 'is', null)
    .returning('id')
    .execute();
  return ended.map(({ id }) => id);
}

/** Deletes a batch of the rows of the service accounts of an organization that is deleted. @returns their ids. */
export async function deleteServiceAccountRows(
  em: EntityManager,
  organizationId: OrganizationId,
  batch: number,
): Promise<ServiceAccountId[]> {
  const tables = em.getKysely<Readable<UserTables>>();
  const some = tables
    .selectFrom('user_account')
    .select('id')
    .where('service_organization_id', '=', organizationId)
    .limit(batch);
  const deleted = await tables.deleteFrom('user_account').where('id', 'in', some).returning('id').execute();
  return deleted.map(({ id }) => id);
}
