import { z } from 'zod';
import type { DeletionJobId, OrganizationId, UserId } from '../../core/ids.ts';
import { createdBetween } from '../../core/input/moments.ts';
import { idSchema, optional, text, withDefault } from '../../core/input/validation.ts';
import { redactedText } from '../session-events/public.ts';

export const DELETION_KINDS = ['account', 'organization', 'object', 'member_data', 'redaction'] as const;
export const DELETION_STATES = ['queued', 'running', 'done', 'failed', 'cancelled'] as const;
export type DeletionState = (typeof DELETION_STATES)[number];

export const deletionQuestionnaire = z
  .strictObject({
    reasons: withDefault(z.array(text({ min: 1, max: 200 })).max(20), []).describe('Reasons for leaving.'),
    submittedAt: optional(z.iso.datetime({ offset: true })).describe('When the questionnaire was answered.'),
    otherReason: optional(text({ min: 1, max: 2000 })).describe('Another reason as free text.'),
  })
  .describe('Why the user leaves. All fields are optional.');
export type DeletionQuestionnaire = z.output<typeof deletionQuestionnaire>;

export const deleteUserInput = z.strictObject({
  userId: text({ min: 1, max: 255 }).describe('Id of the caller. Other users are refused.'),
  deletionQuestionnaire: optional(deletionQuestionnaire).describe('Why the user leaves.'),
});

/** Conditions on a list of deletions. All that are given must be met; null is the same as absent; an empty list matches nothing. */
export const deletionJobFilter = z
  .strictObject({
    states: z.array(z.enum(DELETION_STATES)).max(100).nullish().describe('Deletions in any of these states.'),
    ...createdBetween,
  })
  .describe(
    'Conditions on deletions. A deletion is listed when it meets all of them. A condition with an empty list matches nothing.',
  );
export type DeletionJobFilter = z.output<typeof deletionJobFilter>;

export const deleteMemberDataInput = z.strictObject({
  organizationId: idSchema<OrganizationId>().describe('Id of the organization, which must be the acting one.'),
  userId: idSchema<UserId>().describe('Id of the person.'),
  account: z
    .boolean()
    .default(false)
    .describe('Whether the account is deleted with it, which takes a person who belongs to no other organization.'),
});

export const redactOrganizationInput = z.strictObject({
  text: redactedText.describe('The text to replace wherever it occurs.'),
});

export const cancelUserDeletionInput = z.strictObject({
  deletionJobId: idSchema<DeletionJobId>().describe('Id of the deletion job.'),
});
