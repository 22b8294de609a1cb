import type { ApiKeyId } from '../../core/ids.ts';
import type { WorkContext } from '../../core/operation.ts';
import { revokeKeysOfMember } from '../api-keys/public.ts';
import { deleteConnections } from '../mcp-connections/public.ts';
import type { Membership } from '../organizations/public.ts';

const CONNECTION_BATCH = 100;

/**
 * Ends a membership, revokes the member's keys of the organization, and deletes their personal MCP connections, whose
 * tokens a job revokes. Part of the caller's transaction, which has locked the membership.
 * @returns the ids of the keys that lost rights, so that their running requests can be ended.
 */
export async function endMembership(
  context: Pick<WorkContext, 'em' | 'secrets' | 'now' | 'newId'>,
  membership: Membership,
): Promise<ApiKeyId[]> {
  const { em, now } = context;
  const organizationId = membership.organization.id;
  const userId = membership.user.id;
  em.remove(membership);
  const keyIds = await revokeKeysOfMember(em, { organizationId, userId }, now());
  let deleted: readonly string[];
  do deleted = await deleteConnections(context, { organizationId, personalOf: userId }, CONNECTION_BATCH);
  while (deleted.length === CONNECTION_BATCH);
  return keyIds;
}
