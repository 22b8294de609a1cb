import { z } from 'zod';
import { AUDIT_SOURCES } from '../../core/audit.ts';
import { momentInput } from '../../core/input/moments.ts';
import type { UserId } from '../../core/ids.ts';
import { idSchema, text } from '../../core/input/validation.ts';

const anyOf = <Item extends z.ZodType>(item: Item) => z.array(item).max(100).nullish();

/** Conditions on a list of audit entries. All that are given must be met; null is the same as absent; an empty list matches nothing. */
export const auditEntryFilter = z.strictObject({
  actorIds: anyOf(idSchema<UserId>()),
  operations: anyOf(text({ max: 100 })),
  isRefused: z.boolean().nullish(),
  targetIds: anyOf(z.uuid()),
  sources: anyOf(z.enum(AUDIT_SOURCES)),
  occurredFrom: momentInput().nullish(),
  occurredBefore: momentInput().nullish(),
});
export type AuditEntryFilter = z.output<typeof auditEntryFilter>;
