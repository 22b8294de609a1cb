import { z } from 'zod';
import type { InvitationId } from '../../core/ids.ts';
import { createdBetween } from '../../core/moment-input.ts';
import { ROLES } from '../../core/operation.ts';
import { idSchema, optional, text, withDefault } from '../../core/validation.ts';

/** An e-mail address is compared without case. */
const email = z
  .email('must be an e-mail address')
  .max(254)
  .transform((value) => value.toLowerCase());

/** Text that is no token at all is answered like one that is not known. */
const token = text({ min: 1, max: 255 });

export const inviteOrganizationMemberInput = z.strictObject({ email, role: withDefault(z.enum(ROLES), 'member') });
export type InviteOrganizationMemberInput = z.output<typeof inviteOrganizationMemberInput>;

/** Conditions of a list of invitations, all of which must be met; each absent, null, or given. An empty list matches nothing. */
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

/** Likewise by somebody who has no account yet. */
export const acceptInvitationWithoutKeyInput = z.strictObject({ token, name: optional(text({ min: 1, max: 100 })) });
export type AcceptInvitationWithoutKeyInput = z.output<typeof acceptInvitationWithoutKeyInput>;
