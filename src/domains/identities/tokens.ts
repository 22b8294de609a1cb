import { createHash, randomBytes } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { operatorEntry, recordAudit } from '../../core/audit.ts';
import { notFound } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { WorkContext } from '../../core/operation.ts';
import { type Readable, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import { User } from '../users/public.ts';
import { type IdentityTables, SignInToken } from './entity.ts';
import { recordedIn } from './recorded-sign-ins.ts';

const db = queriesOn<IdentityTables>();

export const LINK_MINUTES = 10;

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();

/** Marks the `state` of an attempt as used. @returns false if it was used before, in any process. */
export async function useState(writer: Sql, state: string, expiresAt: Date): Promise<boolean> {
  const used = await writer.all(
    db
      .insertInto('sign_in_token')
      .values({ hash: hashOf(state), user_id: null, expires_at: expiresAt })
      .onConflict((conflict) => conflict.doNothing())
      .returning('hash'),
  );
  return used.length > 0;
}

/** Creates a link for the operator, which signs a person in once within 10 minutes. @throws NotFoundError for an unknown address. */
export const createSignInLink = async (
  { em, now, newId }: Pick<WorkContext, 'em' | 'now' | 'newId'>,
  email: string,
): Promise<{ readonly token: string; readonly userId: UserId; readonly expiresAt: Date }> =>
  em.transactional(async (transaction) => {
    const user = await transaction.findOne(User, { email: email.toLowerCase() });
    if (!user) throw notFound('user');
    const token = randomBytes(32).toString('base64url');
    const expiresAt = new Date(now().getTime() + LINK_MINUTES * 60_000);
    transaction.persist(transaction.create(SignInToken, { hash: hashOf(token), user, expiresAt }));
    const organizationId = await recordedIn(transaction, user);
    const target = { type: 'User' as const, id: user.id, organizationId, label: user.label() ?? null };
    await recordAudit(transaction, operatorEntry({ now, newId }, 'createSignInLink', target));
    return { token, userId: user.id, expiresAt };
  });

/** Uses up a link, in the caller's transaction. @returns the person; undefined for an unknown, used or expired token. */
export async function redeemSignInLink(em: EntityManager, token: string, at: Date): Promise<UserId | undefined> {
  const [row] = await em
    .getKysely<Readable<IdentityTables>>()
    .deleteFrom('sign_in_token')
    .where('hash', '=', hashOf(token))
    .where('user_id', 'is not', null)
    .returning(['user_id as userId', 'expires_at as expiresAt'])
    .execute();
  return row?.userId != null && new Date(row.expiresAt) > at ? row.userId : undefined;
}

/** Deletes a batch of expired tokens. @returns how many were deleted. */
export async function deleteExpiredTokens(em: EntityManager, at: Date, batch: number): Promise<number> {
  const tables = em.getKysely<Readable<IdentityTables>>();
  const expired = tables
    .selectFrom('sign_in_token')
    .select('hash')
    .where('expires_at', '<=', at.toISOString())
    .limit(batch);
  const { numDeletedRows } = await tables.deleteFrom('sign_in_token').where('hash', 'in', expired).executeTakeFirst();
  return Number(numDeletedRows);
}
