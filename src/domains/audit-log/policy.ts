import type { Access } from '../../core/access.ts';

/** `organizations.write` opened the log before it had a scope of its own. */
export const READ_AUDIT_LOG: Access = {
  scopes: [],
  anyScopeOf: { scopes: ['audit_log.read', 'organizations.write'], name: 'the audit log' },
  inOrganization: true,
  role: 'admin',
};

export const FOLLOW_AUDIT_LOG: Access = { scopes: ['audit_log.read'], inOrganization: true, role: 'admin' };
