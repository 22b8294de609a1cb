import { operatorEntry, recordAudit } from '../../core/audit.ts';
import { notFound } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { WorkContext } from '../../core/operation.ts';
import { User } from '../users/public.ts';
import { Identity } from './entity.ts';
import { recordedIn } from './recorded-sign-ins.ts';

/**
 * Unlinks all identities of an account, for the operator: the next one with its verified e-mail address is joined to it. Keys and open
 * sign-ins stay. @throws NotFoundError for an unknown address, and for an account without an identity.
 */
export const unlinkIdentities = (
  { em, now, newId }: Pick<WorkContext, 'em' | 'now' | 'newId'>,
  email: string,
): Promise<{ readonly userId: UserId; readonly unlinked: number }> =>
  em.transactional(async (transaction) => {
    const user = await transaction.findOne(User, { email: email.toLowerCase() });
    const unlinked = user ? await transaction.nativeDelete(Identity, { user }) : 0;
    if (!user || unlinked === 0) throw notFound('identity');
    const organizationId = await recordedIn(transaction, user);
    const target = { type: 'User' as const, id: user.id, organizationId, label: user.label() ?? null };
    await recordAudit(transaction, operatorEntry({ now, newId }, 'unlinkIdentities', target));
    return { userId: user.id, unlinked };
  });
