import { z } from 'zod';
import { AUDIT_SOURCES, RECORDING_OPERATIONS } from '../../core/audit.ts';
import { momentInput } from '../../core/input/moments.ts';
import type { UserId } from '../../core/ids.ts';
import { idSchema, text } from '../../core/input/validation.ts';

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
