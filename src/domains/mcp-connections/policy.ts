import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { ForbiddenError, notFound } from '../../core/errors.ts';
import { type Access, type ActingOrganization, type Actor, hasAccess, requireOrganization } from '../../core/access.ts';
import { type AuditTarget } from '../../core/audit.ts';
import { enumValue, wording } from '../../core/text/wording.ts';
import type { McpConnectionId, OrganizationId, UserId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { requireNoOlderProcess } from '../../core/postgres/finished-version.ts';
import { type Reach, filterOf, within } from '../../core/postgres/reading/reach.ts';
import { GroupMember } from '../groups/public.ts';
import { McpConnection, type Visibility } from './entity.ts';
import type { NewSettings } from './settings-input.ts';
import { isOpenTo } from './tool-rules.ts';

export const READ_MCP_CONNECTIONS: Access = { scopes: ['mcp_connections.read'], inOrganization: true };
/** Shared connections also need the role admin; see `requireManager`. */
export const WRITE_MCP_CONNECTIONS: Access = { scopes: ['mcp_connections.write'], inOrganization: true };

/** The sentence in descriptions for what `requireManager` checks. */
export const ADMINS_MANAGE_SHARED = wording`Shared connections need the role \`${enumValue('admin')}\`.`;

/** The audit log uses the GraphQL type name. */
export const targetOf = ({ id }: McpConnection): AuditTarget => ({ type: 'McpServer', id });

/** The connections that a caller can see: shared connections of the organization and their own personal ones. */
export const reachedBy = (actor: Actor): Reach<Ownership> =>
  visibleTo({ organizationId: requireOrganization(actor).id, userId: actor.userId });

/** The same rule with ids or parameters of a prepared query. */
export const visibleTo = <Organization, User>({
  organizationId,
  userId,
}: Viewer<Organization, User>): Reach<Ownership<Organization, User>> => ({
  all: { organizationId },
  anyOf: [{ visibility: 'shared' }, { ownerId: userId }],
});

interface Viewer<Organization, User> {
  readonly organizationId: Organization;
  readonly userId: User;
}

/** The condition for a connection `c` that `access` shows to the caller, beside its visibility. Each value is a parameter of a prepared query. */
export const isShownTo = ({ isAdmin, ...account }: ShownTo): RawBuilder<SqlBool> =>
  sql<SqlBool>`(${isAdmin} or ${isOpenTo(account)})`;

interface ShownTo {
  readonly userId: unknown;
  readonly organizationId: unknown;
  readonly isAdmin: unknown;
}

/** The condition for a connection `c` that the caller can see. */
export const isVisibleTo = (viewer: Viewer<RawBuilder<unknown>, RawBuilder<unknown>> & ShownTo): RawBuilder<SqlBool> =>
  sql<SqlBool>`(${within(visibleTo(viewer), 'c')} and ${isShownTo(viewer)})`;

/** The version that knows rules of tools. */
const KNOWS_RULES = '1.1.0';

/** Earlier versions ignore these settings. @throws ConflictError while a process of one is running. */
export async function requireKnownRules(
  context: Pick<OperationContext, 'hasOlderProcess'>,
  {
    access: given,
    toolRules = [],
    onToolChange,
  }: Pick<Partial<NewSettings>, 'access' | 'toolRules' | 'onToolChange'> = {},
): Promise<void> {
  const isIgnored =
    given?.mode === 'GROUPS' || onToolChange === 'HOLD' || toolRules.some(({ effect }) => effect !== 'ALLOW');
  if (isIgnored) await requireNoOlderProcess(context, KNOWS_RULES, 'rules of tools cannot be set');
}

/** The columns that decide who can see a connection. Each type parameter is an id, or a parameter of a prepared query. */
interface Ownership<Organization = OrganizationId, User = UserId> {
  readonly organizationId: Organization;
  readonly ownerId: User | null;
  readonly visibility: Visibility;
}

/** Administrators manage shared connections. A personal connection is managed by its owner, who alone can see it. */
const manages = ({ role }: ActingOrganization, visibility: Visibility): boolean =>
  visibility !== 'shared' || role === 'admin';

/** Whether the caller can change, authorize and delete a connection that they can see. */
export const mayManage = (actor: Actor, { visibility }: Pick<Ownership, 'visibility'>): boolean =>
  hasAccess(actor, WRITE_MCP_CONNECTIONS) && manages(requireOrganization(actor), visibility);

/** @throws ForbiddenError when the caller cannot manage connections of this visibility: service accounts have no personal ones. */
export function requireManager(actor: Actor, visibility: Visibility): ActingOrganization {
  const organization = requireOrganization(actor);
  if (visibility === 'personal' && actor.isServiceAccount === true)
    throw new ForbiddenError('a service account has no personal MCP connections; use a shared one');
  if (!manages(organization, visibility))
    throw new ForbiddenError('only an administrator of the organization can manage shared MCP connections', {
      role: 'admin',
    });
  return organization;
}

/**
 * Loads a connection that the caller can manage; `lock` locks the row until the end of the transaction.
 * @throws NotFoundError; ForbiddenError for a shared connection when the caller is not an administrator.
 */
export async function loadManaged(
  em: EntityManager,
  actor: Actor,
  id: McpConnectionId,
  options: { readonly lock?: boolean } = {},
): Promise<McpConnection> {
  const connection = await loadVisible(em, actor, id, options);
  requireManager(actor, connection.visibility);
  return connection;
}

/** Loads a connection that the caller can see. @throws NotFoundError */
export async function loadVisible(
  em: EntityManager,
  actor: Actor,
  id: McpConnectionId,
  { lock = false } = {},
): Promise<McpConnection> {
  const connection = await em.findOne(
    McpConnection,
    { $and: [{ id }, filterOf<McpConnection>(reachedBy(actor))] },
    lock ? { lockMode: LockMode.PESSIMISTIC_WRITE } : {},
  );
  if (!connection || !(await isOpen(em, actor, connection))) throw notFound('MCP connection');
  return connection;
}

async function isOpen(
  em: EntityManager,
  actor: Actor,
  { access: { mode, groupIds } }: McpConnection,
): Promise<boolean> {
  const { id: organization, role } = requireOrganization(actor);
  if (mode === 'ALL' || role === 'admin') return true;
  return (await em.count(GroupMember, { organization, user: actor.userId, group: { $in: [...groupIds] } })) > 0;
}

/** What entries of the feed say about a connection. Only its owner reads those about a personal one. */
export function feedSubjectOf({ id, organization, owner, visibility }: McpConnection) {
  const readerId = visibility === 'personal' ? owner?.id : null;
  return { organizationId: organization.id, subjectType: 'McpServer', subjectId: id, readerId } as const;
}
