import type { EntityManager } from '@mikro-orm/postgresql';
import { ConflictError } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Access } from '../../core/operation.ts';
import { organizationsAdministeredBy } from '../organizations/operations.ts';

/** One's own account alone, wherever one acts. */
export const DELETE_USER: Access = { scopes: ['users.delete'], inOrganization: false };

/** Following the deletions that one has asked for: of the own account, and of organizations. */
export const READ_DELETION_JOBS: Access = {
  scopes: [],
  anyScopeOf: {
    scopes: ['users.delete', 'organizations.write'],
    name: 'deletions (`users.delete`, `organizations.write`)',
  },
  inOrganization: false,
};

/** Why the user must not be deleted: the organizations that have other members and this user as their only admin. */
export async function onlyAdminConflict(em: EntityManager, userId: UserId): Promise<ConflictError | undefined> {
  const organizations = await organizationsAdministeredBy(em, userId);
  if (organizations.length === 0) return undefined;
  const names = organizations.map(({ name, id }) => `${name} (${id})`).join(', ');
  return new ConflictError(
    'LAST_ADMINISTRATOR',
    `the user is the only admin of an organization that has other members: ${names}; make another member an admin first`,
  );
}
