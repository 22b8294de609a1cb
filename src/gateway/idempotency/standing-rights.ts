import { ForbiddenError } from '../../core/errors.ts';
import type { Role, Scope } from '../../core/access.ts';
import type { ReplayCheck } from '../../core/module.ts';
import type { OperationContext } from '../../core/operation.ts';
import { modules } from '../modules.ts';

/** The stored facts about the request that an answer was given to. */
export interface AnsweredRequest {
  readonly scopes: readonly Scope[];
  readonly role: Role | null;
  /** The operation and the changed object, as in the audit log. Null when nothing or several objects were changed. */
  readonly operation: string | null;
  readonly targetType: string | null;
  readonly targetId: string | null;
}

/** The checks of all modules. An entry of an earlier version can name a kind of object that is gone. */
const CHECKS = new Map<string, ReplayCheck>();
for (const [type, check] of modules.flatMap(({ replays }) => Object.entries(replays))) {
  if (CHECKS.has(type)) throw new Error(`Two modules check the replay of ${type}`);
  CHECKS.set(type, check);
}

/**
 * Checks that a stored answer can be replayed. The caller must still have the right to the operation on the object.
 * They also need all scopes and the role of the original request, because the answer can contain data that needs them.
 * @throws NotFoundError and ForbiddenError like the operation itself; ForbiddenError for missing scopes or a lower role.
 */
export async function requireStandingRights(
  context: OperationContext,
  { scopes, role, operation, targetType, targetId }: AnsweredRequest,
): Promise<void> {
  const check = targetType === null ? undefined : CHECKS.get(targetType);
  if (check && targetId !== null) await check(context, targetId, operation ?? '');
  const { actor } = context;
  if (role === 'admin' && actor.organization?.role !== 'admin')
    throw new ForbiddenError(
      'Idempotency-Key: the stored answer was given to you as an administrator of the organization, which you no longer are',
    );
  const excess = scopes.filter((scope) => !actor.scopes.has(scope));
  if (excess.length > 0)
    throw new ForbiddenError(
      `Idempotency-Key: the stored answer was given to an API key with scopes that this key lacks: ${excess.join(', ')}`,
    );
}
