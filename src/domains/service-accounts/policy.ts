import type { Access } from '../../core/access.ts';
import { READ_API_KEYS, WRITE_API_KEYS } from '../api-keys/public.ts';
import { ADMINISTER_ORGANIZATION } from '../organizations/public.ts';

/** Only administrators list and change service accounts. */
export const MANAGE_SERVICE_ACCOUNTS: Access = ADMINISTER_ORGANIZATION;

/** Access to the keys of service accounts. */
export const READ_THEIR_KEYS: Access = { ...READ_API_KEYS, inOrganization: true, role: 'admin' };
export const WRITE_THEIR_KEYS: Access = { ...WRITE_API_KEYS, inOrganization: true, role: 'admin' };
