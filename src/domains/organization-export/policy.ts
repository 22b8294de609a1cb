import type { Access } from '../../core/access.ts';
import { ADMINISTER_ORGANIZATION } from '../organizations/public.ts';

/** An export has what administrators can read, also the private sessions of others. */
export const EXPORT_ORGANIZATION: Access = {
  ...ADMINISTER_ORGANIZATION,
  scopes: [...ADMINISTER_ORGANIZATION.scopes, 'sessions.read'],
};

/** What the organization has of the caller; of others it takes the rights of an export. */
export const EXPORT_MEMBER: Access = { scopes: ['sessions.read'], inOrganization: true };
