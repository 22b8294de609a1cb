import { type Access, SCOPES, type Scope } from '../../core/operation.ts';

/** Scopes of keys for programs that send events or posts, which have no business with people. */
const OF_PROGRAMS: ReadonlySet<Scope> = new Set([
  'social',
  'analytics.behavioral_events.send',
  'behavioral_events.event_definitions.read_write',
]);

/** Reading names and addresses of other people. Everybody may read their own. */
export const READ_PEOPLE: Access = {
  scopes: [],
  anyScopeOf: { scopes: SCOPES.filter((scope) => !OF_PROGRAMS.has(scope)), name: 'the workspace API' },
  inOrganization: false,
};

/** What others see of the caller. */
export const UPDATE_VIEWER: Access = { scopes: ['organizations.write'], inOrganization: false };
