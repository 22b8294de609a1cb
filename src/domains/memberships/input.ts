import { z } from 'zod';
import { ROLES } from '../../core/access.ts';
import type { OrganizationId, UserId } from '../../core/ids.ts';
import { createdBetween, momentInput } from '../../core/input/moments.ts';
import { idSchema, optional, text } from '../../core/input/validation.ts';

/** Conditions on a list of members. `createdFrom` and `createdBefore` are about the time of joining. */
export const memberFilter = z
  .strictObject({
    roles: z.array(z.enum(ROLES)).max(100).nullish().describe('Members with any of these roles.'),
    search: text({ max: 254 })
      .nullish()
      .describe('Members whose name or e-mail address contains this text. Case is ignored; there are no wildcards.'),
    createdFrom: createdBetween.createdFrom.describe('Joined at this time or later.'),
    createdBefore: createdBetween.createdBefore.describe('Joined before this time.'),
  })
  .describe(
    'Conditions on members. A member is listed when they meet all of them. A condition with an empty list matches nothing.',
  );
export type MemberFilter = z.output<typeof memberFilter>;

export const formerMemberFilter = z
  .strictObject({
    search: memberFilter.shape.search,
    leftFrom: momentInput().nullish().describe('Left at this time or later.'),
    leftBefore: momentInput().nullish().describe('Left before this time.'),
  })
  .describe('Conditions on former members.');
export type FormerMemberFilter = z.output<typeof formerMemberFilter>;

/** The optional id must be the acting organization. */
export const leaveOrganizationInput = z.strictObject({
  organizationId: optional(idSchema<OrganizationId>()).describe(
    'Id of the organization, as a safety check. When given, it must be the organization that the request acts in.',
  ),
});

export const changeOrganizationMemberRoleInput = z.strictObject({
  userId: idSchema<UserId>().describe('Id of the user.'),
  role: z.enum(ROLES).describe('The new role.'),
});

export const organizationMemberReference = z.strictObject({
  userId: idSchema<UserId>().describe('Id of the user.'),
});
