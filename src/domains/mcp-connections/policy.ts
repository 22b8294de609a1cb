import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { ForbiddenError, notFound } from '../../core/errors.ts';
import {
  type Access,
  type ActingOrganization,
  type Actor,
  hasAccess,
  requireOrganization,
} from '../../core/operation.ts';
import { type AuditTarget } from '../../core/audit.ts';
import type { OrganizationId, UserId } from '../../core/ids.ts';
import { type Reach, filterOf } from '../../core/postgres/reach.ts';
import { McpConnection, type Visibility } from './entity.ts';

export const READ_MCP_CONNECTIONS: Access = { scopes: ['mcp_connections.read'], inOrganization: true };
/** Shared connections need the role admin beside. */
export const WRITE_MCP_CONNECTIONS: Access = { scopes: ['mcp_connections.write'], inOrganization: true };

/** GraphQL knows connections by this name. */
export function targetOf({ id }: McpConnection): AuditTarget {
  return { type: 'McpServer', id };
}

/** The connections that a caller sees: the shared ones of the organization, and their own. */
export function reachedBy(actor: Actor): Reach<Ownership> {
  return visibleTo({ organizationId: requireOrganization(actor).id, userId: actor.userId });
}

/** The same for a caller whose ids are known only when a prepared query runs. */
export function visibleTo<Organization, User>({
  organizationId,
  userId,
}: Viewer<Organization, User>): Reach<Ownership<Organization, User>> {
  return { all: { organizationId }, anyOf: [{ visibility: 'shared' }, { ownerId: userId }] };
}

interface Viewer<Organization, User> {
  readonly organizationId: Organization;
  readonly userId: User;
}

/** What decides who may see a connection. Each parameter is an id, or its place in a prepared query. */
interface Ownership<Organization = OrganizationId, User = UserId> {
  readonly organizationId: Organization;
  readonly ownerId: User | null;
  readonly visibility: Visibility;
}

/** Shared connections are managed by administrators; personal ones are visible to their owner alone, who manages them. */
function manages({ role }: ActingOrganization, visibility: Visibility): boolean {
  return visibility !== 'shared' || role === 'admin';
}

/** Whether the caller may change, authorize and delete a connection that they see. */
export function mayManage(actor: Actor, { visibility }: Pick<Ownership, 'visibility'>): boolean {
  return hasAccess(actor, WRITE_MCP_CONNECTIONS) && manages(requireOrganization(actor), visibility);
}

/** @throws ForbiddenError when the caller may see such connections but not manage them. */
export function requireManager(actor: Actor, visibility: Visibility): ActingOrganization {
  const organization = requireOrganization(actor);
  if (!manages(organization, visibility))
    throw new ForbiddenError('only an admin of the organization manages shared MCP connections');
  return organization;
}

/**
 * Loads a connection that the caller may manage; `lock` locks it until the transaction ends.
 * @throws NotFoundError; ForbiddenError for a shared one when the caller is no admin.
 */
export async function loadManaged(
  em: EntityManager,
  actor: Actor,
  id: string,
  { lock = false } = {},
): Promise<McpConnection> {
  const connection = await em.findOne(
    McpConnection,
    { $and: [{ id }, filterOf<McpConnection>(reachedBy(actor))] },
    lock ? { lockMode: LockMode.PESSIMISTIC_WRITE } : {},
  );
  if (!connection) throw notFound('MCP connection');
  requireManager(actor, connection.visibility);
  return connection;
}
