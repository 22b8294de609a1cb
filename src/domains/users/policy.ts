import { type Access, SCOPES, SCOPE_DECLARATIONS } from '../../core/access.ts';

/** Access to names and addresses of other people. Everybody can read their own. */
export const READ_PEOPLE: Access = {
  scopes: [],
  anyScopeOf: { scopes: SCOPES.filter((scope) => SCOPE_DECLARATIONS[scope].opensPeople), name: 'the workspace API' },
  inOrganization: false,
};

/** Access to the own account, which a service account reads as `Viewer.actor`. */
export const READ_VIEWER: Access = { scopes: [], isForPeople: true, inOrganization: false };

/** Access for changing the own name. */
export const UPDATE_VIEWER: Access = { scopes: ['organizations.write'], isForPeople: true, inOrganization: false };
