import { z } from 'zod';
import { AUDIT_SOURCES, RECORDING_OPERATIONS } from '../../core/audit.ts';
import { splitByComma } from '../../core/input/lists.ts';
import { dayOrMomentInput, momentInput } from '../../core/input/moments.ts';
import type { UserId } from '../../core/ids.ts';
import { idSchema, text } from '../../core/input/validation.ts';
import { cursorSchema } from '../session-events/public.ts';

const anyOf = <Item extends z.core.$ZodType>(item: Item) => z.array(item).max(100).nullish();

/** Null is the same as absent. */
export const auditEntryFilter = z
  .strictObject({
    actorIds: anyOf(idSchema<UserId>()).describe('Of any of these people and service accounts.'),
    operations: anyOf(text({ max: 100 })).describe('Of any of these operations, such as `revokeApiKey`.'),
    isRefused: z
      .boolean()
      .nullish()
      .describe('True lists only refused attempts, false only changes. When absent, both are listed.'),
    isRecording: z
      .boolean()
      .nullish()
      .describe(
        `True lists only the operations by which programs record data (${RECORDING_OPERATIONS.map((name) => `\`${name}\``).join(', ')}), false only the others. When absent, both are listed.`,
      ),
    targetIds: anyOf(z.uuid()).describe('About any of these objects.'),
    sources: anyOf(z.enum(AUDIT_SOURCES)).describe('From any of these sources.'),
    occurredFrom: momentInput().nullish().describe('From this time or later.'),
    occurredBefore: momentInput().nullish().describe('From before this time.'),
  })
  .describe(
    'Conditions on audit log entries. An entry is listed when it meets all of them. A condition with an empty list matches nothing.',
  );
export type AuditEntryFilter = z.output<typeof auditEntryFilter>;

export const MAX_PAGE = 1000;

/** Query parameters of a page of the log, in the order of the commits. */
export const followAuditLogInput = z.strictObject({
  limit: z.int().min(1).max(MAX_PAGE).default(50).describe('Maximum number of entries on the page.'),
  cursor: cursorSchema.prefault('0').describe('`nextCursor` of the previous page.'),
  from: dayOrMomentInput().optional().describe('Entries from this time, or day (UTC), or later.'),
  before: dayOrMomentInput().optional().describe('Entries from before this time, or day (UTC).'),
  operations: z
    .preprocess(splitByComma, z.array(text({ max: 100 })).max(100))
    .optional()
    .describe('Entries of these operations only, separated by commas.'),
});
export type FollowAuditLogInput = z.output<typeof followAuditLogInput>;
