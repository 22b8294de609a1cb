import { type Access, SCOPES, type Scope } from '../../core/access.ts';

/** Scopes for programs that send events or broadcasts. They give no access to other people's names and addresses. */
const OF_PROGRAMS: ReadonlySet<Scope> = new Set([
  'social',
  'analytics.behavioral_events.send',
  'behavioral_events.event_definitions.read_write',
]);

/** Access to names and addresses of other people. Everybody can read their own. */
export const READ_PEOPLE: Access = {
  scopes: [],
  anyScopeOf: { scopes: SCOPES.filter((scope) => !OF_PROGRAMS.has(scope)), name: 'the workspace API' },
  inOrganization: false,
};

/** Access for changing the own name. */
export const UPDATE_VIEWER: Access = { scopes: ['organizations.write'], inOrganization: false };
