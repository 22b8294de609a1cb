import { z } from 'zod';
import type { DeletionJobId } from '../../core/ids.ts';
import { idSchema, optional, text, withDefault } from '../../core/input/validation.ts';

/** Why the user leaves. All fields are optional. */
const deletionQuestionnaire = z.strictObject({
  reasons: withDefault(z.array(text({ min: 1, max: 200 })).max(20), []),
  submittedAt: optional(z.iso.datetime({ offset: true, error: 'must be an ISO 8601 date and time' })),
  otherReason: optional(text({ min: 1, max: 2000 })),
});
export type DeletionQuestionnaire = z.output<typeof deletionQuestionnaire>;

export const deleteUserInput = z.strictObject({
  userId: text({ min: 1, max: 255 }),
  deletionQuestionnaire: optional(deletionQuestionnaire),
});
export type DeleteUserInput = z.output<typeof deleteUserInput>;

export const cancelUserDeletionInput = z.strictObject({ deletionJobId: idSchema<DeletionJobId>() });
export type CancelUserDeletionInput = z.output<typeof cancelUserDeletionInput>;
