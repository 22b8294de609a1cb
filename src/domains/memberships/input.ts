import { z } from 'zod';
import { ROLES } from '../../core/access.ts';
import type { OrganizationId, UserId } from '../../core/ids.ts';
import { createdBetween } from '../../core/input/moments.ts';
import { idSchema, optional, text } from '../../core/input/validation.ts';

/** Conditions on a list of members. `createdFrom` and `createdBefore` are about the time of joining. */
export const memberFilter = z.strictObject({
  roles: z.array(z.enum(ROLES)).max(100).nullish(),
  search: text({ max: 254 }).nullish(),
  ...createdBetween,
});
export type MemberFilter = z.output<typeof memberFilter>;

/** The optional id must be the acting organization. */
export const leaveOrganizationInput = z.strictObject({ organizationId: optional(idSchema<OrganizationId>()) });
export type LeaveOrganizationInput = z.output<typeof leaveOrganizationInput>;

export const changeOrganizationMemberRoleInput = z.strictObject({ userId: idSchema<UserId>(), role: z.enum(ROLES) });
export type ChangeOrganizationMemberRoleInput = z.output<typeof changeOrganizationMemberRoleInput>;

export const removeOrganizationMemberInput = z.strictObject({ userId: idSchema<UserId>() });
export type RemoveOrganizationMemberInput = z.output<typeof removeOrganizationMemberInput>;
