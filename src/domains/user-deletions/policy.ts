import type { EntityManager } from '@mikro-orm/postgresql';
import { ConflictError } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Access } from '../../core/access.ts';
import { ADMINISTER_ORGANIZATION, organizationsAdministeredBy, organizationsOnlyOf } from '../organizations/public.ts';
import { organizationsWithHeldSessions } from '../sessions/public.ts';

/** Access for deleting the own account. No acting organization is required. */
export const DELETE_USER: Access = { scopes: ['users.delete'], isForPeople: true, inOrganization: false };

/** Access for deleting what a person has recorded privately. */
export const DELETE_MEMBER_DATA: Access = ADMINISTER_ORGANIZATION;
/** Access for redacting all sessions of the organization. */
export const REDACT_ORGANIZATION: Access = {
  ...ADMINISTER_ORGANIZATION,
  scopes: [...ADMINISTER_ORGANIZATION.scopes, 'sessions.write'],
};

/** Access to deletions that the caller requested. */
export const READ_DELETION_JOBS: Access = {
  scopes: [],
  anyScopeOf: {
    scopes: ['users.delete', 'organizations.write', 'behavioral_events.event_definitions.read_write'],
    name: 'deletions (`users.delete`, `organizations.write`, `behavioral_events.event_definitions.read_write`)',
  },
  inOrganization: false,
};

/** The error when the account cannot be deleted now; undefined when it can. */
export const deletionConflict = async (em: EntityManager, userId: UserId): Promise<ConflictError | undefined> =>
  (await onlyAdminConflict(em, userId)) ?? (await heldConflict(em, userId));

/** The user is the only administrator of organizations that they have created and that have other members. */
async function onlyAdminConflict(em: EntityManager, userId: UserId): Promise<ConflictError | undefined> {
  const organizations = await organizationsAdministeredBy(em, userId);
  if (organizations.length === 0) return undefined;
  const names = organizations.map(({ name, id }) => `${name} (${id})`).join(', ');
  return new ConflictError(
    'LAST_ADMINISTRATOR',
    `the user is the only administrator of an organization that has other members: ${names}; make another member an administrator first`,
  );
}

/** Organizations without other members are deleted with the account, but not while an administrator holds a session in them. */
async function heldConflict(em: EntityManager, userId: UserId): Promise<ConflictError | undefined> {
  const held = await organizationsWithHeldSessions(em, await organizationsOnlyOf(em, userId));
  if (held.length === 0) return undefined;
  return new ConflictError(
    'HELD',
    `organizations without other members are deleted with the account, and these have held sessions: ${held.join(', ')}; release the sessions or add an administrator first`,
  );
}
