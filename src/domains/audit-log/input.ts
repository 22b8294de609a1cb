import { z } from 'zod';

/** In UTC, because PostgreSQL takes fewer offsets than ISO 8601 has; it knows no year 0. */
const moment = z
  .string()
  .transform((value) => new Date(value).toISOString())
  .refine((value) => /^(?!0000)\d{4}-/.test(value), 'must be from the year 1 to 9999')
  .nullish();

/** Conditions of a list of audit entries, all of which hold; each absent, null, or given. */
export const auditLogFilter = z.strictObject({
  userId: z.uuid().nullish(),
  operation: z.string().max(100).nullish(),
  isRefused: z.boolean().nullish(),
  targetId: z.uuid().nullish(),
  occurredFrom: moment,
  occurredBefore: moment,
});
export type AuditLogFilter = z.output<typeof auditLogFilter>;
