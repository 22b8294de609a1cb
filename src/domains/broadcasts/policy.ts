import type { Access } from '../../core/operation.ts';

/** Everybody in an organization may publish for it. */
export const PUBLISH: Access = { scopes: ['social'], inOrganization: true };
