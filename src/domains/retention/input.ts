import { z } from 'zod';
import type { OrganizationId } from '../../core/ids.ts';
import { expectedUpdatedAtInput } from '../../core/input/expected-version.ts';
import { WHOLE_DAYS, idSchema } from '../../core/input/validation.ts';
import { retentionDocument } from './documents.ts';

const days = z.int().min(1, WHOLE_DAYS).max(36_500).nullable().optional();

const { sessionDays, occurrenceDays, auditLogDays } = retentionDocument.shape;
const sameText = ({ description = '' }: z.ZodType) => days.describe(description);

const retentionFields = {
  sessionDays: sameText(sessionDays),
  occurrenceDays: sameText(occurrenceDays),
  auditLogDays: sameText(auditLogDays),
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
