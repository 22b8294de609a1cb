import type { Access } from '../../core/access.ts';

/** Only administrators read and change webhooks. */
export const MANAGE_WEBHOOKS: Access = { scopes: ['webhooks.write'], inOrganization: true, role: 'admin' };
