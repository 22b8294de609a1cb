import type { EntityManager } from '@mikro-orm/postgresql';
import { groupBy } from '../../core/arrays.ts';
import type { ApiKeyId, UserId } from '../../core/ids.ts';
import { sqlWithin } from '../../core/postgres/reading/sql.ts';
import { endProvided } from '../api-keys/public.ts';
import { User } from '../users/public.ts';
import { Identity } from './entity.ts';
import { type SignInContext, recordInAll, recordSignIn } from './recorded-sign-ins.ts';
import { useState } from './tokens.ts';

/**
 * Ends the sign-ins of a session at the identity provider, or without one all sign-ins and grants of its subject, in the caller's transaction. A
 * logout token that was used before, in any process, ends nothing.
 */
export async function endProviderSessions(
  em: EntityManager,
  context: SignInContext,
  logout: {
    readonly id: string;
    readonly issuer: string;
    readonly subject: string | undefined;
    readonly session: string | undefined;
    readonly expiresAt: Date;
  },
): Promise<readonly { readonly id: ApiKeyId; readonly userId: UserId }[]> {
  const { id, issuer, subject, session, expiresAt } = logout;
  if (!(await useState(sqlWithin(em), `logout ${id}`, expiresAt))) return [];
  const identity = subject === undefined ? null : await em.findOne(Identity, { issuer, subject });
  if (subject !== undefined && !identity) return [];
  const ended = await endProvided(em, { userId: identity?.user.id, session }, context.now());
  for (const [userId, [first]] of groupBy(ended, (each) => each.userId)) {
    const user = await em.findOneOrFail(User, { id: userId });
    const target = { type: 'User' as const, id: userId, label: user.label() ?? null, detail: 'OIDC' };
    if (first)
      await recordInAll(em, user, (organizationId) =>
        recordSignIn(em, context, { ...first, expiresAt }, 'signOut', { ...target, organizationId }),
      );
  }
  return ended;
}
