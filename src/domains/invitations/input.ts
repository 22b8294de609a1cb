import { z } from 'zod';
import type { InvitationId } from '../../core/ids.ts';
import { createdBetween } from '../../core/input/moments.ts';
import { ROLES } from '../../core/access.ts';
import { emailAddress, idSchema, optional, text, withDefault } from '../../core/input/validation.ts';

/** Text that is not a token is accepted here, because it gets the same 404 as an unknown token. */
const token = text({ min: 1, max: 255 });

export const inviteOrganizationMemberInput = z.strictObject({
  email: emailAddress(),
  role: withDefault(z.enum(ROLES), 'member'),
});
export type InviteOrganizationMemberInput = z.output<typeof inviteOrganizationMemberInput>;

/** Conditions on a list of invitations. All that are given must be met; null is the same as absent; an empty list matches nothing. */
export const invitationFilter = z.strictObject({
  roles: z.array(z.enum(ROLES)).max(100).nullish(),
  search: text({ max: 254 }).nullish(),
  ...createdBetween,
});
export type InvitationFilter = z.output<typeof invitationFilter>;

export const revokeOrganizationInvitationInput = z.strictObject({ invitationId: idSchema<InvitationId>() });
export type RevokeOrganizationInvitationInput = z.output<typeof revokeOrganizationInvitationInput>;

export const acceptOrganizationInvitationInput = z.strictObject({ token });
export type AcceptOrganizationInvitationInput = z.output<typeof acceptOrganizationInvitationInput>;

/** For a person who has no account yet. */
export const acceptInvitationWithoutKeyInput = z.strictObject({ token, name: optional(text({ min: 1, max: 100 })) });
export type AcceptInvitationWithoutKeyInput = z.output<typeof acceptInvitationWithoutKeyInput>;
