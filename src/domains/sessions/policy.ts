import { ForbiddenError, notFound } from '../../core/errors.ts';
import { type Actor, requireOrganization } from '../../core/operation.ts';

/** What a policy looks at. */
export interface Ownership {
  readonly creatorId?: string | null;
  readonly visibility: 'public' | 'private';
}

/** The creator and the admins of the organization may change a session. */
export function mayChange(actor: Actor, session: Ownership): boolean {
  return session.creatorId === actor.userId || actor.organization?.role === 'admin';
}

/** A public session is read by the whole organization, a private one by those who may change it. */
export function mayRead(actor: Actor, session: Ownership): boolean {
  return session.visibility === 'public' || mayChange(actor, session);
}

/**
 * @throws NotFoundError (404) for a session that the caller cannot read, missing and foreign ones alike; ForbiddenError (403) for one that
 * they can read but not change.
 */
export function requireChange(actor: Actor, session: Ownership | undefined | null, what = 'session'): asserts session {
  if (!session || !mayRead(actor, session)) throw notFound(what);
  if (!mayChange(actor, session)) throw new ForbiddenError('only the creator of the session or an admin may change it');
}

/** `mayRead` as SQL over `session s`, for the organization that the caller acts in; appends its values. */
export function readableSql(actor: Actor, values: unknown[]): string {
  const organization = requireOrganization(actor);
  const inOrganization = `s.organization_id = $${values.push(organization.id)}`;
  return organization.role === 'admin'
    ? inOrganization
    : `${inOrganization} and (s.visibility = 'public' or s.creator_id = $${values.push(actor.userId)})`;
}

/** `mayChange` as SQL, likewise. */
export function changeableSql(actor: Actor, values: unknown[]): string {
  const organization = requireOrganization(actor);
  const inOrganization = `s.organization_id = $${values.push(organization.id)}`;
  return organization.role === 'admin'
    ? inOrganization
    : `${inOrganization} and s.creator_id = $${values.push(actor.userId)}`;
}
