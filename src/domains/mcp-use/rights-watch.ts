import { requireAccess } from '../../core/access.ts';
import { DomainError, notFound } from '../../core/errors.ts';
import { findUsableConnection } from '../mcp-connections/public.ts';
import type { Call } from './call.ts';
import { USE_MCP_CONNECTIONS } from './policy.ts';

/** Kinds of errors that mean that the caller may no longer use the connection. All others pass. */
const REFUSALS: ReadonlySet<string> = new Set(['unauthenticated', 'forbidden', 'notFound', 'conflict']);

/**
 * Ends a stream when its caller loses the right to use the connection: a stream can last for minutes, and the key can be revoked meanwhile.
 * @returns a function that ends the checks.
 */
export function watchRights({ context, connection: { id }, deadline: { abort, signal } }: Call): () => void {
  let isChecking = false;
  const check = async () => {
    if (isChecking || signal.aborted) return;
    isChecking = true;
    try {
      const actor = await context.authenticateAgain();
      requireAccess(actor, USE_MCP_CONNECTIONS);
      if (!(await findUsableConnection({ ...context, actor }, id))) throw notFound('MCP connection');
    } catch (error) {
      if (error instanceof DomainError && REFUSALS.has(error.kind)) abort(error);
    } finally {
      isChecking = false;
    }
  };
  const timer = setInterval(() => void check(), context.timing.upstreamPingMs);
  return () => clearInterval(timer);
}
