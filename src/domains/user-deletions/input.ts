import { z } from 'zod';
import type { DeletionJobId } from '../../core/ids.ts';
import { idSchema, optional, text, withDefault } from '../../core/input/validation.ts';

export const deletionQuestionnaire = z
  .strictObject({
    reasons: withDefault(z.array(text({ min: 1, max: 200 })).max(20), []).describe('Reasons for leaving.'),
    submittedAt: optional(z.iso.datetime({ offset: true, error: 'must be an ISO 8601 date and time' })).describe(
      'When the questionnaire was answered.',
    ),
    otherReason: optional(text({ min: 1, max: 2000 })).describe('Another reason as free text.'),
  })
  .describe('Why the user leaves. All fields are optional.');
export type DeletionQuestionnaire = z.output<typeof deletionQuestionnaire>;

export const deleteUserInput = z.strictObject({
  userId: text({ min: 1, max: 255 }).describe('Id of the caller. Other users are refused.'),
  deletionQuestionnaire: optional(deletionQuestionnaire).describe('Why the user leaves.'),
});

export const cancelUserDeletionInput = z.strictObject({
  deletionJobId: idSchema<DeletionJobId>().describe('Id of the deletion job.'),
});
