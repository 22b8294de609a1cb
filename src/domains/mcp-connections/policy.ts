import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { ForbiddenError, notFound } from '../../core/errors.ts';
import {
  type ActingOrganization,
  type Actor,
  type AuditTarget,
  requireOrganization,
  requireScope,
} from '../../core/operation.ts';
import { type Reach, filterOf } from '../../core/postgres/reach.ts';
import { McpConnection, type Visibility } from './entity.ts';

/** GraphQL knows connections by this name. */
export function targetOf({ id }: McpConnection): AuditTarget {
  return { type: 'McpServer', id };
}

/** Shared connections of the organization, and the caller's own. What others keep for themselves is not there. */
export function reachedBy(actor: Actor): Reach<Ownership> {
  return {
    all: { organizationId: requireOrganization(actor).id },
    anyOf: [{ visibility: 'shared' }, { ownerId: actor.userId }],
  };
}

/** What decides who may see a connection. */
interface Ownership {
  readonly organizationId: string;
  readonly ownerId: string | null;
  readonly visibility: Visibility;
}

/** @throws ForbiddenError when the caller may see such connections but not manage them. */
export function requireManager(actor: Actor, visibility: Visibility): ActingOrganization {
  requireScope(actor, 'mcp_connections.write');
  const organization = requireOrganization(actor);
  if (visibility === 'shared' && organization.role !== 'admin')
    throw new ForbiddenError('only an admin of the organization manages shared MCP connections');
  return organization;
}

/**
 * Loads a connection that the caller may manage; `lock` holds it until the transaction ends.
 * @throws NotFoundError; ForbiddenError for a shared one when the caller is no admin.
 */
export async function loadManaged(
  em: EntityManager,
  actor: Actor,
  id: string,
  { lock = false } = {},
): Promise<McpConnection> {
  requireScope(actor, 'mcp_connections.write');
  const connection = await em.findOne(
    McpConnection,
    { $and: [{ id }, filterOf<McpConnection>(reachedBy(actor))] },
    lock ? { lockMode: LockMode.PESSIMISTIC_WRITE } : {},
  );
  if (!connection) throw notFound('MCP connection');
  requireManager(actor, connection.visibility);
  return connection;
}
