import type { Access } from '../../core/access.ts';

export const READ_AUDIT_LOG: Access = { scopes: ['organizations.write'], inOrganization: true, role: 'admin' };
