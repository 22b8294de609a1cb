import { z } from 'zod';
import type { InvitationId } from '../../core/ids.ts';
import { createdBetween } from '../../core/input/moments.ts';
import { ROLES } from '../../core/access.ts';
import { emailAddress, idSchema, optional, text, withDefault } from '../../core/input/validation.ts';

/** Text that is not a token is accepted here, because it gets the same 404 as an unknown token. */
const token = text({ min: 1, max: 255 });

export const inviteOrganizationMemberInput = z.strictObject({
  email: emailAddress().describe('E-mail address of the person. Case is ignored.'),
  role: withDefault(z.enum(ROLES), 'member').describe('Role of the new member.'),
});

/** Conditions on a list of invitations. All that are given must be met; null is the same as absent; an empty list matches nothing. */
export const invitationFilter = z
  .strictObject({
    roles: z.array(z.enum(ROLES)).max(100).nullish().describe('Invitations with any of these roles.'),
    search: text({ max: 254 })
      .nullish()
      .describe('Invitations whose e-mail address contains this text. Case is ignored; there are no wildcards.'),
    ...createdBetween,
  })
  .describe(
    'Conditions on invitations. An invitation is listed when it meets all of them. A condition with an empty list matches nothing.',
  );
export type InvitationFilter = z.output<typeof invitationFilter>;

export const revokeOrganizationInvitationInput = z.strictObject({
  invitationId: idSchema<InvitationId>().describe('Id of the invitation.'),
});

export const acceptOrganizationInvitationInput = z.strictObject({
  token: token.describe('The token of the invitation, `wgi_…`.'),
});

/** For whoever has the token, with or without an account. */
export const previewOrganizationInvitationInput = z.strictObject({
  token: token.describe('The token of the invitation, `wgi_…`.'),
});
export type PreviewOrganizationInvitationInput = z.output<typeof previewOrganizationInvitationInput>;

/** For a person who has no account yet. */
export const acceptInvitationWithoutKeyInput = z.strictObject({
  token: token.describe('The token of the invitation, `wgi_…`.'),
  name: optional(text({ min: 1, max: 100 })).describe('Name of the new user, to display.'),
});
export type AcceptInvitationWithoutKeyInput = z.output<typeof acceptInvitationWithoutKeyInput>;
