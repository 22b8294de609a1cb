import type { Access } from '../../core/access.ts';

/** No role is required: every member of an organization can publish for it. */
export const PUBLISH: Access = { scopes: ['social'], inOrganization: true };
