import type { Access } from '../../core/access.ts';
import { READ_PEOPLE } from '../users/public.ts';

/** Access for leaving the acting organization. */
export const LEAVE_ORGANIZATION: Access = { scopes: ['organizations.write'], isForPeople: true, inOrganization: true };
/** Access for reading the members of the acting organization. */
export const READ_MEMBERS: Access = { ...READ_PEOPLE, inOrganization: true };
