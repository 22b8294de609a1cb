import { ForbiddenError } from '../../core/errors.ts';
import type { OperationContext, Role, Scope } from '../../core/operation.ts';
import { requireStillReached } from '../../domains/api-keys/replayed-keys.ts';
import { requireStillManaged } from '../../domains/mcp-connections/replayed-connections.ts';
import { requireSessionChange } from '../../domains/sessions/operations.ts';

/** What is stored of the request that an answer was given to. */
export interface AnsweredRequest {
  readonly scopes: readonly Scope[];
  readonly role: Role | null;
  /** The name of the operation in the audit log, and what it has changed; null where it has changed nothing, or several at once. */
  readonly operation: string | null;
  readonly targetType: string | null;
  readonly targetId: string | null;
}

type Check = (context: OperationContext, id: string, operation: string) => Promise<void>;

/** Objects that not everybody may change who may use the operation. What is deleted by now has nothing to protect. */
const CHECKS: Readonly<Record<string, Check>> = {
  Session: (context, id) => requireSessionChange(context, id),
  McpServer: requireStillManaged,
  ApiKey: requireStillReached,
};

/**
 * Whether a stored answer may be given again: the caller may still do the operation on the object, and has all that the caller had to whom it
 * was given, since the answer may show what these rights let them read.
 * @throws NotFoundError, ForbiddenError as the operation itself; ForbiddenError for a weaker key or role.
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
      'Idempotency-Key: its answer was given to an administrator of the organization, which you no longer are',
    );
  const excess = scopes.filter((scope) => !actor.scopes.has(scope));
  if (excess.length > 0)
    throw new ForbiddenError(
      `Idempotency-Key: its answer was given to an API key with scopes that this one lacks: ${excess.join(', ')}`,
    );
}
