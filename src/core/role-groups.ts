import type { Role } from './access.ts';
import type { OidcSettings } from './oidc-settings.ts';

/** Groups of the identity provider that decide roles. */

type RoleGroups = Pick<OidcSettings, 'adminGroups' | 'viewerGroups'>;

/** Whether groups decide roles. */
export const haveRoles = ({ adminGroups, viewerGroups }: RoleGroups): boolean =>
  adminGroups.length + viewerGroups.length > 0;

/** The role of somebody in these groups, and the group that gives it. Without groups of administrators, they stay what they are. */
export function roleOfGroups(
  { adminGroups, viewerGroups }: RoleGroups,
  groups: readonly string[],
  before: Role | undefined,
): { readonly role: Role; readonly group?: string | undefined } {
  const admin = groups.find((each) => adminGroups.includes(each));
  if (admin !== undefined) return { role: 'admin', group: admin };
  if (before === 'admin' && adminGroups.length === 0) return { role: before };
  const viewer = groups.find((each) => viewerGroups.includes(each));
  return viewer === undefined ? { role: 'member' } : { role: 'viewer', group: viewer };
}
