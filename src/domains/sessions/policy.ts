import { ForbiddenError, notFound } from '../../core/errors.ts';
import { type Access, type Actor, type Role, hasAccess, requireOrganization } from '../../core/access.ts';
import type { OrganizationId, UserId } from '../../core/ids.ts';
import { type Reach, isWithin } from '../../core/postgres/reading/reach.ts';

/** The 404 for a session that was deleted, never existed, or is hidden from the caller: no answer tells which. */
export const sessionNotFound = () => notFound('session');

export const READ_SESSIONS: Access = { scopes: ['sessions.read'], inOrganization: true };
export const WRITE_SESSIONS: Access = { scopes: ['sessions.write'], inOrganization: true };
export const RECORD_SESSIONS: Access = { scopes: ['sessions.record'], inOrganization: true };
/** Access for keeping sessions from deletion. */
export const HOLD_SESSIONS: Access = { ...WRITE_SESSIONS, role: 'admin' };
/**
 * Access to the task and the results of a session. Keys that can change sessions can also read them. Keys that can only
 * record sessions read just what they need to run them.
 */
export const READ_SESSION_CONTENT: Access = {
  scopes: [],
  anyScopeOf: { scopes: ['sessions.read', 'sessions.write'], name: 'sessions (`sessions.read`, `sessions.write`)' },
  inOrganization: true,
};

/** The columns that decide who can see and change a session. Each type parameter is an id, or a parameter of a prepared query. */
export interface Ownership<Organization = OrganizationId, User = UserId> {
  readonly organizationId: Organization;
  readonly creatorId: User | null;
  readonly visibility: 'public' | 'private';
}

export interface Caller<Organization = OrganizationId, User = UserId> {
  readonly organizationId: Organization;
  readonly userId: User;
  readonly role: Role;
}

/** The sessions that a caller can change: their own, and for an administrator all of the organization. */
export const changeableBy = <Organization, User>({
  organizationId,
  userId,
  role,
}: Caller<Organization, User>): Reach<Ownership<Organization, User>> => ({
  all: { organizationId },
  anyOf: role === 'admin' ? undefined : [{ creatorId: userId }],
});

/** The sessions that a caller can read: public ones of the organization, and private ones that they can change. */
export function readableBy<Organization, User>(
  caller: Caller<Organization, User>,
): Reach<Ownership<Organization, User>> {
  const { all, anyOf } = changeableBy(caller);
  return { all, anyOf: anyOf && [{ visibility: 'public' }, ...anyOf] };
}

/** @throws ValidationError (400) when the caller acts in no organization. */
export function callerOf(actor: Actor): Caller {
  const { id: organizationId, role } = requireOrganization(actor);
  return { organizationId, userId: actor.userId, role };
}

/** Whether the caller, who can read the session, can change it by an operation with this access. */
export const mayChange = (actor: Actor, session: Ownership, access: Access): boolean =>
  hasAccess(actor, access) && isWithin(changeableBy(callerOf(actor)), session);

/** @throws NotFoundError (404) for a session that the caller cannot read. */
export function requireReadable<Session extends Ownership>(
  actor: Actor,
  session: Session | undefined,
  what = 'session',
): asserts session is Session {
  if (!session || !isWithin(readableBy(callerOf(actor)), session)) throw notFound(what);
}

/**
 * @throws NotFoundError (404) for a session that the caller cannot read; ForbiddenError (403) for a session that they
 * can read but not change.
 */
export function requireChange<Session extends Ownership>(
  actor: Actor,
  session: Session | undefined,
  what = 'session',
): asserts session is Session {
  requireReadable(actor, session, what);
  if (!isWithin(changeableBy(callerOf(actor)), session))
    throw new ForbiddenError('only the creator of the session and administrators can change it', { role: 'admin' });
}
