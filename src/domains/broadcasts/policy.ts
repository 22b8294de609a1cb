import type { Access } from '../../core/operation.ts';

/** No role is required: every member of an organization can publish for it. */
export const PUBLISH: Access = { scopes: ['social'], inOrganization: true };
