import { z } from 'zod';
import type { OrganizationId } from '../../core/ids.ts';
import { expectedUpdatedAtInput } from '../../core/input/expected-version.ts';
import { idSchema } from '../../core/input/validation.ts';
import { RETENTION_TEXTS } from './texts.ts';

const days = z.int().min(1).max(36_500).nullable().optional();

const retentionFields = {
  sessionDays: days.describe(RETENTION_TEXTS.sessionDays),
  occurrenceDays: days.describe(RETENTION_TEXTS.occurrenceDays),
  auditLogDays: days.describe(RETENTION_TEXTS.auditLogDays),
};

export const retentionReference = z.strictObject({
  organizationId: idSchema<OrganizationId>().describe('Id of the organization, which must be the acting one.'),
});

/** An absent field does not change. */
export const updateRetentionInput = z.strictObject({
  ...retentionReference.shape,
  ...retentionFields,
  expectedUpdatedAt: expectedUpdatedAtInput,
});

/** What a preview is asked for; null deletes nothing. */
export const retentionPreviewInput = z.strictObject(retentionFields);
export type RetentionPreviewInput = z.output<typeof retentionPreviewInput>;
