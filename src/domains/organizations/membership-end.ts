import type { WorkContext } from '../../core/operation.ts';
import { revokeKeysOfMember } from '../api-keys/operations.ts';
import { deleteConnections } from '../mcp-connections/operations.ts';
import type { Membership } from './entity.ts';

const CONNECTIONS_AT_ONCE = 100;

/**
 * Ends a membership with what hangs on it: the member's keys of the organization, and their personal MCP connections, whose tokens are revoked
 * by a job. Part of the caller's transaction, which has locked the membership for update.
 * @returns the keys that reach less than before, so that what still runs with them ends.
 */
export async function endMembership(
  context: Pick<WorkContext, 'em' | 'secrets' | 'now' | 'newId'>,
  membership: Membership,
): Promise<string[]> {
  const { em, now } = context;
  const organizationId = membership.organization.id;
  const userId = membership.user.id;
  em.remove(membership);
  const keyIds = await revokeKeysOfMember(em, { organizationId, userId }, now());
  let deleted: readonly string[];
  do deleted = await deleteConnections(context, { organizationId, personalOf: userId }, CONNECTIONS_AT_ONCE);
  while (deleted.length === CONNECTIONS_AT_ONCE);
  return keyIds;
}
