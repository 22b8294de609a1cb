import { ForbiddenError } from '../../core/errors.ts';
import type { Role, Scope } from '../../core/access.ts';
import type { OperationContext } from '../../core/operation.ts';
import { requireStillReached } from '../../domains/api-keys/public.ts';
import { requireStillManaged } from '../../domains/mcp-connections/public.ts';
import { requireSessionChange } from '../../domains/sessions/public.ts';

/** The stored facts about the request that an answer was given to. */
export interface AnsweredRequest {
  readonly scopes: readonly Scope[];
  readonly role: Role | null;
  /** The operation and the changed object, as in the audit log. Null when nothing or several objects were changed. */
  readonly operation: string | null;
  readonly targetType: string | null;
  readonly targetId: string | null;
}

type Check = (context: OperationContext, id: string, operation: string) => Promise<void>;

/** Checks for objects that not every caller of the operation can change. Deleted objects need no check. */
const CHECKS: Readonly<Record<string, Check>> = {
  Session: (context, id) => requireSessionChange(context, id),
  McpServer: requireStillManaged,
  ApiKey: requireStillReached,
};

/**
 * Checks that a stored answer can be replayed. The caller must still have the right to the operation on the object.
 * They also need all scopes and the role of the original request, because the answer can contain data that needs them.
 * @throws NotFoundError and ForbiddenError like the operation itself; ForbiddenError for missing scopes or a lower role.
 */
export async function requireStandingRights(
  context: OperationContext,
  { scopes, role, operation, targetType, targetId }: AnsweredRequest,
): Promise<void> {
  const check = targetType === null ? undefined : CHECKS[targetType];
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
