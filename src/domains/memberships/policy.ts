import type { EntityManager } from '@mikro-orm/postgresql';
import type { Access } from '../../core/access.ts';
import { ConflictError } from '../../core/errors.ts';
import { ADMINISTER_ORGANIZATION, Membership } from '../organizations/public.ts';
import { READ_PEOPLE } from '../users/public.ts';

/** Access for leaving the acting organization. */
export const LEAVE_ORGANIZATION: Access = { scopes: ['organizations.write'], isForPeople: true, inOrganization: true };
/** Access for reading the members of the acting organization. */
export const READ_MEMBERS: Access = { ...READ_PEOPLE, inOrganization: true };
/** Only administrators see whose membership is suspended. */
export const READ_SUSPENDED_MEMBERS: Access = ADMINISTER_ORGANIZATION;

/** The last administrator stays one. The caller has locked the organization. */
export async function refuseLastAdmin(em: EntityManager, membership: Membership): Promise<void> {
  if (membership.role !== 'admin') return;
  const admins = await em.count(Membership, { organization: membership.organization, role: 'admin' });
  if (admins === 1)
    throw new ConflictError(
      'LAST_ADMINISTRATOR',
      'the organization must have at least one administrator; make another member an administrator first, or delete the organization',
    );
}
